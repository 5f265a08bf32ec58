#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// The days of a person who travels: each begins at midnight where the person is.
///
/// ```swift
/// let steps = try store.read { txn in
///     let days = try txn.travelDays(of: .stepCount, fallback: .gmt)
///     return try txn.statistics(StatisticsQuery(.stepCount, borders: days.borders(from: a, to: b)))
/// }
/// print(steps.streaks(of: \.sum, meeting: .atLeast(8_000)).longest?.count ?? 0)
/// ```
///
/// A day ends when the local date becomes later than it was at any time before. So a flight to the west makes a day
/// longer, up to 49 hours, and one to the east makes it shorter; no date comes twice, and none is shared by two days.
public struct TravelDays: Sendable, Hashable {
    /// A stay in one time zone, until the next one begins.
    public struct Stay: Sendable, Hashable {
        /// When the stay begins.
        public let from: Instant
        /// The time zone of the place.
        public let zone: TimeZone

        /// Creates a stay.
        public init(from: Instant, zone: TimeZone) {
            self.from = from
            self.zone = zone
        }
    }

    /// The stays, in the order of time. The first one holds from the beginning of time.
    public let stays: [Stay]

    /// Creates the days of some stays.
    public init(_ stays: [Stay]) {
        self.stays = stays.sorted { $0.from < $1.from }
    }

    /// Returns the borders of the days that share an instant with `from..<to`, ascending. Empty for an empty range and
    /// without stays.
    public func borders(from: Instant, to: Instant) -> [Instant] {
        let (from, to) = (max(from, .earliest), min(to, .latest))
        guard from < to, !stays.isEmpty else { return [] }
        // The day that contains `from` began at most three days earlier, however long the journeys were.
        var now = max(.earliest, from - 4 * 86_400 * Instant.nanosecondsPerSecond)
        var stay = max(0, stays.indices.firstIndex(notPreceding: { stays[$0].from <= now }) - 1)
        var date = LocalDay(of: now, in: stays[stay].zone).number
        var borders: [Instant] = []
        // Up to the end of the day that `to` is in, wherever that is.
        while borders.last.map({ $0 < to }) ?? true {
            let end = stay + 1 < stays.count ? stays[stay + 1].from : .distantFuture
            let next = start(after: date, in: stays[stay].zone)
            if let next, next.instant < end {
                now = max(now, next.instant)
                date = next.date
                borders.append(now)
            } else if end < .distantFuture {
                now = max(now, end)
                stay += 1
                let other = LocalDay(of: now, in: stays[stay].zone).number
                if other > date {
                    date = other
                    borders.append(now)
                }
            } else {
                break
            }
        }
        let first = max(0, borders.indices.firstIndex(notPreceding: { borders[$0] <= from }) - 1)
        let last = borders.indices.firstIndex(notPreceding: { borders[$0] < to })
        return first < borders.count ? Array(borders[first...min(last, borders.count - 1)]) : []
    }

    /// Returns the first instant of the first day after a date that the clocks of a zone did not skip.
    private func start(after date: Int, in zone: TimeZone) -> (instant: Instant, date: Int)? {
        for next in date + 1...date + 3 {
            if let bounds = LocalDay(next, in: zone).bounds { return (bounds.from, next) }
        }
        return nil
    }
}

extension StatisticsQuery {
    /// Creates a query with buckets between given borders, which must ascend. Samples before the first and after the
    /// last border do not count.
    public init(
        _ type: SampleType, borders: [Instant], sources: [SourceIdentity]? = nil, unit: HealthUnit? = nil,
        fillsEmptyBuckets: Bool = false, options: (any StatisticsOptions)? = nil, where filter: SampleFilter? = nil
    ) {
        self.init(
            type, by: nil, from: borders.first ?? .distantPast, to: borders.last ?? .distantPast, sources: sources,
            unit: unit, fillsEmptyBuckets: fillsEmptyBuckets, options: options, where: filter)
        self.borders = borders
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the days of the zones in which samples of a type were taken, as their `timeZone` says. A stay begins
    /// with its first sample. Samples without a zone, or with one that the system does not know, say nothing.
    public func travelDays(of type: SampleType, fallback: TimeZone) throws -> TravelDays {
        var stays: [TravelDays.Stay] = []
        try forEachSample(of: type) { sample in
            guard let name = sample.timeZone, name != stays.last?.zone.identifier,
                let zone = TimeZone(identifier: name)
            else { return true }
            stays.append(TravelDays.Stay(from: sample.start, zone: zone))
            return true
        }
        return TravelDays(stays.isEmpty ? [TravelDays.Stay(from: .distantPast, zone: fallback)] : stays)
    }
}
