#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// Statistics of two periods, side by side.
public struct PeriodComparison: Sendable, Hashable {
    /// The statistics of the earlier period.
    public let earlier: Statistics
    /// The statistics of the later period.
    public let later: Statistics

    /// Returns how much greater a number of the later period is; `nil` if either period has no data.
    public func change(of value: (Statistics) -> Double?) -> Double? {
        guard earlier.hasData, later.hasData, let before = value(earlier), let now = value(later) else { return nil }
        return now - before
    }

    /// Returns a number of the later period divided by that of the earlier one; `nil` if either has no data, or if the
    /// earlier number is zero.
    public func ratio(of value: (Statistics) -> Double?) -> Double? {
        guard earlier.hasData, later.hasData, let before = value(earlier), let now = value(later), before != 0 else {
            return nil
        }
        return now / before
    }
}

extension SampleReading where Self: ~Copyable {
    /// Compares two ranges of time in any form.
    ///
    /// ```swift
    /// let change = try store.read { try $0.comparison(of: .stepCount, a..<b, with: b...) }
    /// print(change.ratio(of: \.sum) ?? 1)
    /// ```
    public func comparison(
        of type: SampleType, _ earlier: some TimeSpan, with later: some TimeSpan, sources: [SourceIdentity]? = nil,
        unit: HealthUnit? = nil
    ) throws -> PeriodComparison {
        PeriodComparison(
            earlier: try statistics(of: type, in: earlier, sources: sources, unit: unit),
            later: try statistics(of: type, in: later, sources: sources, unit: unit))
    }

    /// Compares the day, week, month, quarter or year that contains an instant, up to that instant, with the same part
    /// of the one before: this week until now with last week until the same time of the same day.
    ///
    /// ```swift
    /// let week = try store.read { try $0.comparison(of: .stepCount, by: .week, until: now, calendar: calendar) }
    /// print(week.change(of: \.sum) ?? 0)
    /// ```
    ///
    /// The part of the earlier period ends with that period if it is shorter, such as February.
    public func comparison(
        of type: SampleType, by unit: StatisticsInterval.Unit, until now: Instant, calendar: Calendar = .current,
        sources: [SourceIdentity]? = nil
    ) throws -> PeriodComparison {
        let interval = StatisticsInterval.every(1, unit)
        func start(of instant: Instant) -> Instant {
            let borders = BucketBorders(interval, anchor: nil, calendar: calendar, from: instant, to: instant + 1)
            return borders?.instants.first.map { Instant(nanoseconds: $0) } ?? instant
        }
        let later = start(of: now)
        let earlier = start(of: later - 1)
        // The distance of local times, so that a change of the clocks between does not move the end.
        let end = min(later, earlier + localDistance(from: later, to: now, zone: calendar.timeZone, at: earlier))
        return PeriodComparison(
            earlier: try statistics(of: type, from: earlier, to: end, sources: sources),
            later: try statistics(of: type, from: later, to: now, sources: sources))
    }

    /// Returns the time from `start` that the local clock needs to get as far as from `from` to `to`.
    private func localDistance(from: Instant, to: Instant, zone: TimeZone, at start: Instant) -> Int64 {
        let offsets = ZoneOffsets(zone, from: min(start, from).second - 86_400, to: to.second + 86_400)
        func offset(_ instant: Instant) -> Int64 { offsets.offset(at: instant.second) * Instant.nanosecondsPerSecond }
        let local = to.nanoseconds - from.nanoseconds + offset(to) - offset(from)
        // The end lies in the offset that is in effect there.
        let guess = start + local
        return local - (offset(guess) - offset(start))
    }
}
