import ColumnFormat
import HealthModel

/// How time is divided for summaries, and the keys of summaries in their table.
enum SummaryPeriod {
    static let hour: Int64 = 3_600 * Instant.nanosecondsPerSecond
    static let quarter: Int64 = 900 * Instant.nanosecondsPerSecond
    static let hoursPerBlock = Int64(SummaryLevel.hours.cells)
    static let block = hour * hoursPerBlock
    /// The period of summaries in their keys; 0 is used for counts.
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

    /// The blocks that samples can touch, and their hours. Times outside of them are not valid instants.
    static let blocks = block(of: Instant.earliest.nanoseconds)...block(of: Instant.latest.nanoseconds)
    static let hours = blocks.lowerBound * hoursPerBlock...(blocks.upperBound + 1) * hoursPerBlock

    /// Returns the type and block of a key; `nil` for keys of counts.
    static func parse(_ key: RawSpan) throws(FormatError) -> (type: UInt32, block: Int64)? {
        let bytes = key.copied()
        if bytes.count == 5, bytes[4] == 0 { return nil }
        guard bytes.count == 9, bytes[4] == period else { throw FormatError(.invalid, "summary key") }
        func word(_ range: Range<Int>) -> UInt32 { bytes[range].reduce(0) { $0 << 8 | UInt32($1) } }
        let block = Int64(Int32(bitPattern: word(5..<9) ^ 1 << 31))
        guard blocks.contains(block) else { throw FormatError(.invalid, "summary key") }
        return (word(0..<4), block)
    }
}

/// The fields of each level.
extension SummaryLevel {
    var length: Int64 { self == .hours ? SummaryPeriod.hour : SummaryPeriod.quarter }

    /// Returns the value columns that are stored beside the sum.
    func values(_ aggregation: SampleType.Aggregation) -> [SummaryColumn] {
        switch (aggregation, self) {
        case (.discrete, _): [.minimum, .maximum, .firstValue, .lastValue]
        // Charts also show values of cumulative types; a pixel is seldom shorter than an hour.
        case (.cumulative, .hours): [.plain, .minimum, .maximum]
        case (.cumulative, .quarters): []
        }
    }
}
