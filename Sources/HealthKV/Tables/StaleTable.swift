import ColumnFormat
import HealthModel
import LMDB

/// The hours whose summaries no longer hold, until upkeep sums them again.
enum StaleTable {
    static func key(_ type: UInt32, _ hour: Int64) -> [UInt8] {
        var writer = ByteWriter(reserving: 13)
        writer.append(UpkeepKind.staleHours)
        writer.appendBigEndian(type)
        writer.appendBigEndian(UInt64(bitPattern: hour) ^ 1 << 63)
        return writer.bytes
    }

    /// Returns the value of a range: one row for each.
    static func value(_ type: UInt32, _ range: ClosedRange<Int64>, stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(range.lowerBound)
        record.append(range.upperBound)
        return record.value(table: .upkeep, key: key(type, range.lowerBound), stamp: stamp)
    }

    static func read(_ span: RawSpan, key: [UInt8]) throws(FormatError) -> ClosedRange<Int64> {
        var record = try RecordReader(span, table: .upkeep, key: key)
        let from = try record.read(Int64.self)
        let to = try record.read(Int64.self)
        guard from <= to, SummaryPeriod.hours.contains(from), SummaryPeriod.hours.contains(to) else {
            throw FormatError(.invalid, "stale range")
        }
        // The first hour is also in the key, by which a range is removed.
        guard key.count == 13, key[5...] == StaleTable.key(0, from)[5...] else {
            throw FormatError(.misplaced, "stale range")
        }
        return from...to
    }

    /// Returns the first stale range of hours with its type, of any type, or of the types after `passed`; `nil` if
    /// nothing is stale.
    static func firstRange(behind passed: UInt32? = nil, in snapshot: Snapshot) throws -> (
        type: UInt32, hours: ClosedRange<Int64>
    )? {
        var cursor = try snapshot.view.cursor(snapshot.tables[.upkeep])
        guard try cursor.seek(passed.map { StaleTable.key($0, .max) } ?? [UpkeepKind.staleHours]) else { return nil }
        let key = cursor.key.copied()
        guard key.count == 13, key[0] == UpkeepKind.staleHours else { return nil }
        let type = key[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (type, try read(cursor.value, key: key))
    }

    static func put(_ type: UInt32, _ range: ClosedRange<Int64>, in txn: inout WriteTransaction) throws {
        try txn.put(.upkeep, key(type, range.lowerBound), value(type, range, stamp: txn.stamp))
    }

    static func remove(_ type: UInt32, _ range: ClosedRange<Int64>, in txn: inout WriteTransaction) throws {
        try txn.remove(.upkeep, key(type, range.lowerBound))
    }

    /// Adds a range of hours to the stale hours of a type, joined with the ranges it touches.
    static func mark(_ type: UInt32, _ range: ClosedRange<Int64>, in txn: inout WriteTransaction) throws {
        var joined = range
        for other in try storedRanges(type, touching: range, in: txn.snapshot) {
            if other.contains(range.lowerBound), other.contains(range.upperBound) { return }
            try remove(type, other, in: &txn)
            joined = min(joined.lowerBound, other.lowerBound)...max(joined.upperBound, other.upperBound)
        }
        try put(type, joined, in: &txn)
    }

    /// Returns the stale ranges of a type that overlap or adjoin a range of hours, sorted and disjoint. Includes the
    /// ranges of earlier commits and those of this transaction.
    static func ranges(_ type: UInt32, touching range: ClosedRange<Int64>, in snapshot: Snapshot) throws
        -> [ClosedRange<Int64>]
    {
        let stored = try storedRanges(type, touching: range, in: snapshot)
        guard let own = snapshot.context.state.stale.ranges(of: type) else { return stored }
        var joined: [ClosedRange<Int64>] = []
        for other in (stored + own).sorted(by: { $0.lowerBound < $1.lowerBound })
        where other.lowerBound <= range.upperBound &+ 1 && other.upperBound >= range.lowerBound &- 1 {
            if let last = joined.last, other.lowerBound <= last.upperBound &+ 1 {
                joined[joined.count - 1] = last.lowerBound...max(last.upperBound, other.upperBound)
            } else {
                joined.append(other)
            }
        }
        return joined
    }

    /// Returns the ranges of earlier commits.
    static func storedRanges(_ type: UInt32, touching range: ClosedRange<Int64>, in snapshot: Snapshot) throws
        -> [ClosedRange<Int64>]
    {
        var ranges: [ClosedRange<Int64>] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.upkeep])
        let prefix = key(type, range.lowerBound)
        var found = try cursor.seekAtOrBefore(prefix)
        if !found || !cursor.key.hasPrefix(prefix, count: 5) { found = try cursor.seek(prefix) }
        while found, cursor.key.hasPrefix(prefix, count: 5) {
            let other = try read(cursor.value, key: cursor.key.copied())
            if other.lowerBound > range.upperBound &+ 1 { break }
            if other.upperBound >= range.lowerBound &- 1 { ranges.append(other) }
            found = try cursor.next()
        }
        return ranges
    }
}
