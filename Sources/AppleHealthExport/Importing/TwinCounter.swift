import HealthModel

/// Counts how often a file holds the same record. A file may hold the second of two identical records far behind the
/// first, so every record is remembered, in eight bytes and a little room.
struct TwinCounter {
    /// One of many small tables. They begin with different sizes, so that they grow at different times.
    fileprivate struct Shard {
        /// The number of places at first.
        let first: Int
        var slots: [UInt64] = []
        var count = 0
    }

    private var shards = (0..<TwinCounter.shardCount).map { Shard(first: 16 + $0 / 32) }
    /// How often those records occurred that occurred more than once.
    private var repeated: [UInt64: Int] = [:]

    private static let shardCount = 256

    /// Counts a record by the id that derives from its content. Returns how many equal ones came before.
    mutating func count(_ id: SampleID) -> Int {
        let mark = TwinCounter.mark(of: id)
        guard !shards[Int(mark >> 56)].insert(mark) else { return 0 }
        let earlier = repeated[mark, default: 1]
        repeated[mark] = earlier + 1
        return earlier
    }

    /// Returns how often a record has occurred.
    func occurrences(of id: SampleID) -> Int {
        let mark = TwinCounter.mark(of: id)
        return shards[Int(mark >> 56)].holds(mark) ? repeated[mark, default: 1] : 0
    }

    private static func mark(of id: SampleID) -> UInt64 {
        var mark = (id.high ^ id.low &* 0x9E37_79B9_7F4A_7C15) &* 0xBF58_476D_1CE4_E5B9
        mark ^= mark >> 29
        // Zero marks a free place.
        return mark == 0 ? 1 : mark
    }
}

extension TwinCounter.Shard {
    fileprivate func holds(_ mark: UInt64) -> Bool {
        guard !slots.isEmpty else { return false }
        var place = place(of: mark)
        while slots[place] != 0, slots[place] != mark { place = place + 1 == slots.count ? 0 : place + 1 }
        return slots[place] == mark
    }

    /// Adds a mark. Returns `false` if it is there.
    fileprivate mutating func insert(_ mark: UInt64) -> Bool {
        if (count + 1) * 5 > slots.count * 4 { grow() }
        var place = place(of: mark)
        while slots[place] != 0 {
            if slots[place] == mark { return false }
            place = place + 1 == slots.count ? 0 : place + 1
        }
        slots[place] = mark
        count += 1
        return true
    }

    /// Returns where the search for a mark begins. Its upper bits chose the table, so they are mixed with the others.
    private func place(of mark: UInt64) -> Int {
        Int((((mark &* 0x9E37_79B9_7F4A_7C15) >> 32) * UInt64(slots.count)) >> 32)
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: max(first, old.count * 3 / 2))
        for mark in old where mark != 0 {
            var place = place(of: mark)
            while slots[place] != 0 { place = place + 1 == slots.count ? 0 : place + 1 }
            slots[place] = mark
        }
    }
}
