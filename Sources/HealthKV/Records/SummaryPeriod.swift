import ColumnFormat
import HealthModel

/// How time is divided for summaries.
enum SummaryPeriod {
    static let hour: Int64 = 3_600 * Instant.nanosecondsPerSecond
    static let quarter: Int64 = 900 * Instant.nanosecondsPerSecond
    static let hoursPerBlock = Int64(SummaryLevel.hours.cells)
    static let block = hour * hoursPerBlock

    static func block(of instant: Int64) -> Int64 { instant.dividedDown(by: block) }
    static func block(ofHour hour: Int64) -> Int64 { hour.dividedDown(by: hoursPerBlock) }

    /// The blocks that samples can touch, and their hours. Times outside of them are not valid instants.
    static let blocks = block(of: Instant.earliest.nanoseconds)...block(of: Instant.latest.nanoseconds)
    static let hours = blocks.lowerBound * hoursPerBlock...(blocks.upperBound + 1) * hoursPerBlock
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
