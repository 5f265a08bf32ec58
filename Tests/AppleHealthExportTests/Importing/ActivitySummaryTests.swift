import Foundation
import HealthKV
import Testing

@testable import AppleHealthExport

@Suite("Activity summaries")
struct ActivitySummaryTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    /// A summary as Apple writes it.
    private func summary(
        _ day: String, energy: String = "412.25", of goal: String = "450", unit: String = "Cal",
        exercise: String = "31",
        stand: String = "11"
    ) -> String {
        " <ActivitySummary dateComponents=\"\(day)\" activeEnergyBurned=\"\(energy)\" activeEnergyBurnedGoal=\"\(goal)\""
            + " activeEnergyBurnedUnit=\"\(unit)\" appleMoveTime=\"0\" appleMoveTimeGoal=\"0\""
            + " appleExerciseTime=\"\(exercise)\" appleExerciseTimeGoal=\"30\" appleStandHours=\"\(stand)\""
            + " appleStandHoursGoal=\"12\"/>"
    }

    private func totals(_ type: SampleType, in store: SampleStore? = nil) throws -> [DailyTotal] {
        try (store ?? bench.store).blockingRead { try $0.totals(of: type, peer: .appleHealthExport) }
    }

    @Test("Rings become totals of days without a zone, with their goals; only the day of the export is incomplete")
    func rings() throws {
        // The export is of 2024-06-30.
        let report = try bench.take([
            summary("2024-06-28", unit: "kJ"), summary("2024-06-29"), summary("2024-06-30", exercise: "2"),
        ])
        #expect(report.totals == 9 && report.read == 0 && report.quarantined == 0 && report.keptOut.isEmpty)
        let energy = try totals(.activeEnergyBurned)
        #expect(energy.map(\.day) == ["2024-06-28", "2024-06-29", "2024-06-30"])
        #expect(energy.map(\.isComplete) == [true, true, false] && energy.allSatisfy { $0.zone == "floating" })
        #expect(
            energy.map(\.unit.symbol) == ["kJ", "kcal", "kcal"] && energy.map(\.value) == [412.25, 412.25, 412.25])
        #expect(energy.allSatisfy { $0.goal == 450 && $0.time == Instant("2024-06-30T06:00:00Z") })
        let exercise = try totals(.appleExerciseTime)
        #expect(exercise.map(\.value) == [31, 31, 2] && exercise.allSatisfy { $0.goal == 30 && $0.unit == .minute })
        #expect(try totals(.appleStandHour).map(\.goal) == [12, 12, 12])
        // A ring that shows nothing and has no goal is not in use.
        #expect(try totals(.appleMoveTime).isEmpty)
        #expect(try bench.store.check().findings.isEmpty)
    }

    @Test("A repeated import changes nothing, a later one completes the day, and an earlier one undoes nothing")
    func later() throws {
        func export(of date: String, _ elements: [String]) -> String {
            Export.document(elements).replacing("2024-06-30 08:00:00 +0200", with: date)
        }
        let first = export(of: "2024-06-30 08:00:00 +0200", [summary("2024-06-30", exercise: "2")])
        try bench.take(text: first)
        #expect(try bench.take(text: first).totals == 0)
        let later = export(of: "2024-07-02 08:00:00 +0200", [summary("2024-06-30", exercise: "45")])
        #expect(try bench.take(text: later).totals == 3)
        #expect(try bench.take(text: first).totals == 0)
        let exercise = try #require(try totals(.appleExerciseTime).first)
        #expect(exercise.value == 45 && exercise.isComplete)
    }

    @Test("The last of several summaries of a day counts, in any unit, and a second import changes nothing")
    func twice() throws {
        let elements = [
            summary("2024-06-28", energy: "100"), summary("2024-06-27"), summary("2024-06-28", energy: "200"),
        ]
        #expect(try bench.take(elements).totals == 6)
        #expect(try totals(.activeEnergyBurned).map(\.value) == [412.25, 200])
        #expect(try bench.take(elements).totals == 0)
        #expect(try totals(.activeEnergyBurned).map(\.value) == [412.25, 200])
        // 200 kcal are 836.8 kJ, and 450 are 1882.8.
        let other = summary("2024-06-28", energy: "836.8", of: "1882.8", unit: "kJ")
        #expect(try bench.take([other]).totals == 0)
        #expect(try bench.take([summary("2024-06-28", energy: "840", of: "1882.8", unit: "kJ")]).totals == 1)
    }

    @Test("Without a date of the export no day is known to be over; a broken one is mended")
    func dates() throws {
        let bare = Export.document([summary("2024-06-28")])
        let line = " <ExportDate value=\"2024-06-30 08:00:00 +0200\"/>\n"
        try bench.take(text: bare.replacing(line, with: ""))
        #expect(try totals(.appleStandHour).map(\.isComplete) == [false])
        let report = try bench.take(text: bare.replacing(line, with: line.replacing("/>", with: ">")))
        #expect(report.mended == 1)
        #expect(try totals(.appleStandHour).map(\.isComplete) == [true])
    }

    @Test("An evening in America is still the day of the export, wherever it is written again")
    func evening() throws {
        let text = Export.document([summary("2024-06-29"), summary("2024-06-30", exercise: "2")])
            .replacing("2024-06-30 08:00:00 +0200", with: "2024-06-30 20:00:00 -0700")
        try bench.take(text: text)
        for hours in [-7, 0, 12] { try expectSameTotals(offset: hours, days: 2) }
    }

    @Test("Ranges take the days of the zone in which they were meant")
    func ranges() throws {
        var task = HealthImport()
        let days = (26...30).map { summary("2024-06-\($0)") }
        // 28 to 30 June in Los Angeles, then in Auckland.
        for (from, to) in [
            ("2024-06-28T07:00:00Z", "2024-06-30T07:00:00Z"), ("2024-06-27T12:00:00Z", "2024-06-29T12:00:00Z"),
        ] {
            task.range = TimeRange(from: try #require(Instant(from)), to: try #require(Instant(to)))
            let store = try SampleStore.open(at: bench.folder.path + "/\(from)")
            let path = try bench.file("days.xml", Array(Export.document(days).utf8))
            try task.run(path, into: store)
            #expect(try totals(.appleStandHour, in: store).map(\.day) == ["2024-06-28", "2024-06-29"])
            try store.close()
        }
    }

    @Test("Options, dry runs and broken summaries are as with records")
    func options() throws {
        var task = HealthImport()
        task.isDryRun = true
        #expect(try bench.take([summary("2024-06-28")], task).totals == 3)
        #expect(try totals(.activeEnergyBurned).isEmpty)
        task = HealthImport()
        task.types = [.appleStandHour]
        #expect(try bench.take([summary("2024-06-28")], task).totals == 1)
        task = HealthImport()
        task.sources = ["Watch"]
        let none = try bench.take([summary("2024-06-27")], task)
        #expect(none.totals == 0 && none.skipped == 0)
        task = HealthImport()
        task.range.from = try #require(Instant("2024-06-29T00:00:00Z"))
        #expect(try bench.take([summary("2024-06-28"), summary("2024-06-29")], task).totals == 3)
        let broken = [
            summary("2024-13-01"), summary("2024-06-25", energy: "many"), summary("2024-06-25", unit: "bananas"),
            summary("2024-06-25", energy: "1e999"), " <ActivitySummary/>",
        ]
        let report = try bench.take(broken)
        #expect(report.quarantined == 5 && report.totals == 0)
        // A bracket that is missing loses nothing.
        let open = summary("2024-06-26").replacing("/>", with: "")
        let mended = try bench.take([open, summary("2024-06-24")])
        #expect(mended.mended == 1 && mended.totals == 6 && mended.quarantined == 0)
    }

    @Test("An export writes the summaries, and its import gives the same totals, with any offset")
    func written() throws {
        try bench.take([
            summary("2024-06-28", energy: "412.123456789"), summary("2024-06-29", unit: "kJ"),
            summary("2024-06-30", exercise: "2"), Export.weight("72.5", day: 1),
        ])
        for hours in [-11, 0, 2, 5, 14] { try expectSameTotals(offset: hours) }
        // A later sample makes a later export. What was incomplete cannot be told there.
        let late = Export.record("HKQuantityTypeIdentifierBodyMass", "72", "kg", "2024-07-05 08:00:00 +0200")
        try bench.take([late])
        let report = try HealthExport().write(bench.store, to: bench.folder.path + "/late.xml")
        #expect(report.totals == 6 && report.totalsLost == 3)
        // Chosen sources have no totals, chosen types have theirs.
        var some = HealthExport()
        some.sources = ["Scale"]
        #expect(try some.write(bench.store, to: bench.folder.path + "/some.xml").totals == 0)
        some = HealthExport()
        some.types = [.appleStandHour]
        #expect(try some.write(bench.store, to: bench.folder.path + "/stand.xml").totals == 2)
    }

    /// Exports with an offset from universal time and compares what an import of that gives.
    private func expectSameTotals(offset hours: Int, days: Int = 3) throws {
        var task = HealthExport()
        task.secondsFromGMT = hours * 3_600
        let path = bench.folder.path + "/\(hours).xml"
        #expect(try task.write(bench.store, to: path).totals == 3 * days)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.split(separator: "<ActivitySummary ").count == days + 1)
        let other = try SampleStore.open(at: bench.folder.path + "/other\(hours)")
        try HealthImport().run(path, into: other)
        for type in [SampleType.activeEnergyBurned, .appleExerciseTime, .appleStandHour] {
            let (known, found) = (try totals(type), try totals(type, in: other))
            #expect(found.count == days && zip(found, known).allSatisfy { $0.isSameReading(as: $1) }, "\(hours)")
        }
        try other.close()
    }
}
