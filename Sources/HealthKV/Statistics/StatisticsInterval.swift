/// A step of the calendar that divides statistics into buckets.
///
/// ```swift
/// let fortnight = StatisticsInterval.every(2, .week)
/// assert(StatisticsInterval.day == .every(1, .day))
/// ```
public struct StatisticsInterval: Sendable, Hashable {
    /// The units of a calendar. The query's calendar determines where they begin, together with its anchor, if there is
    /// one.
    public enum Unit: String, Sendable, Hashable, CaseIterable {
        /// 60 seconds, starting at a full minute of the local clock.
        case minute
        /// 60 minutes, starting at a full hour of the local clock. An hour in which the clocks change may be shorter.
        case hour
        /// From midnight to midnight: 23 or 25 hours if the clocks change by one.
        case day
        /// Seven days, starting at the calendar's first weekday.
        case week
        /// A month of the calendar, whatever its length.
        case month
        /// Three months; in the Gregorian calendar starting with January, April, July and October. In a calendar whose
        /// years may have thirteen months, quarters continue across years.
        case quarter
        /// A year of the calendar.
        case year

        /// The number of these units in 600 years.
        fileprivate var greatestCount: Int {
            switch self {
            case .minute: 60 * Unit.hour.greatestCount
            case .hour: 24 * Unit.day.greatestCount
            case .day: 219_146
            case .week: 31_307
            case .month: 7_200
            case .quarter: 2_400
            case .year: 600
            }
        }
    }

    /// The unit of which an interval has ``count``.
    public let unit: Unit
    /// The number of units in one interval, at least 1.
    public let count: Int

    /// Returns intervals of several units. They tile both ways from an anchor: the anchor of the query, or the first
    /// midnight of 2001 in its time zone. For months, quarters and years of a calendar with its own months, the default
    /// anchor is the beginning of the year of that calendar that contains the beginning of 2001. Several hours are
    /// counted in elapsed time: if the clocks change, the local times of their borders change, too. An interval of more
    /// than 600 years, longer than all time that an `Instant` can express, becomes one of 600 years. `count` is at
    /// least 1.
    public static func every(_ count: Int, _ unit: Unit) -> StatisticsInterval {
        Misuse.refuse(unless: count > 0, "an interval has at least one unit")
        return StatisticsInterval(unit: unit, count: min(count, unit.greatestCount))
    }

    /// Hours of the local clock.
    public static let hour = every(1, .hour)
    /// Days from midnight to midnight, or from the first instant of a day whose midnight the clocks skip.
    public static let day = every(1, .day)
    /// Weeks starting at the calendar's first weekday.
    public static let week = every(1, .week)
    /// Months of the query's calendar.
    public static let month = every(1, .month)
    /// Quarters of a calendar year.
    public static let quarter = every(1, .quarter)
    /// Years of the query's calendar.
    public static let year = every(1, .year)

    /// The number of months in an interval of months; otherwise `nil`.
    var months: Int? {
        switch unit {
        case .month: count
        case .quarter: 3 * count
        case .year: 12 * count
        default: nil
        }
    }

    /// The number of days in an interval of days; otherwise `nil`.
    var days: Int? {
        switch unit {
        case .day: count
        case .week: 7 * count
        default: nil
        }
    }

    /// The number of seconds in an interval of fixed length; otherwise `nil`.
    var seconds: Int64? {
        switch unit {
        case .minute: 60 * Int64(count)
        case .hour: 3_600 * Int64(count)
        default: nil
        }
    }
}
