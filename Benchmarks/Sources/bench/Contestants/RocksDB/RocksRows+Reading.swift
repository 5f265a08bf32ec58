import CRocksDB
import Foundation
import HealthKV

extension RocksRows: Contestant {
    /// Passes the rows of a type from a start on to `body`, in the order of time, until it returns `false`.
    ///
    /// SAFETY: key and value are read before the iterator moves on.
    @inline(__always)
    private func scan(
        _ type: UInt16, from start: Int64 = .min,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) rethrows {
        let rows = RocksIterator(database, .samples, before: RocksLayout.key(type + 1, .min, .zero))
        var isThere = rows.seek(RocksLayout.key(type, start, .zero))
        while isThere {
            if try unsafe !body(rows.key, rows.value) { return }
            isThere = rows.next()
        }
    }

    private func forEachPoint(_ type: SampleType, _ body: (Int64, Double) -> Void) {
        guard let number = book.number(of: type) else { return }
        let converts = book.converts(number)
        unsafe scan(number) { key, value in
            let start = unsafe RowLayout.start(key.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            let number = unsafe Double(bitPattern: value.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            let kind = unsafe Int(value.loadUnaligned(fromByteOffset: 16, as: UInt16.self))
            body(start, converts ? book.canonical(number, ofKind: kind) : number)
            return true
        }
    }

    func readAll(_ type: SampleType) -> Columns {
        let room = lastCounts[type] ?? 0
        var columns = Columns(times: FreshPages.array(room: room), values: FreshPages.array(room: room))
        forEachPoint(type) {
            columns.times.append($0)
            columns.values.append($1)
        }
        lastCounts[type] = columns.times.count
        return columns
    }

    func foldAll(_ type: SampleType) -> ColumnSum {
        var sum = ColumnSum()
        forEachPoint(type) { sum.add($0, $1.bitPattern) }
        return sum
    }

    func daySums(_ type: SampleType, _ days: DayAxis) -> DaySums? {
        var adder = DayAdder(days)
        forEachPoint(type) { adder.add($0, $1) }
        return adder.sums
    }

    func seriesPoints(_ type: SampleType, _ points: PointAxis) -> [SeriesPoint]? {
        var adder = PointAdder(points)
        forEachPoint(type) { adder.add($0, $1) }
        return adder.found
    }

    private func sample(_ id: SampleID) throws -> Sample? {
        guard let place = try database.get(RocksLayout.id(id), .ids) else { return nil }
        let key = RocksLayout.key(place, id, book)
        guard let value = try database.get(key, .samples) else { return nil }
        return try RocksLayout.fields(key, value).sample(book)
    }

    func lookUp(_ ids: [SampleID], _ visit: (Int, UInt64, Sample?) -> Void) throws {
        for (index, id) in ids.enumerated() {
            let from = Stopwatch.now()
            let found = try sample(id)
            visit(index, Stopwatch.now() - from, found)
        }
    }

    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool {
        for (index, text) in syncIdentifiers.enumerated() {
            let from = Stopwatch.now()
            var found: Sample?
            if let ids = try database.get(Array(text.utf8), .sync), ids.count >= 16 {
                // SAFETY: the index holds whole ids of 16 bytes.
                let id = unsafe ids.withUnsafeBytes {
                    unsafe SampleID(
                        high: UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                        low: UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
                }
                found = try sample(id)
            }
            visit(index, Stopwatch.now() - from, found)
        }
        return true
    }

    private func samples(_ type: SampleType, from: Instant, to: Instant, limit: Int) throws -> [Sample] {
        guard let number = book.number(of: type) else { return [] }
        var found: [Sample] = []
        try unsafe scan(number, from: (from - .nanoseconds(book.longest[Int(number)])).nanoseconds) { key, value in
            let row = unsafe RocksLayout.fields(value, key: key)
            if row.start >= to.nanoseconds { return false }
            if row.start < from.nanoseconds && row.end <= from.nanoseconds { return true }
            found.append(try row.sample(book))
            return found.count < limit
        }
        return found
    }

    func range(_ type: SampleType, from: Instant, to: Instant) throws -> [Sample] {
        try samples(type, from: from, to: to, limit: .max)
    }

    func firstInRange(_ type: SampleType, from: Instant, to: Instant) throws -> Sample? {
        try samples(type, from: from, to: to, limit: 1).first
    }

    func latest(_ type: SampleType) throws -> Sample? {
        guard let number = book.number(of: type) else { return nil }
        let rows = RocksIterator(database, .samples, before: RocksLayout.key(number + 1, .min, .zero))
        // SAFETY: key and value are read before the iterator moves.
        guard rows.seekToLast(), unsafe rows.key.loadUnaligned(as: UInt16.self).bigEndian == number else { return nil }
        return try unsafe RocksLayout.fields(rows.value, key: rows.key).sample(book)
    }

    func count() -> Int { count(.ids) }

    private func count(_ family: RocksDatabase.Family) -> Int {
        let rows = RocksIterator(database, family)
        var count = 0
        var isThere = rows.seek([])
        while isThere {
            count += 1
            isThere = rows.next()
        }
        return count
    }

    func finishImport() {}

    /// Waits for compaction, so that later works do not pay for the import.
    func settle() throws {
        for family in RocksDatabase.Family.allCases {
            unsafe rocksdb_compact_range_cf(database.handle, database[family], nil, 0, nil, 0)
        }
    }

    /// A checkpoint of the compacted database.
    func compact(to folder: String) throws {
        try settle()
        let checkpoint = try unsafe RocksFailure.check { unsafe rocksdb_checkpoint_object_create(database.handle, $0) }
        defer { unsafe rocksdb_checkpoint_object_destroy(checkpoint) }
        try unsafe RocksFailure.check { unsafe rocksdb_checkpoint_create(checkpoint, folder, 0, $0) }
    }

    func check() throws {
        if count(.ids) != count(.samples) { throw BenchFailure("RocksDB: the index and the rows differ in number") }
    }
}

/// A position in a column family.
///
/// SAFETY: the iterator, its options and the bound live as long as this object.
@safe final class RocksIterator {
    private let handle: OpaquePointer
    private let options: OpaquePointer = unsafe rocksdb_readoptions_create()
    private let bound: UnsafeMutablePointer<CChar>

    init(_ database: RocksDatabase, _ family: RocksDatabase.Family, before end: [UInt8] = []) {
        unsafe bound = UnsafeMutablePointer<CChar>.allocate(capacity: max(end.count, 1))
        for (index, byte) in end.enumerated() { unsafe bound[index] = CChar(bitPattern: byte) }
        if !end.isEmpty { unsafe rocksdb_readoptions_set_iterate_upper_bound(options, bound, end.count) }
        unsafe handle = unsafe rocksdb_create_iterator_cf(database.handle, options, database[family])
    }

    deinit {
        unsafe rocksdb_iter_destroy(handle)
        unsafe rocksdb_readoptions_destroy(options)
        unsafe bound.deallocate()
    }

    /// Moves to the first entry at or after the key; returns `false` if there is none.
    func seek(_ key: [UInt8]) -> Bool {
        if key.isEmpty {
            unsafe rocksdb_iter_seek_to_first(handle)
        } else {
            unsafe key.withUnsafeBytes {
                unsafe rocksdb_iter_seek(handle, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
            }
        }
        return unsafe rocksdb_iter_valid(handle) != 0
    }

    func seekToLast() -> Bool {
        unsafe rocksdb_iter_seek_to_last(handle)
        return unsafe rocksdb_iter_valid(handle) != 0
    }

    @inline(__always)
    func next() -> Bool {
        unsafe rocksdb_iter_next(handle)
        return unsafe rocksdb_iter_valid(handle) != 0
    }

    @inline(__always)
    var key: UnsafeRawBufferPointer {
        var count = 0
        let base = unsafe rocksdb_iter_key(handle, &count)
        return unsafe UnsafeRawBufferPointer(start: base, count: count)
    }

    @inline(__always)
    var value: UnsafeRawBufferPointer {
        var count = 0
        let base = unsafe rocksdb_iter_value(handle, &count)
        return unsafe UnsafeRawBufferPointer(start: base, count: count)
    }

    func keyWord(_ offset: Int) -> UInt64 { unsafe key.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
}
