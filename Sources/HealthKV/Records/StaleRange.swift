import ColumnFormat
import HealthModel
import LMDB

/// Hours of a type whose summaries are invalid: one row of `upkeep` for each range.
enum StaleRange {
    static let upkeepKind: UInt8 = 2

    static func key(_ type: UInt32, _ hour: Int64) -> [UInt8] {
        var writer = ByteWriter(reserving: 13)
        writer.append(upkeepKind)
        writer.appendBigEndian(type)
        writer.appendBigEndian(UInt64(bitPattern: hour) ^ 1 << 63)
        return writer.bytes
    }

    static func value(_ type: UInt32, _ range: ClosedRange<Int64>, commit: UInt64) -> [UInt8] {
        var record = RecordWriter()
        record.append(range.lowerBound)
        record.append(range.upperBound)
        return record.value(table: .upkeep, key: key(type, range.lowerBound), commit: commit)
    }

    static func read(_ span: RawSpan, key: [UInt8]) throws(FormatError) -> ClosedRange<Int64> {
        var record = try RecordReader(span, table: .upkeep, key: key)
        let from = try record.read(Int64.self)
        let to = try record.read(Int64.self)
        guard from <= to, SummaryPeriod.hours.contains(from), SummaryPeriod.hours.contains(to) else {
            throw FormatError(.invalid, "stale range")
        }
        // The first hour is also in the key, by which a range is removed.
        guard key.count == 13, key[5...] == StaleRange.key(0, from)[5...] else {
            throw FormatError(.misplaced, "stale range")
        }
        return from...to
    }
}
