import HealthModel

/// How values are spread: median and other percentiles, mean, deviation and shares.
///
/// ```swift
/// let pulse = try store.read { try $0.distribution(SampleQuery(.heartRate, from: a, to: b)) }
/// print(pulse.median ?? 0, pulse.percentile(95) ?? 0, pulse.share(in: 60...100))
/// let days = try store.read { try $0.statistics(.stepCount, by: .day, from: a, to: b, calendar: calendar) }
/// print(days.distribution(of: \.sum).median ?? 0)
/// ```
public struct Distribution: Sendable, Hashable {
    /// The values, ascending.
    public let sorted: [Double]
    /// The unit of the values, if there is one.
    public let unit: HealthUnit?

    /// Creates the distribution of some values. Values that are not finite are left out.
    public init(_ values: some Sequence<Double>, unit: HealthUnit? = nil) {
        sorted = values.filter(\.isFinite).sorted()
        self.unit = unit
    }

    /// The number of values.
    public var count: Int { sorted.count }
    /// The least value; `nil` if there is none.
    public var minimum: Double? { sorted.first }
    /// The greatest value; `nil` if there is none.
    public var maximum: Double? { sorted.last }

    /// The arithmetic mean; `nil` without values.
    public var mean: Double? { sorted.isEmpty ? nil : sorted.reduce(0, +) / Double(sorted.count) }

    /// The standard deviation of the values as a sample of a population: the divisor is one less than their number.
    /// `nil` for fewer than two values.
    public var standardDeviation: Double? {
        guard let mean, sorted.count > 1 else { return nil }
        let squares = sorted.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return (squares / Double(sorted.count - 1)).squareRoot()
    }

    /// The value in the middle, or the mean of the two in the middle; `nil` without values.
    public var median: Double? { percentile(50) }

    /// Returns the value below which so many percent of the values lie, with linear interpolation between the two
    /// nearest values: 0 is the minimum, 100 the maximum. `nil` without values and for a number outside 0 to 100.
    public func percentile(_ percent: Double) -> Double? {
        guard !sorted.isEmpty, percent >= 0, percent <= 100 else { return nil }
        let place = percent / 100 * Double(sorted.count - 1)
        let lower = Int(place)
        guard lower + 1 < sorted.count else { return sorted[sorted.count - 1] }
        let share = place - Double(lower)
        return sorted[lower] + (sorted[lower + 1] - sorted[lower]) * share
    }

    /// Returns the share of the values in a closed range, 0 to 1. 0 without values.
    public func share(in range: ClosedRange<Double>) -> Double {
        if sorted.isEmpty { return 0 }
        let first = sorted.indices.firstIndex(notPreceding: { sorted[$0] < range.lowerBound })
        let last = sorted.indices.firstIndex(notPreceding: { sorted[$0] <= range.upperBound })
        return Double(last - first) / Double(sorted.count)
    }
}

extension StatisticsCollection {
    /// Returns the distribution of a number of each bucket, such as the sums of days.
    public func distribution(of value: (Statistics) -> Double?) -> Distribution {
        Distribution(compactMap { $0.hasData ? value($0) : nil }, unit: unit)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the distribution of the values of the samples that a query selects, in a unit or in that of the type.
    ///
    /// Each sample counts as often as it is stored; sources are not merged. The order of the query does not matter.
    public func distribution(_ query: SampleQuery, unit: HealthUnit? = nil) throws -> Distribution {
        let series = try series(query)
        guard let unit, let own = series.unit, own != unit else {
            return Distribution(series.values, unit: series.unit ?? unit)
        }
        return Distribution(try series.values.map { try own.convert($0, to: unit) }, unit: unit)
    }
}
