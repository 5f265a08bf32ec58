import Foundation

/// The samples and deletions of one type, in the order of writing and sorted by start.
struct TypeTable: Sendable {
    private var rows: [HealthRecord] = []
    private var isLive: [Bool] = []
    private var places: [UUID: Int32] = [:]
    private var synced: [SyncKey: Int] = [:]
    private var deletions: [DeletedRecord] = []
    private var byStart: [Int32] = []
    private var isSorted = true
    private var longest = 0.0

    var live: [HealthRecord] { rows.indices.filter { isLive[$0] }.map { rows[$0] } }

    func live(_ key: SyncKey) -> HealthRecord? { synced[key].map { rows[$0] } }
    func has(_ uuid: UUID) -> Bool { places[uuid] != nil }
    func record(_ uuid: UUID) -> HealthRecord? { places[uuid].map { rows[Int($0)] } }

    mutating func append(_ record: HealthRecord) {
        let place = rows.count
        rows.append(record)
        isLive.append(true)
        places[record.uuid] = Int32(place)
        if let key = record.syncKey { synced[key] = place }
        if let last = byStart.last, rows[Int(last)].start > record.start { isSorted = false }
        byStart.append(Int32(place))
        longest = max(longest, record.end.timeIntervalSince(record.start))
    }

    mutating func update(_ uuid: UUID, _ change: (inout HealthRecord) -> Void) {
        guard let place = places[uuid] else { return }
        change(&rows[Int(place)])
    }

    mutating func remove(_ uuid: UUID, sequence: Int64, at date: Date) -> HealthRecord? {
        guard let place = places.removeValue(forKey: uuid).map({ Int($0) }) else { return nil }
        let record = rows[place]
        isLive[place] = false
        if let key = record.syncKey, synced[key] == place { synced[key] = nil }
        deletions.append(DeletedRecord(record: record, sequence: sequence, date: date))
        return record
    }

    mutating func noteDeletion(of record: HealthRecord, sequence: Int64, at date: Date) {
        guard !deletions.contains(where: { $0.record.uuid == record.uuid }) else { return }
        deletions.append(DeletedRecord(record: record, sequence: sequence, date: date))
    }

    mutating func forgetDeletion(of uuid: UUID) { deletions.removeAll { $0.record.uuid == uuid } }

    mutating func purgeDeletions(before date: Date) { deletions.removeAll { $0.date < date } }

    /// Visits the live samples after a place in the order of writing, in that order, until `isEnough` returns `true`.
    func additions(after sequence: Int64, until isEnough: (HealthRecord) -> Bool) {
        var place = rows.partitioningIndex { $0.sequence > sequence }
        while place < rows.count {
            if isLive[place], isEnough(rows[place]) { return }
            place += 1
        }
    }

    func deletions(after sequence: Int64, until isEnough: (DeletedRecord) -> Bool) {
        var place = deletions.partitioningIndex { $0.sequence > sequence }
        while place < deletions.count {
            if isEnough(deletions[place]) { return }
            place += 1
        }
    }

    /// Returns the live samples that may share an instant with a span, by start.
    mutating func overlapping(_ start: Date, _ end: Date) -> [HealthRecord] {
        sort()
        let reach = reach(start)
        var found: [HealthRecord] = []
        var place = byStart.partitioningIndex { rows[Int($0)].start >= reach }
        while place < byStart.count, rows[Int(byStart[place])].start <= end {
            let row = Int(byStart[place])
            if isLive[row] { found.append(rows[row]) }
            place += 1
        }
        return found
    }

    /// Visits the live samples by start, the latest first, from those that start at `end` or earlier down to `start`,
    /// until `isEnough` returns `true`.
    mutating func latestFirst(from start: Date, to end: Date, until isEnough: (HealthRecord) -> Bool) {
        sort()
        var place = byStart.partitioningIndex { rows[Int($0)].start > end } - 1
        while place >= 0, rows[Int(byStart[place])].start >= start {
            let row = Int(byStart[place])
            if isLive[row], isEnough(rows[row]) { return }
            place -= 1
        }
    }

    /// Returns a date such that no sample that starts before it reaches into a span that begins at `start`.
    func reach(_ start: Date) -> Date { start == .distantPast ? start : start.addingTimeInterval(-longest) }

    private mutating func sort() {
        if isSorted { return }
        let rows = rows
        byStart.sort { (rows[Int($0)].start, $0) < (rows[Int($1)].start, $1) }
        isSorted = true
    }
}

extension Array {
    /// Returns the first index whose element fulfils a condition that all later elements also fulfil.
    func partitioningIndex(where isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
