import Foundation
import Testing

@testable import kvinspect

@Suite("stats, beside sums and averages, and scan with filters")
struct StatsQuestionTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        var lines: [String] = []
        // Ten days of two sources: the watch wins half an hour of each of the phone's hours.
        for day in 1...10 {
            let date = "2024-05-" + (day < 10 ? "0\(day)" : "\(day)")
            lines.append(
                #"{"type":"stepCount","start":"\#(date)T06:00:00Z","end":"\#(date)T07:00:00Z","value":\#(day * 100),"unit":"count","source":"Phone"}"#
            )
            lines.append(
                #"{"type":"stepCount","start":"\#(date)T06:30:00Z","end":"\#(date)T07:00:00Z","value":30,"unit":"count","source":"Watch"}"#
            )
            lines.append(
                #"{"type":"bloodGlucose","start":"\#(date)T08:00:00Z","value":\#(50 + 20 * day),"unit":"mg/dL","source":"Meter","userEntered":\#(day % 2 == 0)}"#
            )
            lines.append(
                #"{"type":"bodyMass","start":"\#(date)T07:00:00Z","value":\#(80 - Double(day) / 2),"unit":"kg","source":"Scale"}"#
            )
        }
        try bench.load("S", lines.joined(separator: "\n") + "\n")
    }

    private func lines(_ arguments: String...) throws -> [[String: Any]] {
        let run = try bench.run(arguments + ["--format", "jsonl"], input: nil)
        #expect(run.code == 0, "\(run.errors)")
        return try run.lines()
    }

    private func refused(_ arguments: String..., naming text: String) throws {
        let run = try bench.run(arguments, input: nil)
        #expect(run.code == 64 && run.output.isEmpty, "\(arguments)")
        #expect(run.errors.contains(text), "\(run.errors)")
    }

    @Test("Percentiles of each bucket, of all sources or one, in the unit that is asked for") func percentiles() throws
    {
        let all = try lines(
            "stats", "S", "--type", "bloodGlucose", "--by", "month", "--tz", "UTC", "--percentiles", "0,50,97.5")
        #expect(all.count == 1 && all[0]["count"] as? Int == 10)
        #expect(all[0]["p0"] as? Double == 70 && all[0]["p50"] as? Double == 160)
        #expect(all[0]["p97.5"] as? Double == 245.5 && all[0]["unit"] as? String == "mg/dL")
        let some = try lines(
            "stats", "S", "--type", "bloodGlucose", "--by", "month", "--tz", "UTC", "--percentiles", "50", "--where",
            "not user-entered", "--from", "2024-05-03")
        #expect(some.map { $0["p50"] as? Double } == [170])
        let pounds = try lines(
            "stats", "S", "--type", "bodyMass", "--by", "year", "--percentiles", "50", "--unit", "lb")
        #expect(abs((pounds[0]["p50"] as? Double ?? 0) - 170.307) < 0.01)
        try refused("stats", "S", "--type", "bodyMass", "--percentiles", "101", naming: "0 to 100")
        try refused("stats", "S", "--type", "bodyMass", "--percentiles", "a", naming: "0 to 100")
        try refused("stats", "S", "--type", "bodyMass", "--percentiles", "5", "--trend", naming: "exclude")
    }

    @Test("Bands give seconds, counts and shares") func bands() throws {
        let bands = try lines(
            "stats", "S", "--type", "bloodGlucose", "--bands", "100,180", "--hold", "60", "--tz", "UTC")
        #expect(bands.map { $0["lower"] as? Double } == [nil, 100, 180])
        #expect(bands.map { $0["upper"] as? Double } == [100, 180, nil])
        #expect(bands.map { $0["count"] as? Int } == [2, 4, 4])
        #expect(bands.map { $0["seconds"] as? Double } == [7_200, 14_400, 14_400])
        #expect(bands.map { $0["share"] as? Double } == [0.2, 0.4, 0.4])
        try refused("stats", "S", "--type", "bloodGlucose", "--bands", "3,2", naming: "scending")
        try refused("stats", "S", "--type", "bloodGlucose", "--hold", "3", naming: "--bands")
    }

    @Test("A trend gives the change in a day") func trend() throws {
        let trend = try lines("stats", "S", "--type", "bodyMass", "--trend", "--tz", "UTC")
        #expect(abs((trend[0]["perDay"] as? Double ?? 0) + 0.5) < 1e-9 && trend[0]["count"] as? Int == 10)
        #expect(trend[0]["center"] as? String == "2024-05-05T19:00:00Z" && trend[0]["value"] as? Double == 77.25)
        let pounds = try lines("stats", "S", "--type", "bodyMass", "--trend", "--unit", "lb")
        #expect(abs((pounds[0]["perDay"] as? Double ?? 0) + 1.10231) < 1e-4)
    }

    @Test("Shares of sources add up to the merged sum") func shares() throws {
        let shares = try lines("stats", "S", "--type", "stepCount", "--shares", "--tz", "UTC", "--from", "2024-05-10")
        #expect(shares.map { $0["source"] as? String } == ["Phone", "Watch"])
        #expect(shares.map { $0["sum"] as? Double } == [500, 30])
        #expect(abs((shares[0]["share"] as? Double ?? 0) - 500 / 530) < 1e-12)
        try refused("stats", "S", "--type", "bodyMass", "--shares", naming: "summed up")
        try refused("stats", "S", "--type", "stepCount", "--shares", "--fill", naming: "exclude each other")
    }

    @Test("Hours of the day and days of the week") func rhythm() throws {
        let hours = try lines("stats", "S", "--type", "stepCount", "--by", "hourOfDay", "--tz", "UTC")
        #expect(hours.count == 24 && hours[6]["slot"] as? Int == 6 && hours[6]["count"] as? Int == 20)
        #expect(abs((hours[6]["sum"] as? Double ?? 0) - 3_050) < 1e-9)
        let days = try lines("stats", "S", "--type", "stepCount", "--by", "dayOfWeek", "--tz", "UTC")
        // 2024-05-01 was a Wednesday, and weeks begin on Monday.
        #expect(days.map { $0["slot"] as? Int } == [2, 3, 4, 5, 6, 7, 1])
        #expect(days.map { $0["occurrences"] as? Int } == [1, 1, 2, 2, 2, 1, 1])
        try refused("stats", "S", "--type", "stepCount", "--by", "hourOfDay", "--goal", "3", naming: "exclude")
    }

    @Test("A moving average and a goal beside the buckets, with the rows of days that met it") func goals() throws {
        let days = try lines(
            "stats", "S", "--type", "stepCount", "--tz", "UTC", "--average", "2", "--goal", "330", "--to", "2024-05-11")
        #expect(days.map { $0["sum"] as? Double } == (1...10).map { Double($0) * 50 + 30 })
        #expect(days[0]["movingAverage"] as? Double == 80 && days[9]["movingAverage"] as? Double == 505)
        #expect(days.map { $0["met"] as? Bool } == (1...10).map { $0 >= 6 })
        let json = try bench.run(
            "stats", "S", "--type", "stepCount", "--tz", "UTC", "--goal", "100..300", "--to", "2024-05-11", "--format",
            "json"
        ).json()
        #expect(json["met"] as? Int == 4 && json["longestStreak"] as? Int == 4 && json["currentStreak"] as? Int == 0)
        let run = try bench.run(["stats", "S", "--type", "bodyMass", "--tz", "UTC", "--goal", "<=76"], input: nil)
        #expect(run.errors.contains("3 of 10 met the goal"), "\(run.errors)")
        try refused("stats", "S", "--type", "stepCount", "--goal", "many", naming: "two numbers")
        try refused("stats", "S", "--type", "stepCount", "--average", "0", naming: "One bucket")
    }

    @Test("A goal changes no sum, and buckets that ended long ago count within an upper limit")
    func goalsBesideSums() throws {
        try bench.load(
            "F",
            #"{"type":"stepCount","start":"2030-01-01T00:00:00Z","end":"2030-01-02T12:00:00Z","value":3600,"unit":"count","source":"A"}"#
        )
        let days = ["stats", "F", "--type", "stepCount", "--tz", "UTC"]
        func sums(_ words: [String]) throws -> [Double?] {
            let run = try bench.run(words + ["--format", "json"], input: nil)
            return try #require(run.json()["buckets"] as? [[String: Any]]).map { $0["sum"] as? Double }
        }
        #expect(try sums(days) == [2400, 1200] && sums(days + ["--goal", "1"]) == [2400, 1200])
        let old = ["stats", "S", "--type", "bodyMass", "--tz", "UTC", "--fill"]
        #expect(try sums(old).count == sums(old + ["--goal", "1"]).count)
        let limits = ["stats", "S", "--type", "stepCount", "--tz", "UTC", "--to", "2024-05-11", "--goal", "<=100000"]
        let json = try bench.run(limits + ["--format", "json"], input: nil).json()
        #expect(json["met"] as? Int == 10 && json["total"] as? Int == 10 && json["currentStreak"] as? Int == 10)
        // Days without data since then end the row.
        let open = try bench.run(
            ["stats", "S", "--type", "stepCount", "--tz", "UTC", "--goal", "<=100000", "--format", "json"], input: nil
        ).json()
        #expect(open["longestStreak"] as? Int == 10 && open["currentStreak"] as? Int == 0, "\(open)")
    }

    @Test("What holds or reaches into a range is an answer, and codes of categories are not added up")
    func reachedInto() throws {
        let lines = [
            #"{"type":"heartRate","start":"2024-04-02T02:05:00Z","value":120,"unit":"count/min","source":"A"}"#,
            #"{"type":"stepCount","start":"2024-04-02T01:00:00Z","end":"2024-04-02T07:00:00Z","value":60,"unit":"count","source":"A"}"#,
            #"{"type":"bodyMass","start":"2024-04-02T01:00:00Z","value":60,"unit":"kg","source":"A"}"#,
            #"{"type":"sleepAnalysis","start":"2024-04-02T01:00:00Z","end":"2024-04-02T02:00:00Z","value":5,"unit":"count","source":"A"}"#,
        ]
        try bench.load("H", lines.joined(separator: "\n"))
        for words in [
            ["--type", "heartRate", "--bands", "70", "--from", "2024-04-02T02:10Z", "--to", "2024-04-02T07:00Z"],
            ["--type", "stepCount", "--by", "hourOfDay", "--from", "2024-04-02T05:00Z", "--to", "2024-04-02T07:00Z"],
            ["--type", "bodyMass", "--trend"],
        ] {
            let run = try bench.run(["stats", "H", "--tz", "UTC"] + words, input: nil)
            #expect(run.code == 0 && !run.errors.contains("No sample matches"), "\(words): \(run.errors)")
        }
        for option in [["--unmerged"], ["--priority", "A"], ["--shares"]] {
            let run = try bench.run(["stats", "H", "--type", "sleepAnalysis"] + option, input: nil)
            #expect(run.code == 64 && run.errors.contains("summed up"), "\(option): \(run.errors)")
        }
    }

    @Test("scan takes a filter and the order of values") func scan() throws {
        let heavy = try lines(
            "scan", "S", "--type", "bodyMass", "--where", "value >= 78kg and source = \"Scale\"", "--sort", "value",
            "--order", "desc", "--limit", "2")
        #expect(heavy.map { $0["value"] as? Double } == [79.5, 79])
        let none = try bench.run(
            "scan", "S", "--type", "bodyMass", "--where", "device = \"Watch\"", "--format", "jsonl")
        #expect(none.code == 0 && none.output.isEmpty)
        let skipping = try lines(
            "scan", "S", "--type", "bodyMass", "--where", "value < 75.6 kg", "--skip-damaged", "--sort", "value")
        #expect(skipping.map { $0["value"] as? Double } == [75, 75.5])
        try refused("scan", "S", "--type", "bodyMass", "--where", "value >= ", naming: "letter 10")
        try refused("scan", "S", "--type", "bodyMass", "--where", "value >= 1 kcal", naming: "kcal")
        try refused("scan", "S", "--type", "bodyMass", "--where", "value >= 1 stones", naming: "stones")
        let filtered = try lines(
            "stats", "S", "--type", "stepCount", "--where", "source = \"Watch\"", "--tz", "UTC", "--by", "month")
        #expect(filtered.map { $0["sum"] as? Double } == [300])
    }
}
