import ColumnFormat
import HealthModel
import LMDB

/// The hours whose summaries no longer hold, until upkeep sums them again.
enum StaleTable {
    /// Returns the first stale range of hours with its type, of any type, or of the types after `passed`; `nil` if
    /// nothing is stale.
    static func firstRange(behind passed: UInt32? = nil, in snapshot: Snapshot) throws -> (
        type: UInt32, hours: ClosedRange<Int64>
    )? {
        var cursor = try snapshot.view.cursor(snapshot.tables[.upkeep])
        guard try cursor.seek(passed.map { StaleRange.key($0, .max) } ?? [StaleRange.upkeepKind]) else { return nil }
        let key = cursor.key.copied()
        guard key.count == 13, key[0] == StaleRange.upkeepKind else { return nil }
        let type = key[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (type, try StaleRange.read(cursor.value, key: key))
    }

    /// Adds a range of hours to the stale hours of a type, joined with the ranges it touches.
    static func mark(_ type: UInt32, _ range: ClosedRange<Int64>, in txn: inout WriteTransaction) throws {
        var joined = range
        for other in try storedRanges(type, touching: range, in: txn.snapshot) {
            if other.contains(range.lowerBound), other.contains(range.upperBound) { return }
            try txn.remove(.upkeep, StaleRange.key(type, other.lowerBound))
            joined = min(joined.lowerBound, other.lowerBound)...max(joined.upperBound, other.upperBound)
        }
        try txn.put(
            .upkeep, StaleRange.key(type, joined.lowerBound), StaleRange.value(type, joined, commit: txn.commit))
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
        let prefix = StaleRange.key(type, range.lowerBound)
        var found = try cursor.seekAtOrBefore(prefix)
        if !found || !cursor.key.hasPrefix(prefix, count: 5) { found = try cursor.seek(prefix) }
        while found, cursor.key.hasPrefix(prefix, count: 5) {
            let other = try StaleRange.read(cursor.value, key: cursor.key.copied())
            if other.lowerBound > range.upperBound &+ 1 { break }
            if other.upperBound >= range.lowerBound &- 1 { ranges.append(other) }
            found = try cursor.next()
        }
        return ranges
    }
}
