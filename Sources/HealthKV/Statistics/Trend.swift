import HealthModel

/// The straight line that fits values over time best, by least squares.
///
/// ```swift
/// let trend = try store.read { try $0.trend(SampleQuery(.bodyMass, from: a, to: b)) }
/// print(trend?.perDay ?? 0, trend?.value(at: b) ?? 0)
/// ```
public struct Trend: Sendable, Hashable {
    /// The change of the value in 24 hours.
    public let perDay: Double
    /// The mean time of the values, as an instant.
    public let center: Instant
    /// The value of the line at ``center``, which is the mean of the values.
    public let centerValue: Double
    /// The share of the variance that the line explains, 0 to 1; 1 if all values are equal.
    public let fit: Double
    /// The number of values.
    public let count: Int
    /// The unit of the values, if there is one.
    public let unit: HealthUnit?

    /// Fits a line. `nil` unless there are values at two times at least. Values that are not finite are left out.
    public init?(_ points: some Sequence<(time: Instant, value: Double)>, unit: HealthUnit? = nil) {
        let points = points.filter(\.value.isFinite)
        guard let first = points.first?.time else { return nil }
        let days = points.map { Trend.days(from: first, to: $0.time) }
        guard let line = LeastSquares(days, points.map(\.value)) else { return nil }
        perDay = line.slope
        let middle = (line.meanPlace * 86_400e9).rounded()
        center = first + (Int64(exactly: middle) ?? (middle < 0 ? .min : .max))
        (centerValue, fit) = (line.meanValue, line.fit)
        count = points.count
        self.unit = unit
    }

    /// Returns the value of the line at an instant.
    public func value(at instant: Instant) -> Double {
        centerValue + perDay * Trend.days(from: center, to: instant)
    }

    /// The distance of two instants in days of 24 hours. Nanoseconds since 2001 are too large for a double to be exact.
    private static func days(from one: Instant, to other: Instant) -> Double {
        let (distance, isBeyond) = other.nanoseconds.subtractingReportingOverflow(one.nanoseconds)
        return (isBeyond ? Double(other.nanoseconds) - Double(one.nanoseconds) : Double(distance)) / 86_400e9
    }
}

/// The straight line that fits values at some places best.
struct LeastSquares {
    let slope: Double
    let meanPlace: Double
    let meanValue: Double
    /// The share of the variance that the line explains; 1 if all values are equal.
    let fit: Double

    /// `nil` if all places are equal.
    init?(_ places: [Double], _ values: [Double]) {
        let count = Double(places.count)
        (meanPlace, meanValue) = (places.reduce(0, +) / count, values.reduce(0, +) / count)
        var (products, squares, variance) = (0.0, 0.0, 0.0)
        for (place, value) in zip(places, values) {
            products += (place - meanPlace) * (value - meanValue)
            squares += (place - meanPlace) * (place - meanPlace)
            variance += (value - meanValue) * (value - meanValue)
        }
        guard squares > 0 else { return nil }
        slope = products / squares
        fit = variance > 0 ? min(1, products * products / (squares * variance)) : 1
    }
}

extension StatisticsCollection {
    /// Returns the line that fits a number of each bucket best, each at the middle of its bucket.
    ///
    /// ```swift
    /// let weeks = try store.read { try $0.statistics(.bodyMass, by: .week, from: a, to: b, calendar: calendar) }
    /// print(weeks.trend(of: \.average)?.perDay ?? 0)
    /// ```
    public func trend(of value: (Statistics) -> Double?) -> Trend? {
        Trend(
            compactMap { bucket in
                guard bucket.hasData, let number = value(bucket) else { return nil }
                return (bucket.start + (bucket.end.nanoseconds / 2 - bucket.start.nanoseconds / 2), number)
            }, unit: unit)
    }

    /// Returns for each bucket the mean of a number over the last buckets, of which it is the last. Buckets without
    /// data are left out of the mean, also if the collection does not return them. `count` must be at least 1.
    ///
    /// ```swift
    /// let days = try store.read { try $0.statistics(.stepCount, by: .day, from: a, to: b, calendar: calendar) }
    /// let week = days.movingAverage(of: \.sum, over: 7)
    /// for (day, average) in zip(days, week) { print(day.start, average ?? 0) }
    /// ```
    public func movingAverage(of value: (Statistics) -> Double?, over count: Int) -> [Double?] {
        Misuse.refuse(unless: count > 0, "an average is taken of one bucket at least")
        let numbers = cells.indices.map { index -> Double? in
            let bucket = bucket(index)
            return bucket.hasData ? value(bucket) : nil
        }
        return returned.map { last in
            let known = numbers[Swift.max(0, last + 1 - count)...last].compactMap { $0 }
            return known.isEmpty ? nil : known.reduce(0, +) / Double(known.count)
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the line that fits the values of the samples that a query selects best; `nil` unless they are of two
    /// times at least.
    public func trend(_ query: SampleQuery) throws -> Trend? {
        let series = try series(query)
        return Trend(
            zip(series.times, series.values).lazy.map { (time: Instant(nanoseconds: $0), value: $1) }, unit: series.unit
        )
    }
}
