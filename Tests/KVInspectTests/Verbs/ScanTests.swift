import Testing

@testable import kvinspect

@Suite("scan")
struct ScanTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    private func values(_ options: String...) throws -> [Double] {
        let arguments = ["scan", "S", "--type", "stepCount", "--format", "jsonl"] + options
        let run = try bench.run(arguments, input: nil)
        #expect(run.code == 0, "\(run.errors)")
        return try run.lines().compactMap { $0["value"] as? Double }
    }

    @Test("JSON Lines have the documented fields, and others if they are set")
    func fields() throws {
        let weights = try bench.run("scan", "S", "--type", "bodyMass", "--format", "jsonl").lines()
        let weight = try #require(weights.first)
        #expect(
            weight["id"] as? String == Fixture.weight && weight["type"] as? String == "HKQuantityTypeIdentifierBodyMass"
        )
        #expect(
            weight["start"] as? String == "2024-05-31T04:30:00.123456789Z"
                && weight["end"] as? String == weight["start"] as? String)
        #expect(
            weight["value"] as? Double == 72.4 && weight["unit"] as? String == "kg"
                && weight["source"] as? String == "Scale")
        #expect(weight["syncIdentifier"] as? String == "weight-1" && weight["syncVersion"] as? Int == 3)
        #expect(weight["modified"] as? String == "2024-05-31T07:00:00Z" && weight["group"] as? String == "morning")
        #expect(weight["origin"] as? String == "authored" && weight["userEntered"] as? Bool == true)
        #expect(weight["device"] is [String: Any] && weight["metadata"] is [String: Any] && weight["shadowed"] == nil)
        let steps = try bench.run("scan", "S", "--type", "HKQuantityTypeIdentifierStepCount", "--format", "jsonl")
            .lines()
        let step = try #require(steps.first)
        for key in ["syncIdentifier", "syncVersion", "metadata", "group", "device", "origin", "userEntered", "count"] {
            #expect(step[key] == nil, "\(key)")
        }
    }

    @Test("A range is half open, and the rule decides which samples are in it")
    func ranges() throws {
        #expect(try values() == [512, 100, 7])
        #expect(try values("--from", "2024-05-31T08:05Z", "--to", "2024-05-31T09:00Z") == [512])
        #expect(try values("--from", "2024-05-31T08:10Z", "--to", "2024-05-31T09:00:00.000000001Z") == [100])
        #expect(try values("--from=2024-05-31T08:05Z", "--rule=start") == [100, 7])
        #expect(try values("--to", "2024-05-31T09:05Z", "--rule", "end") == [512])
        #expect(try values("--from", "2025-01-01", "--to", "2024-01-01") == [])
        #expect(try values("--from", "0001-01-01", "--to", "9999-12-31") == [512, 100, 7])
    }

    @Test("A date without a time is midnight in the zone, and dates are printed in it")
    func zones() throws {
        #expect(try values("--from", "2024-06-01", "--tz", "UTC") == [7])
        #expect(try values("--from", "2024-06-01", "--tz", "Pacific/Kiritimati") == [7])
        #expect(try values("--from", "2024-05-31", "--to", "2024-06-01", "--tz", "Pacific/Pago_Pago") == [7])
        let local = try bench.run(
            "scan", "S", "--type", "stepCount", "--limit", "1", "--format", "jsonl",
            environment: ["TZ": "Asia/Kathmandu"])
        #expect(try local.lines().first?["start"] as? String == "2024-05-31T13:45:00+05:45")
    }

    @Test("Limit, order and source select samples")
    func picks() throws {
        #expect(try values("--limit", "2") == [512, 100])
        #expect(try values("--limit", "2", "--order", "desc") == [7, 100])
        #expect(try values("--limit", "0") == [])
        #expect(try values("--source", "Phone", "--limit", "1", "--order", "desc") == [7])
        #expect(try values("--source", "Watch, \"mine\"") == [100])
        #expect(try values("--source", "Nobody") == [])
    }

    @Test("A name selects all apps of that name, and a bundle selects one")
    func sameName() throws {
        let line = #"{"type":"stepCount","start":"2024-01-01","unit":"count","#
        try bench.load(
            "T",
            line + #""value":1,"source":{"name":"App","bundle":"a"}}"# + "\n" + line
                + #""value":2,"source":{"name":"App","bundle":"b"}}"#)
        func values(_ source: String) throws -> Set<Double> {
            let run = try bench.run("scan", "T", "--type", "stepCount", "--source", source, "--format", "jsonl")
            return Set(try run.lines().compactMap { $0["value"] as? Double })
        }
        #expect(try values("App") == [1, 2])
        #expect(try values("b") == [2])
    }

    @Test("A unit converts values")
    func units() throws {
        let line = try bench.run("scan", "S", "--type", "bodyMass", "--unit", "g", "--format", "jsonl").lines().first
        #expect(line?["value"] as? Double == 72_400 && line?["unit"] as? String == "g")
    }

    @Test("Of two weights at one time, the older is shown only on request")
    func shadowed() throws {
        let line = #"{"type":"bodyMass","start":"2024-01-01","unit":"kg","#
        try bench.load(
            "W", line + #""value":80,"modified":"2024-01-02"}"# + "\n" + line + #""value":81,"modified":"2024-01-03"}"#)
        func lines(_ options: String...) throws -> [[String: Any]] {
            try bench.run(["scan", "W", "--type", "bodyMass", "--format", "jsonl"] + options, input: nil).lines()
        }
        #expect(try lines().map { $0["value"] as? Double } == [81])
        let all = try lines("--shadowed")
        #expect(all.count == 2)
        #expect(all.first { $0["value"] as? Double == 80 }?["shadowed"] as? Bool == true)
        try bench.expectClean("W")
    }

    @Test("Lines of scan can be loaded, including the names of category values")
    func loadable() throws {
        let night = #"{"type":"HKCategoryTypeIdentifierSleepAnalysis","start":"2024-01-01T22:00:00Z","#
        try bench.load("N", night + #""end":"2024-01-02T06:00:00Z","value":5,"unit":"count","source":"Watch"}"#)
        let lines = try bench.run("scan", "N", "--type", "HKCategoryTypeIdentifierSleepAnalysis", "--format", "jsonl")
            .output
        #expect(lines.contains(#""case":"#))
        try bench.load("M", lines)
        #expect(
            try bench.run("scan", "M", "--type", "HKCategoryTypeIdentifierSleepAnalysis", "--format", "jsonl").output
                == lines)
        try bench.expectClean("M")
    }

    @Test("JSON, CSV and table have the same data")
    func formats() throws {
        let json = try bench.run("scan", "S", "--type", "stepCount", "--format", "json").json()
        #expect(json["kvinspect"] as? Int == 1 && json["verb"] as? String == "scan")
        #expect((json["samples"] as? [Any])?.count == 3)
        let csv = try bench.run("scan", "S", "--type", "stepCount", "--format", "csv").output.components(
            separatedBy: "\r\n")
        #expect(csv.count == 5 && csv[0].hasPrefix("id,type,start,end,value,unit,source,syncIdentifier,syncVersion,"))
        #expect(csv[1].contains(",512,count,Phone,"))
        #expect(csv[2].contains(",100,count,\"Watch, \"\"mine\"\"\","))
        let table = try bench.run("scan", "S", "--type", "stepCount", "--format", "table").output.split(separator: "\n")
        let piped = try bench.run("scan", "S", "--type", "stepCount").output
        #expect(try piped == bench.run("scan", "S", "--type", "stepCount", "--format", "jsonl").output)
        #expect(table.count == 4 && table[0].hasPrefix("start ") && table[1].contains(" 512  count  Phone"))
    }

    @Test("A type without samples prints nothing but a notice")
    func empty() throws {
        let run = try bench.run("scan", "S", "--type", "heartRate", "--format", "jsonl")
        #expect(run.code == 0 && run.output.isEmpty && run.errors == "No sample matches.\n")
    }

    @Test("An unknown type is 1 and names the nearest ones; a type of the catalog without samples is 0")
    func unknownType() throws {
        for verb in ["scan", "stats"] {
            let run = try bench.run(verb, "S", "--type", "stepcuont")
            #expect(run.code == 1 && run.output.isEmpty)
            #expect(run.errors.contains("No type is called 'stepcuont'. Did you mean 'stepCount'?"), "\(run.errors)")
            #expect(try bench.run(verb, "S", "--type", "STEPCOUNT").errors.contains("'stepCount'?"))
            #expect(try bench.run(verb, "S", "--type", "height").code == 0)
            let steering = try bench.run(verb, "S", "--type", "a\u{1B}[31m\u{202E}\nb")
            #expect(
                steering.code == 1 && steering.errors.contains(#"'a\u{1b}[31m\u{202e}\u{a}b'"#), "\(steering.errors)")
        }
    }

    @Test("A source that the store has not met is named, with near names, and is no error")
    func unknownSource() throws {
        for command in [["scan", "S", "--type", "stepCount"], ["stats", "S", "--type", "stepCount", "--by", "day"]] {
            let run = try bench.run(command + ["--source", "Phonee"], input: nil)
            #expect(run.code == 0 && run.errors.contains("No source is called 'Phonee'."), "\(run.errors)")
            #expect(run.errors.contains("Did you mean 'Phone'"), "\(run.errors)")
            let known = try bench.run(command + ["--source", "Phone"], input: nil)
            #expect(known.code == 0 && !known.errors.contains("No source is called"))
        }
        let written = try bench.run("export", "S", "out.xml", "--source", "Phonee")
        #expect(written.code == 0 && written.errors.contains("No source is called 'Phonee'."), "\(written.errors)")
    }
}
