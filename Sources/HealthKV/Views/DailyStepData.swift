#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// A day as a walking app shows it.
public struct DailyStepData: Sendable, Hashable, Codable {
    /// `YYYY-MM-DD`, a Gregorian date in the time zone of the calendar that was asked with.
    public let date: String
    /// Whole steps, rounded.
    public let stepCount: Int
    /// Metres, sources merged.
    public let distanceMeters: Double
    /// The name that the caller gave for where the data come from.
    public let source: String
    /// Whether any sample belongs to the day; without any the numbers are zero.
    public let hasData: Bool
}

extension SampleReading where Self: ~Copyable {
    /// Steps and distance of each day from one date to another, both included, sources merged. Days without data are zeros; a day
    /// that clocks skipped is left out.
    ///
    /// ```swift
    /// let week = try store.read { txn in
    ///     try txn.dailySteps(from: "2026-03-01", to: "2026-03-07", calendar: calendar, source: "healthkit")
    /// }
    /// ```
    public func dailySteps(
        from first: String, to last: String, calendar: Calendar = .current, source: String
    ) throws -> [DailyStepData] {
        let (firstDay, lastDay) = (
            try LocalDay.number(first, field: "date"), try LocalDay.number(last, field: "date")
        )
        guard firstDay <= lastDay, let from = LocalDay.firstInstant(firstDay, in: calendar.timeZone) else { return [] }
        guard let to = LocalDay.firstInstant(lastDay + 1, in: calendar.timeZone) else { return [] }
        let steps = try statistics(
            .stepCount, by: .day, from: from, to: to, calendar: calendar, fillsEmptyBuckets: true)
        let distances = try statistics(
            .distanceWalkingRunning, by: .day, from: from, to: to, calendar: calendar, fillsEmptyBuckets: true)
        return zip(steps, distances).map { day, distance in
            DailyStepData(
                date: LocalDay(of: day.start, in: calendar.timeZone).text,
                stepCount: LocalDay.wholeNumber(day.sum ?? 0),
                distanceMeters: distance.sum ?? 0, source: source, hasData: day.hasData || distance.hasData)
        }
    }
}

extension LocalDay {
    /// The nearest whole number, or the last one there is: a sample may hold any value.
    fileprivate static func wholeNumber(_ value: Double) -> Int {
        Int(exactly: value.rounded()) ?? (value > 0 ? .max : value < 0 ? .min : 0)
    }

    /// The first instant of a day, or of the next one that clocks did not skip.
    static func firstInstant(_ day: Int, in zone: TimeZone) -> Instant? {
        for later in 0..<3 {
            if let bounds = LocalDay(day + later, in: zone).bounds { return bounds.from }
        }
        return nil
    }
}
