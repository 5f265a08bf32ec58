import HealthModel
import Testing

@testable import AppleHealthExport

/// Formats of times.
@Suite struct TimePatternTests {
    private static func read(_ text: String, _ format: String) throws -> WrittenTime? {
        try TimeFormat(format).read(Array(text.utf8), 0..<text.utf8.count)
    }

    /// Seconds since 1970 of a date in UTC.
    private static func seconds(_ text: String) -> Int { at(text).secondsSince1970 }

    @Test("ISO 8601 has a T or a blank, and seconds, decimals and offset if they are there")
    func iso() throws {
        let start = Self.seconds("2024-05-31T08:00:00Z")
        let texts: [(String, WrittenTime?)] = [
            ("2024-05-31T08:00:00Z", .instant(seconds: start, nanoseconds: 0)),
            ("2024-05-31 10:00:00.25+02:00", .instant(seconds: start, nanoseconds: 250_000_000)),
            ("2024-05-31 10:00:00 +0200", .instant(seconds: start, nanoseconds: 0)),
            ("2024-05-31T08:00", .local(seconds: start, nanoseconds: 0)),
            ("2024-05-31T08:00:00,123456789", .local(seconds: start, nanoseconds: 123_456_789)),
            ("2024-05-31", .day(start / 86_400)), ("4001-01-01T00:00:00Z", .unknownEnd),
            ("2023-02-29T08:00:00Z", nil), ("2024-05-31T24:00:00Z", nil), ("2024-05-31T08:00:60Z", nil),
            ("2024-05-31T08:00:00.1234567890Z", nil), ("2024-05-31T08:00:00+19:00", nil), ("31.05.2024", nil),
            ("", nil),
            ("2024-05-31T08:00:00Zx", nil),
        ]
        for (text, time) in texts { #expect(try Self.read(text, "iso8601") == time, "\(text)") }
    }

    @Test("Epochs count seconds and milliseconds in UTC, or milliseconds to a day of the row's zone")
    func epochs() throws {
        let cases: [(String, String, WrittenTime?)] = [
            ("1717142400", "epochSeconds", .instant(seconds: 1_717_142_400, nanoseconds: 0)),
            ("1717142400.5", "epochSeconds", .instant(seconds: 1_717_142_400, nanoseconds: 500_000_000)),
            ("-1", "epochMilliseconds", .instant(seconds: -1, nanoseconds: 999_000_000)),
            ("1717142400123", "epochMilliseconds", .instant(seconds: 1_717_142_400, nanoseconds: 123_000_000)),
            ("1559692800000", "localDayMilliseconds", .day(18_052)), ("1559692800001", "localDayMilliseconds", nil),
            ("12x", "epochSeconds", nil), ("1.x", "epochSeconds", nil), ("", "epochMilliseconds", nil),
        ]
        for (text, format, time) in cases { #expect(try Self.read(text, format) == time, "\(text)") }
    }

    @Test("Patterns read the parts that they name")
    func patterns() throws {
        let start = Self.seconds("2024-05-31T20:07:00Z")
        let cases: [(String, String, WrittenTime?)] = [
            ("31.05.2024 20:07", "dd.MM.yyyy HH:mm", .local(seconds: start, nanoseconds: 0)),
            ("5/31/2024, 8:07 PM", "M/d/yyyy, h:mm a", .local(seconds: start, nanoseconds: 0)),
            ("5/31/2024, 12:07 am", "M/d/yyyy, h:mm a", .local(seconds: start - 20 * 3_600, nanoseconds: 0)),
            ("31 May 2024 20h07", "d MMM yyyy HH'h'mm", .local(seconds: start, nanoseconds: 0)),
            (
                "2024-05-31T20:07:00.5+0200", "yyyy-MM-dd'T'HH:mm:ss.SSSX",
                .instant(seconds: start - 7_200, nanoseconds: 500_000_000)
            ),
            ("2024-05-31 20:07", "yyyy-MM-dd HH:mm[:ss][ Z]", .local(seconds: start, nanoseconds: 0)),
            (
                "2024-05-31 20:07:00 UTC+2", "yyyy-MM-dd HH:mm[:ss][ Z]",
                .instant(seconds: start - 7_200, nanoseconds: 0)
            ),
            ("20240531", "yyyyMMdd", .day(start / 86_400)), ("2024-05-31", "yyyy-MM-dd[ HH:mm]", .day(start / 86_400)),
            ("31.5.24", "d.M.yyyy", nil), ("2024-05-31 25:00", "yyyy-MM-dd HH:mm", nil),
            ("2024-13-01", "yyyy-MM-dd", nil),
            ("5/31/2024, 13:07 PM", "M/d/yyyy, h:mm a", nil), ("2024-05-31 ", "yyyy-MM-dd", nil),
        ]
        for (text, format, time) in cases { #expect(try Self.read(text, format) == time, "\(text) as \(format)") }
    }

    @Test(
        "A text that is no pattern says why",
        arguments: [
            "yy-MM-dd", "yyyy-MM", "yyyy-MM-dd hh:mm", "yyyy-MM-dd HH:mm a", "yyyy-MM-dd'T", "yyyy[-MM[-dd]]",
            "yyyy-MM-dd]",
            "yyyy-MM-dd[", "epochSecond", "", "[yyyy-MM-dd]", "YYYY-MM-dd",
        ])
    func mistakes(_ text: String) {
        #expect(throws: TimePattern.Mistake.self) { _ = try TimeFormat(text) }
    }

    @Test("Only a pattern that may lack an offset needs a zone")
    func locality() throws {
        #expect(try TimeFormat("yyyy-MM-dd HH:mm").isLocal && TimeFormat("yyyy-MM-dd[X]").isLocal)
        #expect(try !TimeFormat("yyyy-MM-dd HH:mmX").isLocal && !TimeFormat("iso8601").isLocal)
        #expect(try TimeFormat("localDayMilliseconds").isLocal && !TimeFormat("epochSeconds").isLocal)
    }
}
