#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// A day's weight, and where the days around it lead.
public struct WeightDay: Sendable, Hashable {
    /// `YYYY-MM-DD`
    public let date: String
    /// The entry that represents the day: the last one of it that no other shadows.
    public let sample: Sample
    /// The entry's value in the unit that was asked for.
    public let value: Double
    /// The mean of the days with an entry among the last days, this one included.
    public let movingAverage: Double
    /// How much the weight changes a week, by the line that fits the entries of the last days best; `nil` with fewer than two.
    public let weeklyRate: Double?
}

extension SampleReading where Self: ~Copyable {
    /// One weight a day with its trend.
    ///
    /// ```swift
    /// let trend = try store.read { try $0.weightTrend(from: a, to: b, calendar: calendar, unit: .kilogram) }
    /// print(trend.last?.movingAverage ?? 0, trend.last?.weeklyRate ?? 0)
    /// ```
    ///
    /// What lies before `from` within the window counts in averages and rates, but gets no day of its own.
    ///
    /// - Parameter window: how many days the moving average and the rate look at.
    public func weightTrend(
        of type: SampleType = .bodyMass, from: Instant = .distantPast, to: Instant = .distantFuture,
        calendar: Calendar = .current, unit: HealthUnit = .kilogram, window: Int = 7
    ) throws -> [WeightDay] {
        // No more days than there are; the longest ones have 25 hours.
        let window = max(1, min(window, LocalDay.numbers.count))
        let (reach, isEndless) = (Int64(window) * 90_000).multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
        let samples = try samples(
            of: type, from: isEndless || from == .distantPast ? .distantPast : from - reach, to: to, rule: .strictStart)
        guard let first = samples.first, let last = samples.last,
            let borders = BucketBorders(.day, anchor: nil, calendar: calendar, from: first.start, to: last.start + 1)
        else { return [] }
        let offsets = ZoneOffsets(calendar.timeZone, from: first.start.second, to: last.start.second)
        // Samples ascend, so the last one of a day stays. Where clocks go back across midnight the day is the one that has begun.
        var picks: [(day: Int, sample: Sample)] = []
        var bucket = 0
        for sample in samples {
            while bucket + 1 < borders.count, borders[bucket].upperBound <= sample.start.nanoseconds { bucket += 1 }
            let day = offsets.day(at: Instant(nanoseconds: borders[bucket].lowerBound).second)
            if picks.last?.day == day { picks.removeLast() }
            picks.append((day, sample))
        }
        let values = try picks.map { try $0.sample.value(in: unit) }
        var lower = 0
        return picks.indices.compactMap { index in
            guard picks[index].sample.start >= from else { return nil }
            while picks[lower].day <= picks[index].day - window { lower += 1 }
            let days = picks[lower...index].map { Double($0.day) }
            let recent = Array(values[lower...index])
            return WeightDay(
                date: CivilTime.text(picks[index].day), sample: picks[index].sample, value: values[index],
                movingAverage: recent.reduce(0, +) / Double(recent.count),
                weeklyRate: LeastSquares.slope(days, recent).map { $0 * 7 })
        }
    }
}

enum LeastSquares {
    /// The slope of the line that fits best; `nil` where the places do not differ.
    static func slope(_ places: [Double], _ values: [Double]) -> Double? {
        let count = Double(places.count)
        let (meanPlace, meanValue) = (places.reduce(0, +) / count, values.reduce(0, +) / count)
        var (product, square) = (0.0, 0.0)
        for (place, value) in zip(places, values) {
            product += (place - meanPlace) * (value - meanValue)
            square += (place - meanPlace) * (place - meanPlace)
        }
        return square > 0 ? product / square : nil
    }
}
