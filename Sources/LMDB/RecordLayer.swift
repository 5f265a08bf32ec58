#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Records that lie over the tables of a snapshot. Each takes the place of the record with its key, or hides it.
///
/// A read transaction with a layer shows the tables as if the layer's records were in them. A write transaction
/// with a layer collects its changes there, and ``WriteTransaction/fold()`` moves all of them into the tables.
///
/// A transaction changes only a layer of its own, which ``copy()`` makes in a few microseconds: copies share the
/// bytes of keys and values, which never move and never change.
@safe
public final class RecordLayer: @unchecked Sendable {
    // @unchecked Sendable: only the write transaction that owns a layer changes it, before others see it.
    // unsafe: the pointers of the entries lead into `memory`, which is alive as long as the layer.

    /// The records of each table by the table's C number, in the order of keys.
    @usableFromInline private(set) var tables: [[Entry]] = unsafe []
    private var memory = LayerMemory(behind: nil)
    /// Whether this layer may add bytes to `memory`, which it shares with the layers that it was copied from.
    private var ownsMemory = true
    /// The changes since ``startLog()``, in their order.
    private var log: [Logged] = unsafe []
    /// The changes that ``together(_:)`` collects.
    private var batch: [Batched]?
    /// The bytes of the keys and values of all changes since ``startLog()``.
    private(set) public var loggedBytes = 0

    /// A record, or the removal of one.
    @unsafe
    @usableFromInline
    struct Entry: BitwiseCopyable {
        /// The first eight bytes of the key, as a number that sorts like them.
        @usableFromInline let prefix: UInt64
        @usableFromInline let key: UnsafeRawPointer
        @usableFromInline let keyCount: Int32
        /// The length of the value, which follows the key; negative if the record is removed.
        @usableFromInline let valueCount: Int32

        @usableFromInline var isRemoved: Bool { unsafe valueCount < 0 }
        @usableFromInline var keyBytes: UnsafeRawBufferPointer {
            unsafe UnsafeRawBufferPointer(start: key, count: Int(keyCount))
        }
        @usableFromInline var valueBytes: UnsafeRawBufferPointer {
            unsafe UnsafeRawBufferPointer(start: key + Int(keyCount), count: max(0, Int(valueCount)))
        }
    }

    @unsafe
    private struct Logged {
        let table: Table
        let entry: Entry
    }

    @unsafe
    private struct Batched {
        let table: Table
        let entry: Entry
        /// Whether the record is removed, and the table beneath has none either.
        let isGone: Bool
    }

    public init() {}

    private init(copying other: RecordLayer) {
        unsafe tables = other.tables
        memory = other.memory
        ownsMemory = false
    }

    /// Returns a layer with the same records, whose changes do not affect this one.
    public func copy() -> RecordLayer { RecordLayer(copying: self) }

    /// The number of records, removed ones included.
    public var count: Int { unsafe tables.reduce(0) { unsafe $0 + $1.count } }

    /// The bytes of all keys and values, also of those that were replaced.
    public var byteCount: Int { memory.total }

    /// Whether any record lies over a table.
    @inlinable
    func covers(_ table: Table) -> Bool {
        let number = Int(table.dbi)
        return unsafe number < tables.count && !tables[number].isEmpty
    }

    @usableFromInline
    func entries(_ table: Table) -> [Entry] {
        let number = Int(table.dbi)
        return unsafe number < tables.count ? tables[number] : []
    }

    /// Returns the entry with this key; `nil` if there is none.
    @usableFromInline
    func find(_ table: Table, _ key: RawSpan) -> Entry? {
        let number = Int(table.dbi)
        guard unsafe number < tables.count else { return nil }
        return unsafe key.withUnsafeBytes { bytes in
            let index = unsafe RecordLayer.lowerBound(tables[number], bytes)
            guard unsafe index < tables[number].count,
                unsafe RecordLayer.order(tables[number][index], bytes, RecordLayer.prefix(bytes)) == 0
            else { return nil }
            return unsafe tables[number][index]
        }
    }
}

// Order of keys, as LMDB has it: byte by byte, and a key before all that it begins.
extension RecordLayer {
    static func prefix(_ key: UnsafeRawBufferPointer) -> UInt64 {
        if key.count >= 8 { return UInt64(bigEndian: unsafe key.loadUnaligned(as: UInt64.self)) }
        var prefix: UInt64 = 0
        for place in 0..<key.count { prefix |= unsafe UInt64(key[place]) << UInt64(56 - 8 * place) }
        return prefix
    }

    /// Returns a negative number, zero or a positive number for an entry before, at or behind a key.
    static func order(_ entry: Entry, _ key: UnsafeRawBufferPointer, _ prefix: UInt64) -> Int {
        unsafe entry.prefix == prefix ? order(entry.keyBytes, key) : entry.prefix < prefix ? -1 : 1
    }

    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let common = min(left.count, right.count)
        if common > 0 {
            let order = unsafe memcmp(left.baseAddress!, right.baseAddress!, common)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }

