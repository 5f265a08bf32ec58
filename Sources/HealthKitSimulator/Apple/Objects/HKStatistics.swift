import Foundation

public struct HKStatisticsOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let separateBySource = HKStatisticsOptions(rawValue: 1)
    public static let discreteAverage = HKStatisticsOptions(rawValue: 2)
    public static let discreteMin = HKStatisticsOptions(rawValue: 4)
    public static let discreteMax = HKStatisticsOptions(rawValue: 8)
    public static let cumulativeSum = HKStatisticsOptions(rawValue: 16)

    static let discrete: HKStatisticsOptions = [.discreteAverage, .discreteMin, .discreteMax]
}

public class HKStatistics: NSObject {
    public let quantityType: HKQuantityType
    public let startDate: Date
    public let endDate: Date
    public private(set) var sources: [HKSource]?
    private var sum: HKQuantity?
    private var average: HKQuantity?
    private var minimum: HKQuantity?
    private var maximum: HKQuantity?
    private var sums: [HKSource: HKQuantity] = [:]

    /// Creates statistics without samples: they have no quantity (A21).
    init(type: HKQuantityType, from start: Date, to end: Date) {
        quantityType = type
        startDate = start
        endDate = end
    }

    public func sumQuantity() -> HKQuantity? { sum }
    public func sumQuantity(for source: HKSource) -> HKQuantity? { sums[source] }
    public func averageQuantity() -> HKQuantity? { average }
    public func minimumQuantity() -> HKQuantity? { minimum }
    public func maximumQuantity() -> HKQuantity? { maximum }

    /// Creates statistics of samples that belong together, without ranking their sources.
    convenience init(type: HKQuantityType, from start: Date, to end: Date, records: [HealthRecord]) {
        self.init(type: type, from: start, to: end)
        guard case .quantity(let unit, let isCumulative) = type.known?.content else { return }
        let amounts = records.compactMap(\.amount)
        if isCumulative {
            sum = HKQuantity(unit: unit, doubleValue: amounts.reduce(0, +))
        } else {
            setDiscrete(amounts, unit)
        }
    }

    convenience init(_ bucket: StatisticsBucket, _ options: HKStatisticsOptions) {
        self.init(type: bucket.type, from: bucket.start, to: bucket.end)
        guard case .quantity(let unit, let isCumulative) = bucket.type.known?.content, !bucket.isEmpty else { return }
        if isCumulative {
            sum = HKQuantity(unit: unit, doubleValue: bucket.mergedSum)
        } else {
            setDiscrete(bucket.inside.compactMap(\.amount), unit)
        }
        guard options.contains(.separateBySource) else { return }
        sources = bucket.sources
        for source in bucket.sources where isCumulative {
            sums[source] = HKQuantity(unit: unit, doubleValue: bucket.sum(of: source))
        }
    }

    /// Returns one for each quantity type among the samples.
    static func all(of records: [HealthRecord], from start: Date, to end: Date) -> [HKQuantityType: HKStatistics] {
        var all: [HKQuantityType: HKStatistics] = [:]
        for records in Dictionary(grouping: records, by: \.type.identifier).values {
            guard let type = records[0].type as? HKQuantityType else { continue }
            all[type] = HKStatistics(type: type, from: start, to: end, records: records)
        }
        return all
    }

    private func setDiscrete(_ amounts: [Double], _ unit: HKUnit) {
        guard !amounts.isEmpty else { return }
        average = HKQuantity(unit: unit, doubleValue: amounts.reduce(0, +) / Double(amounts.count))
        minimum = amounts.min().map { HKQuantity(unit: unit, doubleValue: $0) }
        maximum = amounts.max().map { HKQuantity(unit: unit, doubleValue: $0) }
    }
}

public class HKStatisticsCollection: NSObject {
    private let populated: [HKStatistics]
    private let bucketOf: (Date) -> HKStatistics

    init(_ populated: [HKStatistics], bucketOf: @escaping (Date) -> HKStatistics) {
        self.populated = populated
        self.bucketOf = bucketOf
    }

    /// Returns the buckets that have samples, in order; the others are left out (A21).
    public func statistics() -> [HKStatistics] { populated }

    /// Returns the bucket that contains a date; without samples it has no quantity (A21).
    public func statistics(for date: Date) -> HKStatistics? {
        populated.first { $0.startDate <= date && date < $0.endDate } ?? bucketOf(date)
    }
}
