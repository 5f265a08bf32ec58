import Testing

@testable import kvinspect

@Suite("stats")
struct StatsTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
        try bench.load(
            "M",
            """
            {"type":"stepCount","start":"2024-03-10T06:00:00Z","end":"2024-03-10T07:00:00Z","value":600,"unit":"count","source":"Phone"}
            {"type":"stepCount","start":"2024-03-10T06:30:00Z","end":"2024-03-10T07:30:00Z","value":300,"unit":"count","source":"Pedometer"}
            {"type":"stepCount","start":"2024-03-10T03:30:00Z","end":"2024-03-10T05:30:00Z","value":80,"unit":"count","source":"Phone"}

            """)
    }

    private func lines(_ arguments: String...) throws -> [[String: Any]] {
        try bench.run(["stats"] + arguments + ["--format", "jsonl"], input: nil).lines()
    }

    @Test("A day has sum, count and unit, and its bounds have the zone's offset on that day")
    func days() throws {
        let days = try lines("S", "--type", "stepCount", "--by", "day", "--tz", "America/New_York")
        #expect(days.map { $0["start"] as? String } == ["2024-05-31T00:00:00-04:00", "2024-06-01T00:00:00-04:00"])
        #expect(days.map { $0["end"] as? String } == ["2024-06-01T00:00:00-04:00", "2024-06-02T00:00:00-04:00"])
        #expect(days.map { $0["sum"] as? Double } == [612, 7] && days.map { $0["count"] as? Int } == [2, 1])
        #expect(days.allSatisfy { $0["unit"] as? String == "count" && $0["min"] == nil })
    }

    @Test("Sources are merged by priority, by a given one, or not at all; samples are divided at borders by time")
    func merging() throws {
        let zone = ["--tz", "America/New_York"]
        func sums(_ more: String...) throws -> [Double?] {
            try bench.run(
                ["stats", "M", "--type", "stepCount", "--format", "jsonl"] + zone + more, input: nil
            ).lines().map { $0["sum"] as? Double }
        }
        // The pedometer is the latest source, so it wins half an hour of the phone's six hundred steps.
        #expect(try sums() == [60, 20 + 300 + 300])
        #expect(try sums("--priority", "Phone") == [60, 20 + 600 + 150])
        #expect(try sums("--unmerged") == [60, 20 + 600 + 300])
        #expect(try sums("--source", "Pedometer") == [300])
        #expect(try sums("--from", "2024-03-10T02:45:00-04:00") == [225])
    }

    @Test("A bucket inside a sample has a sum and count 0; --fill adds buckets without data")
    func filling() throws {
        let hours = try lines("M", "--type", "stepCount", "--by", "hour", "--tz", "UTC")
        #expect(hours.map { $0["count"] as? Int } == [1, 0, 0, 2, 0])
        #expect(hours.map { $0["sum"] as? Double } == [20, 40, 20, 450, 150])
        let filled = try lines(
            "S", "--type", "stepCount", "--tz", "UTC", "--from", "2024-05-30", "--to", "2024-06-03", "--fill")
        #expect(filled.map { $0["count"] as? Int } == [0, 2, 1, 0])
        #expect(filled.map { $0["sum"] as? Double } == [0, 612, 7, 0])
    }

    @Test("A discrete type has min, max and average, in any unit")
    func discrete() throws {
        let weights = try lines("S", "--type", "bodyMass", "--by", "year", "--tz", "UTC", "--unit", "g")
        #expect(weights.count == 1 && weights[0]["average"] as? Double == 72_400 && weights[0]["sum"] == nil)
        #expect(weights[0]["min"] as? Double == 72_400 && weights[0]["max"] as? Double == 72_400)
        #expect(weights[0]["unit"] as? String == "g" && weights[0]["count"] as? Int == 1)
    }

    @Test("A priority with a source that the store has not is refused with near names")
    func unknownPriority() throws {
        let run = try bench.run("stats", "S", "--type", "stepCount", "--priority", "Phon")
        #expect(run.code == 1 && run.output.isEmpty && run.errors.contains("Did you mean 'Phone'"), "\(run.errors)")
    }

    @Test("Meaningless combinations of options are wrong usage")
    func usage() throws {
        for words in [
            ["--type", "bodyMass", "--unmerged"], ["--type", "stepCount", "--by", "fortnight"], [],
            ["--type", "stepCount", "--unit", "kg"],
            ["--type", "stepCount", "--tz", "Nowhere/Land"], ["--type", "bodyMass", "--priority", "Phone"],
        ] {
            let run = try bench.run(["stats", "S"] + words, input: nil)
            #expect(run.code == 64 && run.output.isEmpty, "\(words): \(run.errors)")
        }
        let none = try bench.run("stats", "S", "--type", "dietaryWater")
        #expect(none.code == 0 && none.output.isEmpty)
    }

    @Test("Progress is reported as a share of the range")
    func progress() throws {
        let run = try bench.run("stats", "S", "--type", "stepCount", "--by", "hour", "--progress", "json")
        #expect(
            run.code == 0 && run.errors.hasPrefix(#"{"event":"start","verb":"stats","done":0,"total":100,"unit":"%""#))
        #expect(run.errors.contains(#"{"event":"done","verb":"stats","done":100,"#))
    }

    @Test("The error for units that cannot be combined names both, and types lists them")
    func mixedUnits() throws {
        let lines = ["kg", "count"].map { #"{"type":"custom","start":"2024-05-31","value":1.625,"unit":"\#($0)"}"# }
        try bench.load("U", lines.joined(separator: "\n"))
        let run = try bench.run("stats", "U", "--type", "custom")
        #expect(run.code == 1 && run.errors.contains("kg") && run.errors.contains("count"))
        #expect(run.errors.contains("each in its own unit") && !run.errors.contains("1.625"))
        #expect(try bench.run("types", "U", "--format", "jsonl").lines()[0]["unit"] as? String == "count, kg")
    }

    @Test("JSON has an envelope, and CSV has a header")
    func formats() throws {
        let json = try bench.run("stats", "S", "--type", "stepCount", "--format", "json").json()
        #expect(json["verb"] as? String == "stats" && (json["buckets"] as? [Any])?.count == 2)
        let csv = try bench.run("stats", "S", "--type", "stepCount", "--format", "csv").output
        #expect(csv.hasPrefix("start,end,count,sum,min,max,average,unit\r\n") || csv.hasPrefix("start,end,count,sum"))
        #expect(try bench.run("stats", "S", "--type", "stepCount").output.contains("612"))
        try bench.expectClean("S")
    }

    @Test("A source is found by every name that it has had, and of several with one name the last seen counts")
    func names() throws {
        let hour = #""type":"stepCount","start":"2024-01-01T10:00Z","end":"2024-01-01T11:00Z","unit":"count""#
        try bench.load(
            "N",
            "{\(hour),\"value\":1,\"source\":{\"name\":\"Old\",\"bundle\":\"com.x\"}}\n"
                + "{\(hour),\"value\":2,\"source\":{\"name\":\"New\",\"bundle\":\"com.x\"}}")
        for name in ["Old", "New", "com.x"] {
            let scan = try bench.run("scan", "N", "--type", "stepCount", "--source", name, "--format", "jsonl")
            #expect(try scan.lines().count == 2 && !scan.errors.contains("No source"), "\(name) \(scan.errors)")
            #expect(try bench.run("stats", "N", "--type", "stepCount", "--priority", name).code == 0)
        }
        try bench.load(
            "P",
            "{\(hour),\"value\":1,\"source\":{\"name\":\"P\",\"bundle\":\"com.x\"}}\n"
                + "{\(hour),\"value\":5,\"source\":\"P\"}")
        func sum(_ options: String...) throws -> Double? {
            try bench.run(
                ["stats", "P", "--type", "stepCount", "--tz", "UTC", "--format", "jsonl"] + options, input: nil
            )
            .lines().first?["sum"] as? Double
        }
        #expect(try sum() == 5 && sum("--priority", "P") == 5 && sum("--source", "P") == 5)
    }
}
