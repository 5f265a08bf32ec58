import HealthModel
import Testing

@testable import AppleHealthExport

/// Times on clocks that are set forward and back.
@Suite struct LocalTimeTests {
    private static func read(_ times: [String], zone: String) throws -> MappedText {
        let rows = times.map { "\($0),70\n" }.joined()
        return try MappedText(
            MappedText.weights(format: "yyyy-MM-dd HH:mm:ss", zone: zone), "time,kg\n" + rows)
    }

    @Test("In Berlin, a time that the clocks showed twice, or never, is quarantined, and those beside it are not")
    func berlin() throws {
        let read = try Self.read(
            [
                "2024-10-27 01:59:59", "2024-10-27 02:00:00", "2024-10-27 02:59:59", "2024-10-27 03:00:00",
                "2024-03-31 01:59:59", "2024-03-31 02:00:00", "2024-03-31 02:30:00", "2024-03-31 03:00:00",
                "2024-07-01 12:00:00", "2024-01-01 12:00:00",
            ], zone: "Europe/Berlin")
        #expect(
            read.records.map(\.start) == [
                at("2024-10-26T23:59:59Z"), at("2024-10-27T02:00:00Z"), at("2024-03-31T00:59:59Z"),
                at("2024-03-31T01:00:00Z"), at("2024-07-01T10:00:00Z"), at("2024-01-01T11:00:00Z"),
            ])
        #expect(read.quarantined.map(\.line) == [3, 4, 7, 8])
        #expect(read.quarantined[0].reason.contains("twice") && read.quarantined[2].reason.contains("skipped"))
        #expect(read.records.allSatisfy { $0.timeZone == "Europe/Berlin" })
    }

    @Test("On Lord Howe Island, where the clocks move half an hour, half an hour is ambiguous")
    func lordHowe() throws {
        let read = try Self.read(
            [
                "2024-04-07 01:29:59", "2024-04-07 01:30:00", "2024-04-07 01:59:59", "2024-04-07 02:00:00",
                "2024-10-06 01:59:59", "2024-10-06 02:00:00", "2024-10-06 02:29:59", "2024-10-06 02:30:00",
            ], zone: "Australia/Lord_Howe")
        #expect(
            read.records.map(\.start) == [
                at("2024-04-06T14:29:59Z"), at("2024-04-06T15:30:00Z"), at("2024-10-05T15:29:59Z"),
                at("2024-10-05T15:30:00Z"),
            ])
        #expect(read.quarantined.map(\.line) == [3, 4, 7, 8])
    }

    @Test("An offset in the time decides an ambiguous time")
    func offsetInTime() throws {
        let map = try MappedText.weights(format: "yyyy-MM-dd HH:mm:ss[X]", zone: "Europe/Berlin")
        let read = try MappedText(
            map, "time,kg\n2024-10-27 02:30:00+02:00,70\n2024-10-27 02:30:00+01:00,70\n2024-10-27 02:30:00,70\n")
        #expect(read.records.map(\.start) == [at("2024-10-27T00:30:00Z"), at("2024-10-27T01:30:00Z")])
        #expect(read.quarantined.count == 1)
    }

    @Test("A column has offsets in several forms, or names of zones, and becomes the zone of the sample")
    func columns() throws {
        let map = try MappedText.map(
            #"""
            {"start": {"column": "time", "format": "yyyy-MM-dd HH:mm"}, "source": "Scale",
             "zone": {"column": "zone", "unit": "seconds", "otherwise": "Asia/Kathmandu"},
             "samples": [{"type": "bodyMass", "value": {"column": "kg"}, "unit": "kg"}]}
            """#)
        let zones: [(String, String, String?)] = [
            ("UTC+0200", "10:30", "GMT+0200"), ("+02:00", "10:30", "GMT+0200"), ("7200", "10:30", "GMT+0200"),
            ("-12600", "16:00", "GMT-0330"), ("Z", "12:30", "GMT"), ("UTC", "12:30", "GMT"),
            ("America/New_York", "16:30", "America/New_York"), ("", "06:45", "Asia/Kathmandu"),
            ("7201", "10:29:59", nil),
        ]
        let rows = zones.map { "2024-10-27 12:30,70,\($0.0)\n" }.joined()
        let read = try MappedText(map, "time,kg,zone\n" + rows + "2024-10-27 12:30,70,Mars/Olympus\n")
        for (record, (name, time, zone)) in zip(read.records, zones) {
            let expected = time.utf8.count == 5 ? "2024-10-27T\(time):00Z" : "2024-10-27T\(time)Z"
            #expect(record.start == at(expected) && record.timeZone == zone, "\(name)")
        }
        #expect(read.records.count == zones.count)
        #expect(read.quarantined.map(\.reason) == [#"column "zone": is not a time zone"#])
    }

    @Test("A time without an offset is quarantined where no zone is given")
    func noZone() throws {
        let read = try MappedText(
            MappedText.weights(zone: nil), "time,kg\n2024-10-27T12:30:00Z,70\n2024-10-27T12:30:00,70\n2024-10-27,70\n")
        #expect(read.records.map(\.start) == [at("2024-10-27T12:30:00Z")])
        #expect(read.records[0].timeZone == nil && read.quarantined.count == 2)
    }

    @Test("A day begins with its first instant, also where midnight is skipped, and may be skipped itself")
    func days() throws {
        let map = try MappedText.weights(
            #""end": {"duration": "localDay"}"#, format: "yyyy-MM-dd", zone: "America/Sao_Paulo")
        // The clocks went from 0:00 to 1:00 on 4 November 2018.
        let read = try MappedText(map, "time,kg\n2018-11-03,70\n2018-11-04,70\n2018-11-05,70\n")
        #expect(
            read.records.map(\.start) == [
                at("2018-11-03T03:00:00Z"), at("2018-11-04T03:00:00Z"), at("2018-11-05T02:00:00Z"),
            ])
        #expect(
            read.records.map(\.end) == [
                at("2018-11-04T03:00:00Z"), at("2018-11-05T02:00:00Z"), at("2018-11-06T02:00:00Z"),
            ])
        var samoa = map
        try samoa.setZone("Pacific/Apia")
        let skipped = try MappedText(samoa, "time,kg\n2011-12-29,70\n2011-12-30,70\n2011-12-31,70\n")
        #expect(skipped.records.map(\.start) == [at("2011-12-29T10:00:00Z"), at("2011-12-30T10:00:00Z")])
        #expect(skipped.records[0].end == skipped.records[1].start && skipped.quarantined.map(\.line) == [3])
    }

    @Test("A shipped map of local times needs a zone, which a name or an offset gives")
    func setZone() throws {
        var map = try #require(ImportMap.shipped("withings-weight"))
        #expect(map.needsZone)
        #expect(throws: ImportMapError.self) { _ = try MappedFile(map: map) }
        #expect(throws: ImportMapError.self) { try map.setZone("Middle/Earth") }
        try map.setZone("+05:45")
        #expect(!map.needsZone)
        _ = try MappedFile(map: map)
        #expect(ImportMap.shipped("samsung-heart-rate")?.needsZone == false)
    }
}
