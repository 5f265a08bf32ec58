import HealthKV
import Testing

@testable import kvinspect

@Suite("Counts of a report")
struct TypeTallyTests {
    private func instant(_ text: String) throws -> Instant { try #require(Instant(text)) }

    @Test("Days and hours are local, also where clocks change and long before 1970")
    func local() throws {
        var tally = TypeTally(try #require(Zone(name: "Europe/Berlin")))
        for time in [
            "1969-12-31T22:59:59Z", "1969-12-31T23:00:00Z", "2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z",
            "2024-10-27T23:00:00Z",
        ] { tally.add(start: try instant(time), end: try instant(time)) }
        #expect(tally.days.map(\.day) == [-1, 0, 20_023, 20_024] && tally.days.map(\.samples) == [1, 1, 2, 1])
        #expect(tally.hours[23] == 1 && tally.hours[0] == 2 && tally.hours[2] == 2)
        #expect(tally.span.samples == 5)
    }

    @Test("A day that comes back when clocks are set back at midnight is counted once")
    func midnight() throws {
        // Clocks went from 24:00 back to 23:00 of the 17th.
        var tally = TypeTally(try #require(Zone(name: "America/Sao_Paulo")))
        for time in ["2018-02-18T01:30:00Z", "2018-02-18T02:30:00Z", "2018-02-18T03:00:00Z"] {
            tally.add(start: try instant(time), end: try instant(time))
        }
        #expect(tally.days.map(\.samples) == [2, 1])
    }

    @Test("A gap lies between the end of all earlier samples and the next start, and what is damaged is none")
    func gaps() throws {
        var gaps = LongestGaps()
        let day = 86_400 * Instant.nanosecondsPerSecond
        let begin = try instant("2024-01-01T00:00:00Z")
        func add(_ from: Int64, _ to: Int64) { gaps.add(start: begin + from * day, end: begin + to * day) }
        add(0, 10)
        add(1, 2)
        add(12, 12)
        gaps.add(start: begin + 13 * day, end: .distantFuture)
        add(20, 20)
        for index in 21..<80 { add(Int64(index), Int64(index)) }
        #expect(gaps.longest(3, without: []).map { $0.nanoseconds / day } == [7, 2, 1])
        let lost = TimeRange(from: begin + 14 * day, to: begin + 15 * day)
        #expect(gaps.longest(2, without: [lost]).map { $0.nanoseconds / day } == [2, 1])
    }

    @Test("Numbers, sizes and lengths of time are short")
    func texts() {
        #expect([0, 999, 1_000, 1_234_567].map(ReportText.count) == ["0", "999", "1,000", "1,234,567"])
        #expect(
            [0, 999, 1_000, 999_949, 999_950, 4_400_000].map(ReportText.size)
                == ["0 B", "999 B", "1.0 kB", "999.9 kB", "1.0 MB", "4.4 MB"])
        #expect(ReportText.share(0.1234) == "12.3 %" && ReportText.decimal(1_234.96, 1) == "1,235.0")
        let second = Instant.nanosecondsPerSecond
        #expect(
            [59, 3_599, 7_200, 7_260, 86_400, 90_000].map { ReportText.duration($0 * second) }
                == ["59 s", "59 min", "2 h", "2 h 1 min", "1 day", "1 day 1 h"])
        #expect(ReportText.day(-1) == "1969-12-31" && ReportText.count(1, "day") == "1 day")
    }
}
