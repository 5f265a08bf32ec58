import ColumnFormat
import HealthModel

/// How time is divided for summaries, and where they stand in their table.
enum SummaryPeriod {
    static let hour: Int64 = 3_600 * Instant.nanosecondsPerSecond
    static let quarter: Int64 = 900 * Instant.nanosecondsPerSecond
    static let hoursPerBlock = Int64(SummaryLevel.hours.cells)
    static let block = hour * hoursPerBlock
    /// The period of summaries in their keys; 0 stands for counts.
    static let period: UInt8 = 1

    static func block(of instant: Int64) -> Int64 { instant.dividedDown(by: block) }
    static func block(ofHour hour: Int64) -> Int64 { hour.dividedDown(by: hoursPerBlock) }

    static func key(_ type: UInt32, _ block: Int64) -> [UInt8] {
        var writer = ByteWriter(reserving: 9)
        writer.appendBigEndian(type)
        writer.append(period)
        writer.appendBigEndian(UInt32(bitPattern: Int32(truncatingIfNeeded: block)) ^ 1 << 31)
        return writer.bytes
    }

    /// The type and block of a key; `nil` for keys of other records.
    static func parse(_ key: RawSpan) -> (type: UInt32, block: Int64)? {
        guard key.byteCount == 9 else { return nil }
        let bytes = key.copied()
        guard bytes[4] == period else { return nil }
        func word(_ range: Range<Int>) -> UInt32 { bytes[range].reduce(0) { $0 << 8 | UInt32($1) } }
        return (word(0..<4), Int64(Int32(bitPattern: word(5..<9) ^ 1 << 31)))
    }
}

/// Fields in which a level keeps what.
extension SummaryLevel {
    var length: Int64 { self == .hours ? SummaryPeriod.hour : SummaryPeriod.quarter }

    /// Fields of values that are kept beside the sum.
    func values(_ aggregation: SampleType.Aggregation) -> [SummaryColumn] {
        switch (aggregation, self) {
        case (.discrete, _): [.minimum, .maximum, .firstValue, .lastValue]
        // Charts show values also of cumulative types; a pixel is seldom shorter than an hour.
        case (.cumulative, .hours): [.plain, .minimum, .maximum]
        case (.cumulative, .quarters): []
        }
    }
}
