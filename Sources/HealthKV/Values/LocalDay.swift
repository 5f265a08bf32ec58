#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// A day of a time zone, by its number since 2001-01-01.
struct LocalDay {
    let number: Int
    let zone: TimeZone

    init(_ number: Int, in zone: TimeZone) {
        self.number = number
        self.zone = zone
    }

    /// Creates the day that contains an instant.
    init(of instant: Instant, in zone: TimeZone) {
        self.init(ZoneOffsets(zone, from: instant.second, to: instant.second).day(at: instant.second), in: zone)
    }

    /// The days on which a sample may lie in any zone: from 1709-12-31 to 2290-01-01.
    static let numbers = CivilTime.day(year: 1709, month: 12, day: 31)...CivilTime.day(year: 2290, month: 1, day: 1)

    /// Returns the number of a day `YYYY-MM-DD` on which a sample may lie.
    static func number(_ text: String, field: String) throws(ModelError) -> Int {
        guard let day = CivilTime.day(text) else { throw .malformedDay(field: field) }
        guard numbers.contains(day) else { throw ModelError.instantOutOfRange }
        return day
    }

    /// The range from the first instant of the day to that of the next day; `nil` for a day that the clocks skipped,
    /// and for a day outside the representable instants.
    var bounds: (from: Instant, to: Instant)? {
        let offsets = ZoneOffsets(
            zone, from: Int64(number - 2) * CivilTime.secondsPerDay, to: Int64(number + 3) * CivilTime.secondsPerDay)
        func start(_ day: Int) -> Instant? {
            var index = 0
            let local = Int64(day) * CivilTime.secondsPerDay
            while index + 1 < offsets.count, local - offsets.offsets[index] >= offsets.end(index) { index += 1 }
            let second = max(offsets.starts[index], local - offsets.offsets[index])
            let (whole, isBeyond) = second.multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
            return isBeyond ? nil : Instant(nanoseconds: whole)
        }
        guard let from = start(number), let to = start(number + 1), from < to else { return nil }
        return (from, to)
    }

    var text: String { CivilTime.text(number) }

    /// Returns the first midnight of 2001, from which intervals of several hours or minutes tile.
    static func firstOf2001(in zone: TimeZone) -> Instant {
        LocalDay(0, in: zone).bounds?.from ?? Instant(nanoseconds: 0)
    }
}

/// Local days as texts, `YYYY-MM-DD`.
package enum LocalDays {
    /// Returns the days from one instant to another, at most `limit` of them, earliest first; none for an unknown zone.
    package static func names(from: Instant, to: Instant, zone: String, limit: Int) -> [String] {
        guard let zone = TimeZone(identifier: zone), from <= to else { return [] }
        let (first, last) = (LocalDay(of: from, in: zone).number, LocalDay(of: to, in: zone).number)
        return (first...max(first, last)).prefix(limit).map { LocalDay($0, in: zone).text }
    }

    /// Returns the range of a local day; `nil` if it has none.
    package static func range(of day: String, zone: String) -> TimeRange? {
        guard let zone = TimeZone(identifier: zone), let number = CivilTime.day(day) else { return nil }
        return LocalDay(number, in: zone).bounds.map { TimeRange(from: $0.from, to: $0.to) }
    }

    /// Returns `true` if a local day is over.
    package static func isOver(_ day: String, zone: String, at now: Instant) -> Bool {
        guard let zone = TimeZone(identifier: zone), let number = CivilTime.day(day) else { return false }
        return LocalDay(of: now, in: zone).number > number
    }
}
