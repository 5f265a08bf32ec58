/// A step of the calendar by which statistics are divided.
///
/// ```swift
/// let fortnight = StatisticsInterval.every(2, .week)
/// assert(StatisticsInterval.day == .every(1, .day))
/// ```
public struct StatisticsInterval: Sendable, Hashable {
    /// The steps that a calendar knows. The query's calendar says where they begin, and its anchor, if there is one.
    public enum Unit: String, Sendable, Hashable, CaseIterable {
        /// 60 seconds, from a full minute of the local clock on.
        case minute
        /// 60 minutes, from a full hour of the local clock on. One in which clocks change may be cut short.
        case hour
        /// From midnight to midnight: 23 or 25 hours where clocks change by one.
        case day
        /// Seven days, from the calendar's first weekday on.
        case week
        /// A month of the calendar, whatever its length.
        case month
        /// Three months; of the Gregorian calendar from January, April, July and October on. Of a calendar whose years may have
        /// thirteen months they go on through the years.
        case quarter
        /// A year of the calendar.
        case year

        /// How many of them 600 years have.
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

    /// The step of which an interval has ``count``.
    public let unit: Unit
    /// How many units one interval has, at least 1.
    public let count: Int

    /// Intervals of several units. They tile both ways from an anchor: the one that is given to the query, or the first
    /// midnight of 2001 in its time zone; months, quarters and years of a calendar with months of its own from the beginning of its
    /// year in which 2001 began. Several hours are counted as they pass: where clocks change, the local times of their borders do, too. An
    /// interval of more than 600 years, longer than all time that an ``Instant`` can
    /// express, is one of 600 years. `count` is at least 1.
    public static func every(_ count: Int, _ unit: Unit) -> StatisticsInterval {
        precondition(count > 0, "an interval has at least one unit")
        return StatisticsInterval(unit: unit, count: min(count, unit.greatestCount))
    }

    /// Hours of the local clock.
    public static let hour = every(1, .hour)
    /// Days from midnight to midnight, or from the first instant of a day whose midnight clocks skip.
    public static let day = every(1, .day)
    /// Weeks from the calendar's first weekday on.
    public static let week = every(1, .week)
    /// Months of the query's calendar.
    public static let month = every(1, .month)
    /// Quarters of a calendar year.
    public static let quarter = every(1, .quarter)
    /// Years of the query's calendar.
    public static let year = every(1, .year)

    /// How many months an interval has, where it consists of months.
    var months: Int? {
        switch unit {
        case .month: count
        case .quarter: 3 * count
        case .year: 12 * count
        default: nil
        }
    }

    /// How many days an interval has, where it consists of days.
    var days: Int? {
        switch unit {
        case .day: count
        case .week: 7 * count
        default: nil
        }
    }

    /// How many seconds an interval has, where its length is fixed.
    var seconds: Int64? {
        switch unit {
        case .minute: 60 * Int64(count)
        case .hour: 3_600 * Int64(count)
        default: nil
        }
    }
}
