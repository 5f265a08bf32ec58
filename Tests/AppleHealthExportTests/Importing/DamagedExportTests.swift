import Foundation
import HealthKV
import TestSupport
import Testing

@testable import AppleHealthExport

/// Real exports have defects. A defect costs at most the element that has it.
@Suite("Exports with defects")
struct DamagedExportTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    @Test("A type whose family has one letter wrong is damaged, and a new type is not")
    func damagedFamily() throws {
        let bench = try ImportBench()
        func record(_ type: String) -> String {
            Export.record(type, "1", "count", Export.date(1, "08:00:00"), source: "Watch")
        }
        let damaged = [
            "HKQuantityypeIdentifierStepCount", "HKQuantityTypeIdentifirStepCount", "HKQuantityTypeIdentifieStepCount",
            "XHKCategoryTypeIdentifierSleepAnalysis", "HKCatogoryTypeIdentifierSleepAnalysis",
        ]
        #expect(try bench.take(damaged.map(record)).quarantined == damaged.count)
        let new = ["HKQuantityTypeIdentifierNewThing", "HKDataTypeSleepDurationGoal", "NewThing", "HK"]
        let report = try bench.take(new.map(record))
        #expect(report.quarantined == 0 && report.inserted == new.count)
    }

    /// Ten weights, of which one is damaged. All others must be there, and the damaged one is right or not there.
    private func check(
        _ report: HealthImportReport, _ bench: ImportBench, damaged: Int, isMended: Bool?, _ note: String
    ) throws {
        let values = try bench.samples(.bodyMass).map { ($0.start, $0.quantity.value) }
        for day in 1...10 where day != damaged {
            let start = try #require(Instant("2024-05-\(day < 10 ? "0" : "")\(day)T06:00:00Z"))
            #expect(values.contains { $0 == start && $1 == 70.5 + Double(day) }, "\(note): the weight of day \(day)")
        }
        #expect(values.count <= 10, "\(note)")
        if let isMended {
            #expect(
                report.mended == (isMended ? 1 : 0) && report.quarantined == (isMended ? 0 : 1), "\(note): \(report)")
            #expect(values.count == (isMended ? 10 : 9), "\(note)")
        } else {
            #expect(report.mended + report.quarantined > 0, "\(note): \(report)")
        }
        if values.count == 10 {
            let start = try #require(Instant("2024-05-\(damaged < 10 ? "0" : "")\(damaged)T06:00:00Z"))
            #expect(values.contains { $0 == start && $1 == 70.5 + Double(damaged) }, "\(note): mended wrongly")
        }
    }

    private static let ten = (1...10).map { Export.weight("\(70.5 + Double($0))", day: $0) }

    private func take(_ day: Int, _ change: (String) -> String) throws -> (HealthImportReport, ImportBench) {
        let bench = try ImportBench()
        var elements = DamagedExportTests.ten
        elements[day - 1] = change(elements[day - 1])
        return (try bench.take(elements), bench)
    }

    @Test("A defect that leaves no doubt is mended", arguments: 1...10)
    func mended(day: Int) throws {
        let changes: [(String, (String) -> String)] = [
            ("a second start instead of an end", { $0.replacing("endDate", with: "startDate") }),
            ("a raw <", { $0.replacing("\"Scale\"", with: "\"Sca<le\"") }),
            ("a bare &", { $0.replacing("\"Scale\"", with: "\"Sca & le\"") }),
            ("a quote in a name", { $0.replacing("\"Scale\"", with: "\"Sca\"le\"") }),
            ("a control character", { $0.replacing("\"Scale\"", with: "\"Sca\u{0B}le\"") }),
            ("a reference to a control character", { $0.replacing("\"Scale\"", with: "\"Sca&#11;le\"") }),
            ("a reference to half a character", { $0.replacing("\"Scale\"", with: "\"Sca&#xD83D;le\"") }),
            ("a tag that does not end", { $0.replacing("/>", with: "") }),
            ("a tag without its slash", { $0.replacing("/>", with: ">") }),
            ("a space in a name", { $0.replacing("sourceName", with: "source Name") }),
            ("no space between attributes", { $0.replacing("\" unit", with: "\"unit") }),
            ("single quotes", { $0.replacing("unit=\"kg\"", with: "unit='kg\"") }),
        ]
        for (note, change) in changes where note != "single quotes" {
            let (report, bench) = try take(day, change)
            try check(report, bench, damaged: day, isMended: true, note)
        }
    }

    @Test("A defect that leaves a doubt is left out and handed over with its place", arguments: 1...10)
    func quarantined(day: Int) throws {
        let changes: [(String, (String) -> String)] = [
            ("no quote behind the value", { $0.replacing("\"/>", with: "/>") }),
            ("no quote behind the type", { $0.replacing("BodyMass\"", with: "BodyMass") }),
            ("a letter in the value", { $0.replacing(".5\"", with: ".5x\"") }),
            ("a month that is none", { $0.replacing("startDate=\"2024-05", with: "startDate=\"2024-15") }),
            ("a unit of another kind", { $0.replacing("\"kg\"", with: "\"cm\"") }),
            ("no value", { $0.replacing(" value=", with: " valeu=") }),
            ("no unit", { $0.replacing(" unit=", with: " unti=") }),
            ("an unknown element", { $0.replacing("<Record", with: "<Recrod") }),
            ("an end before the start", { $0.replacing("endDate=\"2024", with: "endDate=\"2023") }),
        ]
        for (note, change) in changes {
            let (report, bench) = try take(day, change)
            try check(report, bench, damaged: day, isMended: false, note)
        }
    }

    @Test("A slash too many takes nothing from what stands within an element, wherever a piece of the file ends")
    func slashTooMany() throws {
        var random = SeededGenerator()
        let moment = Export.date(3, "12:00:00")
        let pressure = ["Systolic": "120", "Diastolic": "80"].sorted { $0.key < $1.key }
        func members(_ indent: String) -> [String] {
            pressure.map {
                Export.record(
                    "HKQuantityTypeIdentifierBloodPressure\($0.key)", $0.value, "mmHg", moment, source: "Cuff",
                    indent: indent)
            }
        }
        let elements = [
            Export.record(
                "HKQuantityTypeIdentifierBodyMass", "71.5", "kg", moment, metadata: [("meal", "none"), ("Meal", "one")]),
            """
             <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="30" durationUnit="min" \
            sourceName="Watch" startDate="\(moment)" endDate="\(Export.date(3, "12:30:00"))">
              <MetadataEntry key="HKIndoorWorkout" value="1"/>
              <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" startDate="\(moment)" \
            endDate="\(Export.date(3, "12:30:00"))" sum="300" unit="kcal"/>
             </Workout>
            """,
            """
             <Correlation type="HKCorrelationTypeIdentifierBloodPressure" sourceName="Cuff" creationDate="\(moment)" \
            startDate="\(moment)" endDate="\(moment)">
            \(members("  ").joined(separator: "\n"))
             </Correlation>
            """,
        ]
        let after = members(" ") + [Export.weight("72", day: 4)]
        func content(_ bench: ImportBench) throws -> [String] {
            let types: [SampleType] = [.bodyMass, .workout, .bloodPressureSystolic, .bloodPressureDiastolic]
            return try types.flatMap { try bench.samples($0) }.map {
                "\($0.type) \($0.quantity) \($0.metadata.sorted { $0.key < $1.key }) \(String(describing: $0.workout)) "
                    + ($0.group ?? "")
            }
        }
        let whole = try ImportBench()
        let plain = try whole.take(elements + after)
        #expect(plain.quarantined == 0 && plain.mended == 0)
        let expected = try content(whole)
        #expect(expected.count == 5)
        for index in elements.indices {
            let bracket = try #require(elements[index].firstIndex(of: ">"))
            let name = try #require(elements[index].firstIndex(of: "<"))
            var changes = [elements[index].replacingCharacters(in: bracket...bracket, with: "/>")]
            if index == 0 { changes.append(elements[index].replacingCharacters(in: name...name, with: "</")) }
            for text in changes {
                var damaged = elements
                damaged[index] = text
                let bench = try ImportBench()
                let report = try bench.take(damaged + after)
                #expect(report.quarantined == 0 && report.mended == 1, "\(text): \(report)")
                #expect(try content(bench) == expected, "\(text)")
                // The same where the end of a piece falls into the element.
                for _ in 0..<2 {
                    let shift = Int.random(in: 0..<text.utf8.count, using: &random)
                    let before = elements[..<index].map { $0.utf8.count + 1 }.reduce(0, +)
                    let filling = (1 << 20) - Export.head.utf8.count - before - shift
                    let split = try ImportBench()
                    let padding = "<!--" + String(repeating: "x", count: filling - 8) + "-->"
                    #expect(try split.take([padding] + damaged + after).mended == 1)
                    #expect(try content(split) == expected, "\(text), \(shift) bytes before the end of a piece")
                }
            }
        }
    }

    @Test("What stands within a record or workout is there where only its tag is broken")
    func brokenTag() throws {
        let dates = "startDate=\"\(Export.date(3, "12:00:00"))\" endDate=\"\(Export.date(3, "12:30:00"))\""
        let record = """
             <Record type="HKQuantityTypeIdentifierHeartRateVariabilitySDNN" sourceName="Watch" unit="ms" \(dates) \
            value="45.5">
              <MetadataEntry key="Note" value="a &quot;good&quot; one"/>
              <HeartRateVariabilityMetadataList>
               <InstantaneousBeatsPerMinute bpm="61" time="6:14:48.94 PM"/>
              </HeartRateVariabilityMetadataList>
              <NewThing level="3"><Inner/></NewThing>
             </Record>
            """
        let workout = """
             <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="30" durationUnit="min" \
            sourceName="Watch" \(dates)>
              <MetadataEntry key="HKIndoorWorkout" value="1"/>
              <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" \(dates) sum="300" unit="kcal"/>
             </Workout>
            """
        let after = Export.weight("72", day: 4)
        func content(_ bench: ImportBench) throws -> [String] {
            try [SampleType.heartRateVariabilitySDNN, .workout, .bodyMass].flatMap { try bench.samples($0) }
                .map { "\($0.contentBytes) \($0.local.sorted { $0.key < $1.key })" }
        }
        let whole = try ImportBench()
        #expect(try whole.take([record, workout, after]).mended == 0)
        let expected = try content(whole)
        #expect(expected.count == 3)
        let changes: [(String, (String) -> String)] = [
            ("no space between attributes", { $0.replacing("\"Watch\" ", with: "\"Watch\"") }),
            ("a space in a name", { $0.replacing("sourceName", with: "source Name") }),
            (
                "an attribute twice",
                { $0.replacing("sourceName=\"Watch\"", with: "sourceName=\"Watch\" sourceName=\"Watch\"") }
            ),
            ("a slash in the tag", { $0.replacing("sourceName=\"Watch\"", with: "sourceName=\"Watch\"/") }),
            (
                "a slash before the name",
                { $0.replacing(" <Record type", with: " </Record type").replacing(" <Workout w", with: " </Workout w") }
            ),
        ]
        for (note, change) in changes {
            let bench = try ImportBench()
            let report = try bench.take([change(record), change(workout), after])
            #expect(report.mended == 2 && report.quarantined == 0, "\(note): \(report)")
            #expect(try content(bench) == expected, "\(note)")
        }
        // The list itself is broken: the record is there, and what is lost is counted.
        let bench = try ImportBench()
        let report = try bench.take([
            record.replacing("<InstantaneousBeatsPerMinute ", with: "<Instantaneous=").replacing(
                "source", with: "sou rce")
        ])
        #expect(report.mended == 1 && report.keptOut.values.map(\.count).reduce(0, +) == 1, "\(report)")
    }

    @Test("Text between the tags of a record or workout costs nothing, and text of an unknown element is no damage")
    func strayText() throws {
        let moment = Export.date(3, "12:00:00")
        let record = Export.record(
            "HKQuantityTypeIdentifierBodyMass", "71.5", "kg", moment, metadata: [("meal", "none"), ("Meal", "one")])
        let whole = try ImportBench()
        try whole.take([record])
        for place in [">\n", "/>\n"] {
            let bench = try ImportBench()
            let report = try bench.take([record.replacing(place, with: place + "x", maxReplacements: 1)])
            #expect(report.mended == 1 && report.quarantined == 0, "\(report)")
            #expect(try bench.samples(.bodyMass).map(\.contentBytes) == whole.samples(.bodyMass).map(\.contentBytes))
        }
        let unknown = [
            " <NewTop a=\"1\">text</NewTop>", " <NewTop2 a=\"1\"><X>text</X> more <Y/></NewTop2>",
            " <ClinicalRecord type=\"a\">t</ClinicalRecord>",
        ]
        let report = try bench.take([Export.weight("72", day: 1)] + unknown + [Export.weight("73", day: 2)])
        #expect(report.inserted == 2 && report.quarantined == 0 && report.mended == 0, "\(report)")
        #expect(Set(report.keptOut.keys) == ["NewTop", "NewTop2", "ClinicalRecord"], "\(report)")
        // One that is never closed takes nothing with it.
        let open = try ImportBench()
        let rest = try open.take([" <NewTop a=\"1\">text", Export.weight("73", day: 2)])
        #expect(rest.inserted == 1 && rest.quarantined == 1, "\(rest)")
    }

    @Test("A sound record takes nothing from the rest of an element whose beginning is lost")
    func restOfAnother() throws {
        let sound = Export.weight("72", day: 1)
        let rests = [
            "  <MetadataEntry key=\"x\" value=1/>\n </Record>",
            "  <MetadataEntry key=\"HKExternalUUID\" value=\"W1\"/>\n </Workout>",
        ]
        for rest in rests {
            let bench = try ImportBench()
            let report = try bench.take([sound, rest, Export.weight("73", day: 2)])
            #expect(report.inserted == 2, "\(report)")
            #expect(try bench.samples(.bodyMass).allSatisfy { $0.metadata.isEmpty })
        }
        let cut = try ImportBench()
        _ = try cut.take(text: Export.head + sound + "\n  <MetadataEntry key=\"a\" val")
        #expect(try cut.samples(.bodyMass).count == 1)
        let space = try ImportBench()
        _ = try space.take([sound, String(repeating: " ", count: 3 << 20), Export.weight("73", day: 2)])
        #expect(try space.samples(.bodyMass).count == 2)
        // A member of a correlation with a slash too many is not taken for a record outside.
        let moment = Export.date(3, "12:00:00")
        func member(_ name: String, _ value: String, _ indent: String) -> String {
            Export.record(
                "HKQuantityTypeIdentifierBloodPressure\(name)", value, "mmHg", moment, source: "Cuff", indent: indent)
        }
        let within = [
            member("Systolic", "120", "  ").replacing("<Record", with: "</Record"), member("Diastolic", "80", "  "),
        ]
        let head = "type=\"HKCorrelationTypeIdentifierBloodPressure\" sourceName=\"Cuff\" startDate=\"\(moment)\""
        let correlation =
            " <Correlation \(head) endDate=\"\(moment)\">\n\(within.joined(separator: "\n"))\n </Correlation>"
        let pressure = try ImportBench()
        try pressure.take([correlation, member("Systolic", "120", " "), member("Diastolic", "80", " ")])
        #expect(try pressure.samples(.bloodPressureSystolic).count == 1)
        #expect(try pressure.samples(.bloodPressureDiastolic).count == 1)
    }

    @Test("An element that is refused for a slash too many is handed over with it")
    func slashInQuarantine() throws {
        let moment = Export.date(3, "12:00:00")
        let record = Export.record(
            "HKQuantityTypeIdentifierBodyMass", "71x", "kg", moment, metadata: [("meal", "none")], indent: "")
        let bracket = try #require(record.firstIndex(of: ">"))
        let text = record.replacingCharacters(in: bracket...bracket, with: "/>")
        let file = try bench.file("slash.xml", Array(Export.document([text]).utf8))
        var parts: [(Int, [UInt8])] = []
        try HealthImport().run(file, into: bench.store, quarantine: { parts.append(($0.offset, $0.bytes)) })
        #expect(parts.map(\.0) == [Export.head.utf8.count] && parts.map(\.1) == [Array(text.utf8)])
    }

    @Test("Bytes that are no text are replaced")
    func invalidText() throws {
        var bytes = Array(Export.document(DamagedExportTests.ten).utf8)
        let place = try #require(bytes.firstIndex(of: 0x53))
        let name = try #require(bytes[place...].indices.first { bytes[$0...].starts(with: Array("\"Scale\"".utf8)) })
        bytes[name + 2] = 0xFF
        let report = try bench.take(bytes: bytes)
        #expect(report.inserted == 10 && report.mended == 1 && report.quarantined == 0)
    }

    @Test("A file that is cut off anywhere gives what stands before, and nothing wrong")
    func cutOff() throws {
        var random = SeededGenerator()
        let whole = Array(Export.document(DamagedExportTests.ten).utf8)
        let head = try #require(whole.indices.first { whole[$0...].starts(with: Array(" <Record".utf8)) })
        for _ in 0..<60 {
            let length = Int.random(in: head..<whole.count - 14, using: &random)
            let bench = try ImportBench()
            let report = try bench.take(bytes: Array(whole[..<length]))
            let complete = DamagedExportTests.ten.indices.count { index in
                let end = head + DamagedExportTests.ten[...index].map(\.utf8.count).reduce(0, +) + index
                return end <= length
            }
            #expect(report.isCutOff && report.inserted == complete, "cut at \(length)")
        }
    }

    @Test("A document type that is broken, and text behind the root, are passed over")
    func surroundings() throws {
        var text = Export.document(DamagedExportTests.ten).replacing("]>", with: "> <!ATTLIST Record\n")
        text += "junk <Record"
        #expect(try bench.take(text: text).inserted == 10)
    }

    @Test("Any change of a few bytes leaves the other elements as they are")
    func randomDamage() throws {
        var random = SeededGenerator()
        for round in 0..<300 {
            let bench = try ImportBench()
            let day = Int.random(in: 1...10, using: &random)
            var elements = DamagedExportTests.ten.map { Array($0.utf8) }
            // The digits of values and dates are not touched: nobody could know.
            let places = elements[day - 1].indices.filter { !(0x30...0x39).contains(elements[day - 1][$0]) }
            let place = try #require(places.randomElement(using: &random))
            let note: String
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                note = "round \(round): byte \(place) of day \(day) removed"
                elements[day - 1].remove(at: place)
            case 1:
                let byte = try #require(Array(" \"<>&/='x\n".utf8).randomElement(using: &random))
                note = "round \(round): \(byte) put before byte \(place) of day \(day)"
                elements[day - 1].insert(byte, at: place)
            default:
                let byte = try #require(Array(" \"<>&/='x\n".utf8).randomElement(using: &random))
                note = "round \(round): byte \(place) of day \(day) became \(byte)"
                elements[day - 1][place] = byte
            }
            let text = Array(Export.head.utf8) + elements.flatMap { $0 + [0x0A] } + Array("</HealthData>\n".utf8)
            _ = try bench.take(bytes: text)
            let values = try bench.samples(.bodyMass)
            for other in 1...10 where other != day {
                let start = try #require(Instant("2024-05-\(other < 10 ? "0" : "")\(other)T06:00:00Z"))
                #expect(
                    values.contains { $0.start == start && $0.quantity.value == 70.5 + Double(other) },
                    "\(note): the weight of day \(other)")
            }
            #expect(values.count <= 10, "\(note)")
        }
    }

    @Test("A file of comments without an end is read in one go, and what stands between them is found")
    func endlessComments() throws {
        func duration(of count: Int) throws -> Duration {
            let bench = try ImportBench()
            let broken = (0..<count).map { number in
                " <Record type=\"HKQuantityTypeIdentifierStepCount\" value=\"\(number)\"><!--"
            }
            let began = ContinuousClock.now
            let report = try bench.take(broken + [Export.weight("70", day: 2)])
            let duration = ContinuousClock.now - began
            #expect(report.inserted == 1 && report.quarantined > 0)
            return duration
        }
        // Each of them looked for its end in all that followed, so four times as many took sixteen times as long. Other
        // tests run at the same time, so the best of some attempts counts.
        var (few, many): (Duration, Duration) = (.seconds(3_600), .seconds(3_600))
        for attempt in 0..<6 where attempt == 0 || many > few * 8 {
            few = min(few, try duration(of: 5_000))
            many = min(many, try duration(of: 20_000))
        }
        #expect(many <= few * 8, "\(few), \(many)")
    }

}
