import HealthKV
import Testing

@testable import kvinspect

@Suite("Dates")
struct DateTextTests {
    private func seconds(_ text: String, in zone: Zone = .utc) -> Double? {
        DateText.instant(text, in: zone).map { Double($0.nanoseconds / 1_000_000_000) }
    }

    @Test("A date is parsed with a zone, without one, and without a time")
    func forms() throws {
        let kathmandu = try #require(Zone(name: "Asia/Kathmandu"))
        #expect(seconds("2001-01-01T00:00:00Z") == 0)
        #expect(seconds("2001-01-01") == 0)
        #expect(seconds("2001-01-01T00:00") == 0)
        #expect(seconds("2001-01-01 05:45:00 +0545") == 0)
        #expect(seconds("2001-01-01T05:45:00+05:45") == 0)
        #expect(seconds("2000-12-31T16:00:00-08") == 0)
        #expect(seconds("2001-01-01", in: kathmandu) == -20_700)
        #expect(seconds("2001-01-01T05:45", in: kathmandu) == 0)
        #expect(seconds("2024-02-29T12:00:00Z") == 730_900_800)
    }

    @Test("Nine decimals are kept, and further ones are rounded")
    func decimals() {
        #expect(DateText.instant("2001-01-01T00:00:00.123456789Z", in: .utc)?.nanoseconds == 123_456_789)
        #expect(DateText.instant("2001-01-01T00:00:00.5Z", in: .utc)?.nanoseconds == 500_000_000)
        #expect(DateText.instant("2001-01-01T00:00:00.1234567894Z", in: .utc)?.nanoseconds == 123_456_789)
        #expect(DateText.instant("2001-01-01T00:00:00.9999999999Z", in: .utc)?.nanoseconds == 1_000_000_000)
        #expect(DateText.instant("2000-12-31T23:59:59.75Z", in: .utc)?.nanoseconds == -250_000_000)
    }

    @Test(
        "A text that is not a date is refused",
        arguments: [
            "", "2024", "2024-05", "2024-13-01", "2024-00-01", "2023-02-29", "1900-02-29", "2024-04-31", "2024-05-31T",
            "2024-05-31T24:00", "2024-05-31T08", "2024-05-31T08:60", "2024-05-31T08:00:60", "2024-05-31T08:00:00.Z",
            "2024-05-31T08:00:00+", "2024-05-31T08:00:00+5", "2024-05-31T08:00Zx", "2024-05-31Z", "24-05-31",
            "x024-05-31",
            "2024-05-31T08:00:00+24:00", "1709-12-31", "2290-01-01", "9999-12-31", "２０２４-05-31",
        ])
    func refused(_ text: String) {
        #expect(DateText.instant(text, in: .utc) == nil)
    }

    @Test("Bounds beyond the years of samples saturate")
    func bounds() {
        #expect(DateText.bound("0001-01-01", in: .utc) == .distantPast)
        #expect(DateText.bound("4001-01-01T00:00:00Z", in: .utc) == .distantFuture)
        #expect(DateText.bound("2001-01-01", in: .utc)?.nanoseconds == 0)
        #expect(DateText.bound("2001-02-30", in: .utc) == nil)
    }

    @Test("An ambiguous local time is the earlier one; a skipped local time moves past the change")
    func clockChanges() throws {
        let berlin = try #require(Zone(name: "Europe/Berlin"))
        #expect(text("2024-03-31T02:30", in: berlin) == "2024-03-31T03:30:00+02:00")
        #expect(text("2024-10-27T02:30", in: berlin) == "2024-10-27T02:30:00+02:00")
        #expect(text("2024-10-27T03:00", in: berlin) == "2024-10-27T03:00:00+01:00")
        // This day begins at one o'clock, because midnight is skipped.
        let beirut = try #require(Zone(name: "Asia/Beirut"))
        #expect(text("2022-03-27", in: beirut) == "2022-03-27T01:00:00+03:00")
    }

    private func text(_ text: String, in zone: Zone) -> String? {
        DateText.instant(text, in: zone).map { DateText.text($0, in: zone) }
    }

    @Test("A printed date parses to the same nanosecond, in any zone")
    func roundTrip() throws {
        var seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        let zones = try ["UTC", "Asia/Kathmandu", "America/New_York", "-03:30", "Australia/Lord_Howe"].map {
            try #require(Zone(name: $0))
        }
        for round in 0..<20_000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let instant = Instant(nanoseconds: Int64(bitPattern: seed))
            guard instant.isRepresentable else { continue }
            let text = DateText.text(instant, in: zones[round % zones.count])
            #expect(DateText.instant(text, in: .utc) == instant, "\(text)")
        }
    }

    @Test("The distance of a zone from UTC is limited to that of calendars")
    func farZones() throws {
        for name in ["+14:00", "-12:00", "+18:00", "-18:00"] {
            let zone = try #require(Zone(name: name))
            #expect(zone.timeZone.secondsFromGMT() == zone.offset(at: 0))
        }
        for name in ["+18:01", "-18:01", "+20:00", "-23:59"] { #expect(Zone(name: name) == nil, "\(name)") }
    }

    @Test("The ends of the range and the open end are printed as special texts")
    func ends() {
        #expect(DateText.text(.earliest, in: .utc) == "1710-01-01T00:00:00Z")
        #expect(DateText.text(.latest, in: .utc) == "2290-01-01T00:00:00Z")
        #expect(DateText.text(.distantFuture, in: .utc) == DateText.openEnd)
        #expect(DateText.text(Instant(nanoseconds: -1), in: .utc) == "2000-12-31T23:59:59.999999999Z")
    }
}
