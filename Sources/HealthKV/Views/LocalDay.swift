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

    /// The day that an instant belongs to.
    init(of instant: Instant, in zone: TimeZone) {
        self.init(ZoneOffsets(zone, from: instant.second, to: instant.second).day(at: instant.second), in: zone)
    }

    /// From its first instant to that of the next day; `nil` for a day that clocks skipped.
    var bounds: (from: Instant, to: Instant)? {
        let offsets = ZoneOffsets(
            zone, from: Int64(number - 2) * CivilTime.secondsPerDay, to: Int64(number + 3) * CivilTime.secondsPerDay)
        func start(_ day: Int) -> Instant {
            var index = 0
            let local = Int64(day) * CivilTime.secondsPerDay
            while index + 1 < offsets.count, local - offsets.offsets[index] >= offsets.end(index) { index += 1 }
            let second = max(offsets.starts[index], local - offsets.offsets[index])
            return Instant(nanoseconds: second * Instant.nanosecondsPerSecond)
        }
        let (from, to) = (start(number), start(number + 1))
        return from < to ? (from, to) : nil
    }

    var text: String { CivilTime.text(number) }
}

/// Local days as their names, `YYYY-MM-DD`.
package enum LocalDays {
    /// The days from one instant to another, at most `limit` of them, the earliest first; none in a zone that nobody knows.
    package static func names(from: Instant, to: Instant, zone: String, limit: Int) -> [String] {
        guard let zone = TimeZone(identifier: zone), from <= to else { return [] }
        let (first, last) = (LocalDay(of: from, in: zone).number, LocalDay(of: to, in: zone).number)
        return (first...max(first, last)).prefix(limit).map { LocalDay($0, in: zone).text }
    }

    /// Whether a local day is over.
    package static func isOver(_ day: String, zone: String, at now: Instant) -> Bool {
        guard let zone = TimeZone(identifier: zone), let number = CivilTime.day(day) else { return false }
        return LocalDay(of: now, in: zone).number > number
    }
}
