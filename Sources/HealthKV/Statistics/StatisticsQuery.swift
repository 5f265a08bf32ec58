#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// A query for statistics, with all its parameters.
///
/// ```swift
/// var query = StatisticsQuery(.stepCount, by: .day, from: a, to: b, calendar: calendar)
/// query.unit = .count
/// let days = try store.read { try $0.statistics(query) }
/// ```
public struct StatisticsQuery: Sendable {
    /// The queried type. A type that the store has never met has no data, which is not an error.
    public var type: SampleType
    /// `nil` for one bucket from `from` to `to`.
    public var interval: StatisticsInterval?
    /// Samples outside `from..<to` do not count, not even in the first and the last bucket.
    public var from: Instant
    /// The first instant that no longer counts; `Instant.distantFuture` for no end.
    public var to: Instant
    /// Determines where days, weeks and months begin: its time zone, its first weekday.
    public var calendar: Calendar
    /// The borders of the buckets, ascending, instead of an interval; see ``TravelDays``.
    public var borders: [Instant]?
    /// A border of the buckets: the others are whole intervals before and after it.
    public var anchor: Instant?
    /// The sources that take part; `nil` for all. Summaries hold the merged values of all sources, so an answer for
    /// some sources, by source, unmerged, in another order or weighted by time is computed from samples.
    public var sources: [SourceIdentity]?
    /// The unit of the answer; `nil` for the canonical one. For another unit, discrete types are computed from samples,
    /// because minimum and maximum are converted one by one.
    public var unit: HealthUnit?
    /// Whether to return buckets without data, too; ``Statistics/hasData`` distinguishes them.
    public var fillsEmptyBuckets: Bool
    /// Options for the kind of the type; `nil` for the defaults.
    public var options: (any StatisticsOptions)?
    /// Only samples that match take part; `nil` for all. Sources are merged as if there were no other samples, but a
    /// sample that another shadows at exactly its time stays left out, whether that one matches or not. The answer is
    /// computed from samples, and does not use the daily totals of peers.
    public var filter: SampleFilter?

    /// Creates a query. By default it covers all of time and all sources, in the current calendar and the type's own
    /// unit, without empty buckets.
    public init(
        _ type: SampleType, by interval: StatisticsInterval?, from: Instant = .distantPast,
        to: Instant = .distantFuture, calendar: Calendar = .current, anchor: Instant? = nil,
        sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil, fillsEmptyBuckets: Bool = false,
        options: (any StatisticsOptions)? = nil, where filter: SampleFilter? = nil
    ) {
        self.type = type
        self.filter = filter
        self.interval = interval
        self.from = from
        self.to = to
        self.calendar = calendar
        self.anchor = anchor
        self.sources = sources
        self.unit = unit
        self.fillsEmptyBuckets = fillsEmptyBuckets
        self.options = options
    }
}

