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
        let now = min(max(now, .earliest), .latest)
        let interval = StatisticsInterval.every(1, unit)
        func start(of instant: Instant) -> Instant {
            let borders = BucketBorders(interval, anchor: nil, calendar: calendar, from: instant, to: instant + 1)
            return borders?.instants.first.map { Instant(nanoseconds: $0) } ?? instant
        }
        let later = start(of: now)
        let earlier = start(of: later - 1)
        let end = min(later, sameTime(as: now, after: later, behind: earlier, zone: calendar.timeZone))
        return PeriodComparison(
            earlier: try statistics(of: type, from: earlier, to: end, sources: sources),
            later: try statistics(of: type, from: later, to: now, sources: sources))
    }

    /// Returns when the local clock, from `start` on, has first got as far as it got from `other` to `now`. So a change
    /// of the clocks does not move it, and the end of a skipped hour stands for the times in it.
    private func sameTime(as now: Instant, after other: Instant, behind start: Instant, zone: TimeZone) -> Instant {
        let offsets = ZoneOffsets(zone, from: min(start, other).second - 86_400, to: now.second + 86_400)
        func local(_ instant: Instant) -> Int64 {
            instant.nanoseconds + offsets.offset(at: instant.second) * Instant.nanosecondsPerSecond
        }
        let target = local(start) + (local(now) - local(other))
        let wanted = target.dividedDown(by: Instant.nanosecondsPerSecond)
        // A clock that is set back shows a time twice: `start` may be the second one.
        var cursor = LocalCursor(offsets, from: start.second)
        let second = cursor.first(wanted)
        // A clock that skips the time never shows a part of its second.
        let isShown = second + offsets.offset(at: second) == wanted
        let fraction = isShown ? target - wanted * Instant.nanosecondsPerSecond : 0
        return Instant(nanoseconds: second * Instant.nanosecondsPerSecond + fraction)
    }
}
