import HealthKV

/// Local time of many instants that follow each other: a zone is asked once for each quarter of an hour.
struct LocalClock {
    private static let quarter = 900

    private let zone: Zone
    private var asked = Int.min
    private var offset = 0

    init(_ zone: Zone) { self.zone = zone }

    /// Returns the day since 1970 and the hour that clocks show at an instant.
    mutating func place(of instant: Instant) -> (day: Int, hour: Int) {
        let seconds = LocalClock.seconds(instant)
        let quarter = LocalClock.floor(seconds, LocalClock.quarter)
        if quarter != asked { (asked, offset) = (quarter, zone.offset(at: seconds)) }
        let local = seconds + offset
        let day = LocalClock.floor(local, 86_400)
        return (day, (local - day * 86_400) / 3_600)
    }

    /// Whole seconds since 1970, rounded down.
    private static func seconds(_ instant: Instant) -> Int {
        floor(Int(instant.nanoseconds), Int(Instant.nanosecondsPerSecond)) + Int(Instant.secondsFrom1970To2001)
    }

    private static func floor(_ number: Int, _ unit: Int) -> Int {
        let quotient = number / unit
        return quotient * unit > number ? quotient - 1 : quotient
    }
}