    /// Returns the index of the first entry whose key is not less than a key.
    static func lowerBound(_ entries: [Entry], _ key: UnsafeRawBufferPointer) -> Int {
        let prefix = unsafe RecordLayer.prefix(key)
        var (low, high) = (0, unsafe entries.count)
        while low < high {
            let middle = (low + high) / 2
            if unsafe order(entries[middle], key, prefix) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

// Changes.
extension RecordLayer {
    /// A state to which ``restore(_:)`` returns.
    @safe
    struct Mark {
        fileprivate let tables: [[Entry]]
        fileprivate let logged: Int
        fileprivate let loggedBytes: Int
    }

    var mark: Mark { unsafe Mark(tables: tables, logged: log.count, loggedBytes: loggedBytes) }

    func restore(_ mark: Mark) {
        unsafe tables = mark.tables
        unsafe log.removeLast(log.count - mark.logged)
        loggedBytes = mark.loggedBytes
    }

    private func made(_ key: RawSpan, valueCount: Int32, fill: (UnsafeMutableRawBufferPointer) -> Void) -> Entry {
        if !ownsMemory {
            memory = LayerMemory(behind: memory)
            ownsMemory = true
        }
        return unsafe key.withUnsafeBytes { bytes in
            let place = unsafe memory.allocate(bytes.count + max(0, Int(valueCount)))
            unsafe place.copyMemory(from: bytes)
            unsafe fill(UnsafeMutableRawBufferPointer(rebasing: place[bytes.count...]))
            return unsafe Entry(
                prefix: RecordLayer.prefix(bytes), key: UnsafeRawPointer(place.baseAddress!),
                keyCount: Int32(bytes.count),
                valueCount: valueCount)
        }
    }

    /// Lays a value over a table.
    @usableFromInline
    func put(_ table: Table, _ key: RawSpan, byteCount: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        let entry = unsafe made(key, valueCount: Int32(byteCount), fill: fill)
        unsafe set(table, entry)
        unsafe note(table, entry)
    }

    public func put(_ table: Table, key: RawSpan, value: RawSpan) {
        unsafe put(table, key, byteCount: value.byteCount) { buffer in
            unsafe value.withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
        }
    }

    /// Removes a record.
    ///
    /// - Parameter isInTable: whether the table beneath has the record, so that it must be hidden.
    public func remove(_ table: Table, key: RawSpan, isInTable: Bool) {
        let entry = unsafe made(key, valueCount: -1) { _ in }
        if isInTable { unsafe set(table, entry) } else { unsafe drop(table, entry) }
        unsafe note(table, entry)
    }

    private func drop(_ table: Table, _ entry: Entry) {
        if unsafe batch != nil {
            unsafe batch!.append(Batched(table: table, entry: entry, isGone: true))
            return
        }
        guard covers(table) else { return }
        let number = Int(table.dbi)
        let index = unsafe RecordLayer.lowerBound(tables[number], entry.keyBytes)
        if unsafe index < tables[number].count,
            unsafe RecordLayer.order(tables[number][index], entry.keyBytes, entry.prefix) == 0
        {
            unsafe tables[number].remove(at: index)
        }
    }

    /// Makes the changes of `body` together at its end. One by one, each moves all records behind it, which takes
    /// minutes for a forged file with very many. Until the end the layer shows none of them.
    public func together<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        unsafe batch = []
        defer { unsafe batch = nil }
        try body()
        let changes = unsafe batch ?? []
        // Few changes cost less than going through all records.
        if unsafe changes.count <= RecordLayer.few {
            unsafe batch = nil
            for index in unsafe changes.indices {
                let change = unsafe changes[index]
                if unsafe change.isGone {
                    unsafe drop(change.table, change.entry)
                } else {
                    unsafe set(change.table, change.entry)
                }
            }
            return
        }
        // The last one of the changes of a key counts.
        let order = unsafe changes.indices.sorted { left, right in
            let (one, other) = unsafe (changes[left], changes[right])
            if unsafe one.table.dbi != other.table.dbi { return unsafe one.table.dbi < other.table.dbi }
            let order = unsafe RecordLayer.order(one.entry, other.entry.keyBytes, other.entry.prefix)
            return order == 0 ? left < right : order < 0
        }
        var start = 0
        while start < order.count {
            let table = unsafe changes[order[start]].table
            var end = start
            while end < order.count, unsafe changes[order[end]].table.dbi == table.dbi { end += 1 }
            let sorted = unsafe order[start..<end].map { unsafe changes[$0] }
            unsafe merge(sorted, into: table)
            start = end
        }
    }

    private static let few = 256

    private func merge(_ changes: [Batched], into table: Table) {
        let number = Int(table.dbi)
        while unsafe tables.count <= number { unsafe tables.append([]) }
        let old = unsafe tables[number]
        var merged: [Entry] = unsafe []
        var place = 0
        for index in unsafe changes.indices {
            let change = unsafe changes[index]
            let key = unsafe change.entry.keyBytes
            if unsafe index + 1 < changes.count,
                unsafe RecordLayer.order(changes[index + 1].entry, key, change.entry.prefix) == 0
            {
                continue
            }
            while unsafe place < old.count, unsafe RecordLayer.order(old[place], key, change.entry.prefix) < 0 {
                unsafe merged.append(old[place])
                place += 1
            }
            if unsafe place < old.count, unsafe RecordLayer.order(old[place], key, change.entry.prefix) == 0 {
                place += 1
            }
            if unsafe !change.isGone { unsafe merged.append(change.entry) }
        }
        unsafe merged.append(contentsOf: old[place...])
        unsafe tables[number] = merged
    }

    private func set(_ table: Table, _ entry: Entry) {
        if unsafe batch != nil {
            unsafe batch!.append(Batched(table: table, entry: entry, isGone: false))
            return
        }
        let number = Int(table.dbi)
        while unsafe tables.count <= number { unsafe tables.append([]) }
        let index = unsafe RecordLayer.lowerBound(tables[number], entry.keyBytes)
        if unsafe index < tables[number].count,
            unsafe RecordLayer.order(tables[number][index], entry.keyBytes, entry.prefix) == 0
        {
            unsafe tables[number][index] = entry
        } else {
            unsafe tables[number].insert(entry, at: index)
        }
    }

    private func note(_ table: Table, _ entry: Entry) {
        unsafe log.append(Logged(table: table, entry: entry))
        loggedBytes += unsafe Int(entry.keyCount) + max(0, Int(entry.valueCount))
    }

    /// Forgets which changes led to this state.
    public func startLog() {
        unsafe log.removeAll(keepingCapacity: true)
        loggedBytes = 0
    }

    /// The number of changes since ``startLog()``.
    public var logged: Int { unsafe log.count }

    /// Calls `body` with each change since ``startLog()`` that no later one replaced. The value is `nil` for a removal.
    public func forEachLogged<Failure: Error>(
        _ body: (Table, RawSpan, RawSpan?) throws(Failure) -> Void
    ) throws(Failure) {
        for index in unsafe log.indices {
            let change = unsafe log[index]
            let key = unsafe RawSpan(_unsafeBytes: change.entry.keyBytes)
            if let present = unsafe find(change.table, key) {
                // A replaced entry has other bytes.
                guard unsafe present.key == change.entry.key else { continue }
                let value = unsafe RawSpan(_unsafeBytes: present.valueBytes)
                try unsafe body(change.table, key, present.isRemoved ? nil : value)
            } else {
                try body(unsafe change.table, key, nil)
            }
        }
    }

    /// Calls `body` with each record of a table in the order of keys. The value is `nil` for a hidden record.
    public func forEach<Failure: Error>(
        _ table: Table, _ body: (RawSpan, RawSpan?) throws(Failure) -> Void
    ) throws(Failure) {
        let entries = unsafe entries(table)
        for index in unsafe entries.indices {
            let entry = unsafe entries[index]
            let key = unsafe RawSpan(_unsafeBytes: entry.keyBytes)
            let value = unsafe RawSpan(_unsafeBytes: entry.valueBytes)
            try unsafe body(key, entry.isRemoved ? nil : value)
        }
    }
}

/// Memory that only grows. Bytes that were given out never move.
@safe
private final class LayerMemory {
    // unsafe: every block is alive until deinit, and only the owner's write transaction writes to fresh bytes.
    private var blocks: [UnsafeMutableRawBufferPointer] = unsafe []
    private var used = 0
    private let previous: LayerMemory?
    /// The bytes given out, here and in what lies behind.
    private(set) var total: Int

    private static let leastBlock = 4 << 10
    private static let greatestBlock = 1 << 20

    init(behind previous: LayerMemory?) {
        self.previous = previous
        total = previous?.total ?? 0
    }

    func allocate(_ count: Int) -> UnsafeMutableRawBufferPointer {
        total += count
        if unsafe blocks.isEmpty || used + count > blocks.last!.count {
            let made = unsafe blocks.count
            let usual = min(LayerMemory.greatestBlock, LayerMemory.leastBlock << min(7, made))
            unsafe blocks.append(.allocate(byteCount: max(count, usual), alignment: 16))
            used = 0
        }
        defer { used += count }
        return unsafe UnsafeMutableRawBufferPointer(rebasing: blocks.last![used..<used + count])
    }

    deinit {
        for index in unsafe blocks.indices { unsafe blocks[index].deallocate() }
    }
}
