import Testing
import TestSupport

@testable import HealthModel

/// Instants: nanoseconds since 2001, errors outside 1710 to 2290, saturation only where a query asks for it.
@Suite struct InstantTests {
    /// The days from 2001-01-01 to January 1 of a year, by the rule of leap years.
    private func days(to year: Int) -> Int64 {
        func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
        let years = year < 2001 ? year..<2001 : 2001..<year
        let days = years.reduce(Int64(0)) { $0 + (isLeap($1) ? 366 : 365) }
        return year < 2001 ? -days : days
    }

    @Test("The limits are January 1 of 1710 and of 2290")
    func limits() {
        let day: Int64 = 86_400_000_000_000
        #expect(Instant.earliest.nanoseconds == days(to: 1710) * day)
        #expect(Instant.latest.nanoseconds == days(to: 2290) * day)
        #expect(Instant.secondsFrom1970To2001 == -days(to: 1970) * 86_400)
        #expect(Instant.earliest.isRepresentable)
        #expect(!(Instant.earliest - 1).isRepresentable)
        #expect((Instant.latest - 1).isRepresentable)
        #expect(!Instant.latest.isRepresentable)
        #expect(!Instant.distantFuture.isRepresentable && !Instant.distantPast.isRepresentable)
    }

    @Test("Seconds outside the limits and NaN are errors and are never clamped")
    func outOfRange() throws {
        let seconds = [-9_183_110_400.1, 9_119_952_000, 9_119_952_000.1, 1e300, -1e300, .infinity, -.infinity, .nan]
        for value in seconds {
            #expect(throws: ModelError.instantOutOfRange) { try Instant(secondsSinceReference: value) }
        }
        #expect(try Instant(secondsSinceReference: -9_183_110_400) == .earliest)
        #expect(try Instant(secondsSinceReference: 9_119_951_999).isRepresentable)
    }

    @Test("Fractions of a nanosecond round to the nearest")
    func rounding() throws {
        #expect(try Instant(secondsSinceReference: 0.000_000_001_4).nanoseconds == 1)
        #expect(try Instant(secondsSinceReference: 0.000_000_001_6).nanoseconds == 2)
        #expect(try Instant(secondsSinceReference: -0.000_000_001_6).nanoseconds == -2)
        #expect(try Instant(secondsSinceReference: 1.5).nanoseconds == 1_500_000_000)
        #expect(try Instant(secondsSinceReference: -0.0).nanoseconds == 0)
    }

    @Test("Seconds of today are exact to about a hundred nanoseconds")
    func precision() throws {
        for nanoseconds: Int64 in [800_000_000_123_456_789, -800_000_000_123_456_789, 1, 0] {
            let instant = Instant(nanoseconds: nanoseconds)
            let back = try Instant(secondsSinceReference: instant.secondsSinceReference)
            #expect(abs(back.nanoseconds - nanoseconds) <= 120)
        }
    }

    @Test("Fractions of a second are rounded once, so that even present dates get the nearest nanosecond")
    func nearestToday() throws {
        // 7 · 2^-23 s are 834.46 ns; the double nearest to the product with 10^9 ends in 896.
        let part = 7 * 0x1p-23
        #expect(try Instant(secondsSinceReference: 700_000_000 + part).nanoseconds == 700_000_000_000_000_834)
        #expect(try Instant(secondsSinceReference: -700_000_000 - part).nanoseconds == -700_000_000_000_000_834)
        #expect(try Instant(secondsSinceReference: 1.0.nextDown).nanoseconds == 1_000_000_000)
        #expect(try Instant(secondsSinceReference: (-1.0).nextUp).nanoseconds == -1_000_000_000)
        #expect(Instant(nanoseconds: -1_500_000_000).secondsSinceReference == -1.5)
    }

