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
    ///   - filter: only samples that match.
    public func statistics(
        _ type: SampleType, by interval: StatisticsInterval, in span: some TimeSpan, calendar: Calendar = .current,
        sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil, fillsEmptyBuckets: Bool = false,
        where filter: SampleFilter? = nil
    ) throws -> StatisticsCollection {
        let range = span.timeRange
        return try statistics(
            StatisticsQuery(
                type, by: interval, from: range.from, to: range.to, calendar: calendar, sources: sources, unit: unit,
                fillsEmptyBuckets: fillsEmptyBuckets, where: filter))
    }

    /// Returns the statistics of one range of time in any form.
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - span: the range of time.
    ///   - sources: only these sources; `nil` for all.
    ///   - unit: the unit of the answer; `nil` for the canonical one.
    public func statistics(
        of type: SampleType, in span: some TimeSpan, sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil
    ) throws -> Statistics {
        let range = span.timeRange
        return try statistics(of: type, from: range.from, to: range.to, sources: sources, unit: unit)
    }
}
