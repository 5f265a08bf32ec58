import HealthKV
import Testing

@testable import kvinspect

@Suite("stats --totals")
struct StatsTotalsTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load(
            "S",
            """
            {"type":"stepCount","start":"2024-03-10T06:00:00Z","end":"2024-03-10T07:00:00Z","value":600,"unit":"count","source":"Phone"}
            {"type":"stepCount","start":"2024-03-11T06:00:00Z","end":"2024-03-11T07:00:00Z","value":40,"unit":"count","source":"Phone"}
            {"type":"distanceWalkingRunning","start":"2024-03-10T06:00:00Z","end":"2024-03-10T07:00:00Z","value":4000,"unit":"m","source":"Phone"}

            """)
        let store = try SampleStore.open(at: bench.path("S"))
        func total(_ day: String, _ value: Double?, _ type: SampleType = .stepCount, zone: String = "America/New_York")
            -> DailyTotal
        {
            DailyTotal(
                peer: "HealthKit", type: type, day: day, zone: zone, value: value,
                unit: type == .stepCount ? .count : .kilometer, isComplete: day != "2024-03-12",
                time: Instant("2024-03-12T10:00:00Z")!)
        }
        let totals = [
            total("2024-03-09", 12), total("2024-03-10", 640), total("2024-03-11", nil), total("2024-03-12", 3),
            total("2024-03-10", 3.5, .distanceWalkingRunning, zone: "UTC"),
        ]
        try store.write { txn in for total in totals { try txn.setTotal(total) } }
        try store.close()
    }

    private func lines(_ arguments: String...) throws -> [[String: Any]] {
        try bench.run(["stats", "S", "--totals", "--format", "jsonl"] + arguments, input: nil).lines()
    }

    @Test("C15: a peer's total is printed beside the sum of the samples, with the difference")
    func difference() throws {
        let days = try lines("--type", "stepCount", "--tz", "UTC")
        #expect(days.map { $0["day"] as? String } == ["2024-03-09", "2024-03-10", "2024-03-11", "2024-03-12"])
        #expect(days.map { $0["total"] as? Double } == [12, 640, nil, 3])
        #expect(days.map { $0["sum"] as? Double } == [nil, 600, 40, nil])
        #expect(days.map { $0["difference"] as? Double } == [nil, 40, nil, nil])
        #expect(days.map { $0["count"] as? Int } == [0, 1, 1, 0])
        #expect(days.map { $0["complete"] as? Bool } == [true, true, true, false])
        #expect(days.allSatisfy { $0["peer"] as? String == "HealthKit" && $0["unit"] as? String == "count" })
        // Days are those of the peer's zone, whatever zone is requested; clocks changed on the tenth.
        #expect(days[1]["start"] as? String == "2024-03-10T00:00:00-05:00")
        #expect(days[1]["end"] as? String == "2024-03-11T00:00:00-04:00")
        #expect(days[1]["read"] as? String == "2024-03-12T10:00:00Z")
    }

    @Test("A day that is a date only is that of the zone that is asked for, and goals are printed")
    func floating() throws {
        let store = try SampleStore.open(at: bench.path("S"))
        try store.write { txn in
            try txn.setTotal(
                DailyTotal(
                    peer: "export", type: .distanceWalkingRunning, day: "2024-03-10", zone: DailyTotal.floatingZone,
                    value: 5, goal: 6, unit: .kilometer, isComplete: true, time: Instant("2024-03-12T10:00:00Z")!))
        }
        try store.close()
        for (zone, start) in [("Asia/Kathmandu", "2024-03-10T00:00:00+05:45"), ("UTC", "2024-03-10T00:00:00Z")] {
            let day = try #require(
                try lines("--type", "distanceWalkingRunning", "--unit", "m", "--tz", zone).first {
                    $0["peer"] as? String == "export"
                })
            #expect(day["start"] as? String == start && day["zone"] as? String == "floating")
            #expect(day["total"] as? Double == 5_000 && day["goal"] as? Double == 6_000)
            #expect(day["difference"] as? Double == 1_000 && day["complete"] as? Bool == true)
        }
        // Statistics do not use it: nobody knows which samples are in it.
        let again = try SampleStore.open(at: bench.path("S"))
        let from = try #require(Instant("2024-03-10T00:00:00Z"))
        let day = try again.blockingRead { txn in
            try txn.statistics(
                of: .distanceWalkingRunning, from: from, to: from + 86_400 * Instant.nanosecondsPerSecond,
                unit: .meter, options: CumulativeOptions(sources: .authoritative))
        }
        #expect(day.totalsOf == ["HealthKit"])
        try again.close()
        try bench.expectClean("S")
    }

    @Test("Totals are converted, and restricted to days that begin in a range")
    func converted() throws {
        let day = try lines("--type", "distanceWalkingRunning", "--unit", "m")
        #expect(day.map { $0["total"] as? Double } == [3_500] && day.map { $0["sum"] as? Double } == [4_000])
        #expect(day.map { $0["difference"] as? Double } == [-500] && day[0]["unit"] as? String == "m")
        let some = try lines(
            "--type", "stepCount", "--tz", "America/New_York", "--from", "2024-03-10", "--to", "2024-03-12")
        #expect(some.map { $0["day"] as? String } == ["2024-03-10", "2024-03-11"])
    }

    @Test("Options without meaning for totals are wrong usage, and days without totals are no error")
    func usage() throws {
        for words in [
            ["--by", "hour"], ["--unmerged"], ["--fill"], ["--source", "Phone"], ["--priority", "Phone"],
            ["--unit", "kg"],
        ] {
            let run = try bench.run(["stats", "S", "--type", "stepCount", "--totals"] + words, input: nil)
            #expect(run.code == 64 && run.output.isEmpty, "\(words): \(run.errors)")
        }
        let none = try bench.run("stats", "S", "--type", "bodyMass", "--totals")
        #expect(none.code == 0 && none.output.isEmpty && none.errors.contains("No peer"))
    }

    @Test("Table, CSV and JSON have the difference too, and stats without the option is unchanged")
    func formats() throws {
        let table = try bench.run("stats", "S", "--type", "stepCount", "--totals", "--format", "table").output
        #expect(table.contains("difference") && table.contains("640"))
        let csv = try bench.run("stats", "S", "--type", "stepCount", "--totals", "--format", "csv").output
        #expect(csv.hasPrefix("start,end,count,sum,average,unit,day,zone,peer,total,difference,complete,read,goal"))
        let json = try bench.run("stats", "S", "--type", "stepCount", "--totals", "--format", "json").json()
        #expect((json["buckets"] as? [Any])?.count == 4)
        let plain = try bench.run("stats", "S", "--type", "stepCount", "--format", "jsonl").lines()
        #expect(plain.count == 2 && plain.allSatisfy { $0["total"] == nil && $0["difference"] == nil })
        try bench.expectClean("S")
    }
}
