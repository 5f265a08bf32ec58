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
    /// How much the moving average changes a week, by the line that fits the last days best; `nil` with fewer than two.
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
    /// - Parameter window: how many days the moving average and the rate look at.
    public func weightTrend(
        of type: SampleType = .bodyMass, from: Instant = .distantPast, to: Instant = .distantFuture,
        calendar: Calendar = .current, unit: HealthUnit = .kilogram, window: Int = 7
    ) throws -> [WeightDay] {
        let samples = try samples(of: type, from: from, to: to, rule: .strictStart)
        guard let first = samples.first, let last = samples.last else { return [] }
        let offsets = ZoneOffsets(calendar.timeZone, from: first.start.second, to: last.start.second)
        // Samples ascend, so the last one of a day stays.
        var picks: [(day: Int, sample: Sample)] = []
        for sample in samples {
            let day = offsets.day(at: sample.start.second)
            if picks.last?.day == day { picks.removeLast() }
            picks.append((day, sample))
        }
        let values = try picks.map { try $0.sample.value(in: unit) }
        var lower = 0
        return picks.indices.map { index in
            while picks[lower].day <= picks[index].day - max(1, window) { lower += 1 }
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
