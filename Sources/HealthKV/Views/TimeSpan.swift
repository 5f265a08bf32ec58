#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// A range of time, in any of the forms in which apps have one: a `TimeRange`, a `DateInterval`, or a range of dates
/// or instants.
///
/// ```swift
/// import Foundation
///
/// let week = DateInterval(start: .now - 7 * 86_400, end: .now)
/// let steps = try store.read { try $0.samples(of: .stepCount, in: week) }
/// let sinceMonday = try store.read { try $0.count(of: .stepCount, in: monday...) }
/// ```
///
/// The start is inclusive and the end exclusive. A date before 1710 means from the beginning, and one from 2290 on
/// means for ever: `Date.distantPast` and `Date.distantFuture` do.
public protocol TimeSpan {
    /// The same range with instants as bounds.
    var timeRange: TimeRange { get }
}

/// A point in time that can bound a range: a date or an `Instant`.
public protocol TimeBound: Comparable {
    /// The instant of the bound. A date that no sample can have gives `Instant.distantPast` or
    /// `Instant.distantFuture`.
    var boundingInstant: Instant { get }
}

extension Instant: TimeBound {
    /// The instant itself.
    public var boundingInstant: Instant { self }

    /// The system's time.
    public static var now: Instant { SystemClock.now() }
}

extension Date: TimeBound {
    /// The instant of the date, or the end of time in its direction.
    public var boundingInstant: Instant {
        if let instant = try? Instant(self) { return instant }
        return timeIntervalSinceReferenceDate < 0 ? .distantPast : .distantFuture
    }
}

extension TimeRange: TimeSpan {
    /// The range itself.
    public var timeRange: TimeRange { self }

    /// Creates a range from one of another form.
    public init(_ span: some TimeSpan) { self = span.timeRange }
}

extension DateInterval: TimeSpan {
    /// From the start of the interval to its end.
    public var timeRange: TimeRange { TimeRange(from: start.boundingInstant, to: end.boundingInstant) }
}

extension Range: TimeSpan where Bound: TimeBound {
    /// From the lower bound to the upper one.
    public var timeRange: TimeRange { TimeRange(from: lowerBound.boundingInstant, to: upperBound.boundingInstant) }
}

extension PartialRangeFrom: TimeSpan where Bound: TimeBound {
    /// From the lower bound on.
    public var timeRange: TimeRange { TimeRange(from: lowerBound.boundingInstant) }
}

extension PartialRangeUpTo: TimeSpan where Bound: TimeBound {
    /// Up to the upper bound.
    public var timeRange: TimeRange { TimeRange(to: upperBound.boundingInstant) }
}

extension SampleQuery {
    /// Creates a query for a range of time in any form.
    ///
    /// - Parameters:
    ///   - type: the type of the samples.
    ///   - span: the range of time.
    ///   - rule: how the range selects.
    ///   - order: whether the earliest or the latest sample comes first.
    ///   - limit: the maximum number of samples; `nil` for all.
    ///   - source: select only samples of this source.
    ///   - includeShadowed: select also samples that lost against another at exactly the same time.
    ///   - filter: select only samples that match.
    ///   - sort: whether to order by time or by value.
    public init(
        _ type: SampleType, in span: some TimeSpan, rule: RangeRule = .overlap, order: SampleOrder = .ascending,
        limit: Int? = nil, source: SourceIdentity? = nil, includeShadowed: Bool = false,
        where filter: SampleFilter? = nil, by sort: SampleSort = .time
    ) {
        let range = span.timeRange
        self.init(
            type, from: range.from, to: range.to, rule: rule, order: order, limit: limit, source: source,
            includeShadowed: includeShadowed, where: filter, by: sort)
    }
}