    @Test("Seconds of our time convert to an instant and back unchanged, before 2001 and after")
    func thereAndBack() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<10_000 {
            let seconds = Double.random(in: 500_000_000..<1_000_000_000, using: &random) * (random.chance(0.5) ? 1 : -1)
            let instant = try Instant(secondsSinceReference: seconds)
            #expect(instant.secondsSinceReference == seconds, "seed \(seed)")
            #expect(instant.nanoseconds / 1_000_000_000 == Int64(seconds.rounded(.towardZero)), "seed \(seed)")
        }
    }

    @Test("Bounds of queries saturate at both ends")
    func saturation() {
        #expect(Instant.distantFuture + 1 == .distantFuture)
        #expect(Instant.distantPast - 1 == .distantPast)
        #expect(Instant.distantPast + (-1) == .distantPast)
        #expect(Instant.distantFuture - (-1) == .distantFuture)
        #expect(Instant.distantPast + .max < Instant(nanoseconds: 0))
        #expect(Instant(nanoseconds: 0) - .min == .distantFuture)
        #expect(Instant(nanoseconds: 5) + 7 == Instant(nanoseconds: 12))
        #expect(Instant(nanoseconds: 5) - 7 == Instant(nanoseconds: -2))
    }
}

/// Selecting samples by a range of time (SEMANTICS A18).
@Suite struct TimeRangeTests {
    private func instant(_ nanoseconds: Int64) -> Instant { Instant(nanoseconds: nanoseconds) }

    @Test("Overlap, strict start and strict end agree with a check of every instant that a sample covers")
    func rules() {
        for from in -1...4 {
            for to in -1...4 {
                for start in 0...3 {
                    for end in start...3 {
                        // An interval covers its start and the instants before its end; a point covers itself.
                        let covered = start == end ? [start] : Array(start..<end)
                        let range = TimeRange(from: instant(Int64(from)), to: instant(Int64(to)))
                        func picks(_ rule: RangeRule) -> Bool {
                            range.picks(start: instant(Int64(start)), end: instant(Int64(end)), by: rule)
                        }
                        #expect(picks(.overlap) == covered.contains { $0 >= from && $0 < to })
                        #expect(picks(.strictStart) == (start >= from && start < to))
                        #expect(picks(.strictEnd) == (from < to && end >= from && end < to))
                    }
                }
            }
        }
    }

    @Test("A sample with an unknown end overlaps every later range, and ends in none")
    func openEnd() {
        let later = TimeRange(from: instant(1_000))
        #expect(later.picks(start: instant(0), end: .distantFuture, by: .overlap))
        #expect(!TimeRange.all.picks(start: instant(0), end: .distantFuture, by: .strictEnd))
        #expect(TimeRange.all.picks(start: instant(0), end: .distantFuture, by: .strictStart))
        #expect(TimeRange(from: instant(2), to: instant(2)).isEmpty)
        #expect(TimeRange(from: instant(3), to: instant(2)).isEmpty)
        #expect(!TimeRange.all.isEmpty)
    }

    @Test("Durations are added in whole nanoseconds, and saturate")
    func durations() {
        let noon = Instant(nanoseconds: 43_200_000_000_000)
        #expect((noon + .seconds(90)).nanoseconds == 43_290_000_000_000)
        #expect((noon - .milliseconds(1_500)).nanoseconds == 43_198_500_000_000)
        #expect((noon + .nanoseconds(-7)) - noon == .nanoseconds(-7))
        var time = noon
        time += .seconds(2)
        time -= .seconds(5)
        #expect(time - noon == .seconds(-3))
        #expect(noon.advanced(by: Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999)) == noon + 1)
        #expect(Instant.distantPast.duration(to: .distantFuture) == .nanoseconds(Int64.max) - .nanoseconds(Int64.min))
        #expect(noon + .seconds(Int64.max) == .distantFuture && noon - .seconds(Int64.max) == .distantPast)
        #expect(noon + .seconds(9_223_372_036) == .distantFuture)
    }
}