extension StatisticsQuery {
    /// The range in which a change of samples may change the answer.
    var touchedRange: TimeRange {
        // With strict starts, a sample that starts in the range also wins or loses time after the range.
        let reachesBeyond = (options as? CumulativeOptions)?.borders == .strictStart
        return TimeRange(from: from, to: reachesBeyond ? .distantFuture : to)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns statistics of a type, bucket by bucket, by days or other steps of the given calendar. They are correct
    /// at clock changes and with several devices.
    ///
    /// ```swift
    /// let days = try store.read { try $0.statistics(.stepCount, by: .day, from: a, to: b, calendar: calendar) }
    /// for day in days { print(day.start, day.sum ?? 0) }
    /// ```
    ///
    /// Sources of a cumulative type are merged: at every instant the one with the highest priority counts. Discrete
    /// types have average, minimum and maximum. Buckets without data are left out, or filled.
    public func statistics(
        _ type: SampleType, by interval: StatisticsInterval, from: Instant = .distantPast,
        to: Instant = .distantFuture, calendar: Calendar = .current, anchor: Instant? = nil,
        sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil, fillsEmptyBuckets: Bool = false
    ) throws -> StatisticsCollection {
        try statistics(
            StatisticsQuery(
                type, by: interval, from: from, to: to, calendar: calendar, anchor: anchor, sources: sources,
                unit: unit, fillsEmptyBuckets: fillsEmptyBuckets))
    }

    /// Returns statistics with options: ``CumulativeOptions`` or ``DiscreteOptions``. Options of the other kind than
    /// the type's are an error.
    ///
    /// ```swift
    /// let raw = try store.read { txn in
    ///     try txn.statistics(
    ///         .stepCount, by: .day, from: a, to: b, calendar: calendar,
    ///         options: CumulativeOptions(sources: .unmergedCountingOverlapsTwice))
    /// }
    /// ```
    public func statistics(
        _ type: SampleType, by interval: StatisticsInterval, from: Instant = .distantPast,
        to: Instant = .distantFuture, calendar: Calendar = .current, anchor: Instant? = nil,
        sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil, fillsEmptyBuckets: Bool = false,
        options: some StatisticsOptions
    ) throws -> StatisticsCollection {
        try statistics(
            StatisticsQuery(
                type, by: interval, from: from, to: to, calendar: calendar, anchor: anchor, sources: sources,
                unit: unit, fillsEmptyBuckets: fillsEmptyBuckets, options: options))
    }

    /// Returns the statistics of one interval of time.
    ///
    /// ```swift
    /// let today = try store.read { try $0.statistics(of: .stepCount, from: a, to: b) }
    /// print(today.hasData, today.sum ?? 0)
    /// ```
    public func statistics(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture,
        sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil, options: (any StatisticsOptions)? = nil,
        where filter: SampleFilter? = nil
    ) throws -> Statistics {
        let query = StatisticsQuery(
            type, by: nil, from: from, to: to, sources: sources, unit: unit, fillsEmptyBuckets: true, options: options,
            where: filter)
        let found = try statistics(query)
        if let only = found.first { return only }
        let empty = StatisticsCollection(
            type: type, unit: found.unit, aggregation: found.aggregation, combination: found.combination,
            borders: BucketBorders(emptyAt: from), cells: [StatisticsCell()], fills: true)
        return empty[0]
    }

    /// Returns the answer to a query.
    public func statistics(_ query: StatisticsQuery) throws -> StatisticsCollection {
        let snapshot = snapshot
        guard (query.options as? CumulativeOptions)?.sources == .authoritative else {
            return try snapshot.touching(query.type, query.touchedRange) {
                let plan = try StatisticsPlan(query, snapshot, separately: false)
                return plan.collection(try plan.answer(snapshot), source: 0)
            }
        }
        let plan = try StatisticsPlan(query, snapshot, separately: false, told: try timeOfTotals(askedBy: query))
        var answer = try plan.answer(snapshot)
        let totals = try serveTotals(plan, &answer)
        var collection = plan.collection(answer, source: 0)
        collection.totals = totals
        return collection
    }

    /// Returns the answer to a query for each source alone, without competition between sources. Sources without
    /// samples of the type are left out.
    ///
    /// With `competing`, each source has only what it contributes to the merged sum: at every instant the sample of the
    /// best source counts, and the sums of all sources together are those of ``statistics(_:)``.
    ///
    /// ```swift
    /// let bySource = try store.read { txn in
    ///     try txn.statisticsBySource(StatisticsQuery(.stepCount, by: .day, from: a, to: b, calendar: calendar))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - competing: whether sources compete for time, as in the merged sum.
    public func statisticsBySource(
        _ query: StatisticsQuery, competing: Bool = false
    ) throws -> [SourceIdentity: StatisticsCollection] {
        let snapshot = snapshot
        return try snapshot.touching(query.type, query.touchedRange) {
            let plan = try StatisticsPlan(query, snapshot, separately: true, competing: competing)
            let answer = try plan.answer(snapshot)
            var collections: [SourceIdentity: StatisticsCollection] = [:]
            for (index, number) in plan.ranking.sources.enumerated() {
                collections[try NameTable.source(number, in: snapshot)] = plan.collection(answer, source: index)
            }
            return collections
        }
    }
}