extension StatisticsQuery {
    /// Creates a query for a range of time in any form.
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - interval: the length of a bucket; `nil` for one bucket.
    ///   - span: the range of time.
    ///   - calendar: the calendar that determines where days, weeks and months begin.
    ///   - anchor: a border of the buckets; `nil` for those of the calendar.
    ///   - sources: only these sources; `nil` for all.
    ///   - unit: the unit of the answer; `nil` for the canonical one.
    ///   - fillsEmptyBuckets: whether to return buckets without data, too.
    ///   - options: options for the kind of the type; `nil` for the defaults.
    ///   - filter: only samples that match.
    public init(
        _ type: SampleType, by interval: StatisticsInterval?, in span: some TimeSpan, calendar: Calendar = .current,
        anchor: (any TimeBound)? = nil, sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil,
        fillsEmptyBuckets: Bool = false, options: (any StatisticsOptions)? = nil, where filter: SampleFilter? = nil
    ) {
        let range = span.timeRange
        self.init(
            type, by: interval, from: range.from, to: range.to, calendar: calendar, anchor: anchor?.boundingInstant,
            sources: sources, unit: unit, fillsEmptyBuckets: fillsEmptyBuckets, options: options, where: filter)
    }
}

extension SampleSelection {
    /// The samples of a type that start in a range of time in any form.
    public static func range(of type: SampleType, in span: some TimeSpan) -> SampleSelection {
        let range = span.timeRange
        return .range(of: type, from: range.from, to: range.to)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the samples of a type in a range of time in any form, ordered by start, end and id.
    ///
    /// - Parameters:
    ///   - type: the type of the samples.
    ///   - span: the range of time.
    ///   - order: whether the earliest or the latest sample comes first.
    ///   - limit: the maximum number of samples; `nil` for all.
    ///   - filter: return only samples that match.
    public func samples(
        of type: SampleType, in span: some TimeSpan, order: SampleOrder = .ascending, limit: Int? = nil,
        where filter: SampleFilter? = nil
    ) throws -> [Sample] {
        try samples(SampleQuery(type, in: span, order: order, limit: limit, where: filter))
    }

    /// Returns the number of samples of a type in a range of time in any form, without shadowed ones.
    public func count(
        of type: SampleType, in span: some TimeSpan, where filter: SampleFilter? = nil
    ) throws -> Int {
        try count(SampleQuery(type, in: span, where: filter))
    }

    /// Returns a type's times and values in a range of time in any form, as arrays.
    public func series(_ type: SampleType, in span: some TimeSpan) throws -> Series {
        try series(SampleQuery(type, in: span, rule: .strictStart))
    }

    /// Returns a type's times and values in a range of time in any form, reduced to a number of points for a chart.
    public func series(
        _ type: SampleType, in span: some TimeSpan, points: Int, unit: HealthUnit? = nil
    ) throws -> ReducedSeries {
        let range = span.timeRange
        return try series(type, from: range.from, to: range.to, points: points, unit: unit)
    }

    /// Calls `body` with the times and values of a type in a range of time in any form, run by run; see the form with
    /// instants.
    public func fold<Result>(
        _ type: SampleType, in span: some TimeSpan, into initial: Result,
        _ body: (inout Result, Span<Int64>, Span<Double>) throws -> Void
    ) throws -> Result {
        let range = span.timeRange
        return try fold(type, from: range.from, to: range.to, into: initial, body)
    }

    /// Calls `body` with the samples of a type in a range of time in any form, until it returns `false`.
    public func forEachSample(
        of type: SampleType, in span: some TimeSpan, order: SampleOrder = .ascending, _ body: (Sample) throws -> Bool
    ) throws {
        let range = span.timeRange
        try forEachSample(of: type, from: range.from, to: range.to, order: order, body)
    }

    /// Returns statistics of a type in a range of time in any form, bucket by bucket.
    ///
    /// ```swift
    /// import Foundation
    ///
    /// let week = DateInterval(start: .now - 7 * 86_400, end: .now)
    /// let days = try store.read { try $0.statistics(.stepCount, by: .day, in: week) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - interval: the length of a bucket.
    ///   - span: the range of time.
    ///   - calendar: the calendar that determines where days, weeks and months begin.
    ///   - sources: only these sources; `nil` for all.
    ///   - unit: the unit of the answer; `nil` for the canonical one.
    ///   - fillsEmptyBuckets: whether to return buckets without data, too.
    ///   - options: options for the kind of the type; `nil` for the defaults.
    ///   - filter: only samples that match.
    public func statistics(
        _ type: SampleType, by interval: StatisticsInterval, in span: some TimeSpan, calendar: Calendar = .current,
        sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil, fillsEmptyBuckets: Bool = false,
        options: (any StatisticsOptions)? = nil, where filter: SampleFilter? = nil
    ) throws -> StatisticsCollection {
        try statistics(
            StatisticsQuery(
                type, by: interval, in: span, calendar: calendar, sources: sources, unit: unit,
                fillsEmptyBuckets: fillsEmptyBuckets, options: options, where: filter))
    }

    /// Returns the statistics of one range of time in any form.
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - span: the range of time.
    ///   - sources: only these sources; `nil` for all.
    ///   - unit: the unit of the answer; `nil` for the canonical one.
    ///   - options: options for the kind of the type; `nil` for the defaults.
    ///   - filter: only samples that match.
    public func statistics(
        of type: SampleType, in span: some TimeSpan, sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil,
        options: (any StatisticsOptions)? = nil, where filter: SampleFilter? = nil
    ) throws -> Statistics {
        let range = span.timeRange
        return try statistics(
            of: type, from: range.from, to: range.to, sources: sources, unit: unit, options: options, where: filter)
    }

    /// Returns nutrition by local day in a range of time in any form.
    public func nutrition(
        of nutrients: [SampleType] = SampleType.nutrients, in span: some TimeSpan, calendar: Calendar = .current
    ) throws -> [NutritionDay] {
        let range = span.timeRange
        return try nutrition(of: nutrients, from: range.from, to: range.to, calendar: calendar)
    }

    /// Returns the nutrition of the local day that contains a date, with all nutrients of the catalog.
    @_disfavoredOverload
    public func nutrition(
        on date: Date, of nutrients: [SampleType] = SampleType.nutrients, calendar: Calendar = .current
    ) throws -> NutritionDay {
        try nutrition(on: try Instant(date), of: nutrients, calendar: calendar)
    }

    /// Returns nutrition meal by meal in a range of time in any form.
    public func meals(
        of nutrients: [SampleType] = SampleType.nutrients, in span: some TimeSpan
    ) throws -> [NutritionMeal] {
        let range = span.timeRange
        return try meals(of: nutrients, from: range.from, to: range.to)
    }

    /// Returns energy and workouts of the local day that contains a date.
    @_disfavoredOverload
    public func today(at now: Date, calendar: Calendar = .current) throws -> TodaySummary {
        try today(at: try Instant(now), calendar: calendar)
    }

    /// Returns the entry of each local day, and their moving average, in a range of time in any form.
    ///
    /// - Parameters:
    ///   - type: the type of the entries.
    ///   - span: the range of time.
    ///   - calendar: its time zone determines where days begin.
    ///   - unit: the unit of the answer.
    ///   - window: the number of days of the average.
    ///   - entry: which of several entries of a day counts.
    public func weightTrend(
        of type: SampleType = .bodyMass, in span: some TimeSpan, calendar: Calendar = .current,
        unit: HealthUnit = .kilogram, window: Int = 7, entry: DayEntry = .lastModified
    ) throws -> [WeightDay] {
        let range = span.timeRange
        return try weightTrend(
            of: type, from: range.from, to: range.to, calendar: calendar, unit: unit, window: window, entry: entry)
    }

    /// Compares the period that contains a date, up to that date, with the same part of the one before; see the form
    /// with an instant.
    @_disfavoredOverload
    public func comparison(
        of type: SampleType, by unit: StatisticsInterval.Unit, until now: Date, calendar: Calendar = .current,
        sources: [SourceIdentity]? = nil
    ) throws -> PeriodComparison {
        try comparison(of: type, by: unit, until: now.boundingInstant, calendar: calendar, sources: sources)
    }
}

extension StatisticsCollection {
    /// Returns the rows of buckets in which a number met a goal, without buckets that begin at a date or later; see the
    /// form with an instant.
    @_disfavoredOverload
    public func streaks(
        of value: (Statistics) -> Double?, meeting goal: Goal, lastIsOpen: Bool = true, until now: Date
    ) -> Streaks {
        streaks(of: value, meeting: goal, lastIsOpen: lastIsOpen, until: now.boundingInstant)
    }
}
