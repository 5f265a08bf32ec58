import Foundation
import HealthKV
import Testing

@testable import AppleHealthExport

/// What a real export has only now and then: damage within correlations, kinds that came later, ends that are open.
@Suite("Uncommon elements of an export")
struct UncommonElementTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    private static let times = #"startDate="\#(Export.date(1, "08:00:00"))" endDate="\#(Export.date(1, "08:00:00"))""#
    private static let created = #"creationDate="\#(Export.date(1, "08:01:00"))""#

    private static func energy(source: String = "Diet") -> String {
        #"<Record type="HKQuantityTypeIdentifierDietaryEnergyConsumed" sourceName="\#(source)" unit="kcal" "#
            + "\(created) \(times) value=\"420\"/>"
    }

    private static let food = #"<Correlation type="HKCorrelationTypeIdentifierFood" sourceName="Diet""#

    @Test(
        "A damaged correlation doubles nothing, whether its members stand on lines of their own or not",
        arguments: [
            "\(food) \(created) \(times.replacing("endDate", with: "startDate"))>%</Correlation>",
            "\(food) \(created) \(times.replacing("endDate", with: "end Date"))>%</Correlation>",
            "\(food) \(created) \(times)>%",
            "\(food.dropFirst()) \(created) \(times)>%</Correlation>",
            "\(food.replacing("Correlation ", with: "Corelation ")) \(created) \(times)>%</Correlation>",
            "\(food.replacing("<Correlation ", with: "C<orrelation ")) \(created) \(times)>%</Correlation>",
            "\(food.replacing("<Correlation ", with: "<Co<rrelation ")) \(created) \(times)>%</Correlation>",
            "\(food.replacing("<Correlation ", with: "<C>orrelation ")) \(created) \(times)>%</Correlation>",
            "\(food.replacing("<Correlation ", with: ">Correlation ")) \(created) \(times)>%</Correlation>",
            "\(food.replacing("\"HK", with: "K")) \(created) \(times)>%</Correlation>",
        ], ["", "\n  "])
    func damagedCorrelation(_ form: String, space: String) throws {
        let damaged = form.replacing("%", with: space + Self.energy() + (space.isEmpty ? "" : "\n"))
        _ = try bench.take([Self.energy(), damaged])
        #expect(try bench.samples(.dietaryEnergyConsumed).count == 1)
        // A sound file later adds nothing either.
        _ = try bench.take([Self.energy(), "\(Self.food) \(Self.created) \(Self.times)>\(Self.energy())</Correlation>"])
        #expect(try bench.samples(.dietaryEnergyConsumed).count == 1)
    }

    @Test(
        "A defect of the writer is read within a correlation as it is at the top level, and a guess is not",
        arguments: ["Diet & Co", "Diet \u{0B}Co", "Diet < Co", "Diet &#11;Co"])
    func nestedDefects(_ source: String) throws {
        let record = Self.energy(source: source)
        let correlation = "\(Self.food) \(Self.created) \(Self.times)>\(record)</Correlation>"
        var report = try bench.take([correlation])
        #expect(report.inserted == 1 && report.quarantined == 0 && report.mended == 1)
        report = try bench.take([record, correlation])
        #expect(report.inserted == 0)
        let sample = try #require(try bench.samples(.dietaryEnergyConsumed).first)
        #expect(sample.group != nil && sample.source.name.hasPrefix("Diet"))
        let bytes = Array(Export.document([correlation]).utf8)
        let mark = Array(source.utf8)
        let place = try #require(bytes.indices.last { bytes[$0...].starts(with: mark) })
        var guessed = bytes
        guessed[place + 1] = 0xFF
        let fresh = try ImportBench()
        report = try fresh.take(bytes: guessed)
        #expect(report.quarantined == 1 && report.inserted == 0)
    }

    @Test(
        "The record at the top level wins over its copy in a correlation, unless only the record was mended",
        arguments: ["za<p", "zap", "Zap", "a"], [true, false])
    func damagedCopy(_ key: String, isFirst: Bool) throws {
        func record(_ key: String) -> String {
            Export.record(
                "HKQuantityTypeIdentifierDietaryEnergyConsumed", "420", "kcal", Export.date(1, "08:00:00"),
                source: "Diet", created: Export.date(1, "08:01:00"),
                metadata: [("HKFoodType", "Soup"), (key, "lunch")])
        }
        func correlation(_ key: String) -> String {
            "\(Self.food) \(Self.created) \(Self.times)>\(record(key))</Correlation>"
        }
        func keys(_ elements: [String]) throws -> Set<String> {
            let bench = try ImportBench()
            _ = try bench.take(isFirst ? elements : elements.reversed())
            let samples = try bench.samples(.dietaryEnergyConsumed)
            #expect(samples.count == 1 && samples.first?.group != nil)
            return Set(samples.first?.metadata.keys.map { $0 } ?? [])
        }
        #expect(try keys([record("meal"), correlation(key)]) == ["HKFoodType", "meal"])
        let isNoticed = key.contains("<")
        #expect(try keys([record(key), correlation("meal")]) == ["HKFoodType", isNoticed ? "meal" : key])
    }

    @Test("Metadata of a correlation, which no group has a place for, is counted as kept out")
    func metadataOfCorrelation() throws {
        let report = try bench.take([
            "\(Self.food) \(Self.created) \(Self.times)><MetadataEntry key=\"HKFoodType\" value=\"Soup\"/>"
                + "\(Self.energy())</Correlation>"
        ])
        #expect(report.inserted == 1 && report.keptOut["MetadataEntry of Correlation"]?.count == 1)
    }

    @Test("A correlation without records is counted, and so is nothing of one that has some") func emptyCorrelation()
        throws
    {
        let empty = "\(Self.food) \(Self.created) \(Self.times)/>"
        #expect(try bench.take([empty]).keptOut["Correlation without records"]?.count == 1)
        let report = try bench.take(["\(Self.food) \(Self.created) \(Self.times)>\(Self.energy())</Correlation>"])
        #expect(report.inserted == 1 && report.keptOut.isEmpty)
    }

    @Test("A unit with a bracket that nobody escaped is read, and one of which something is lost is not")
    func unescapedUnits() throws {
        func glucose(_ unit: String) -> String {
            #"<Record type="HKQuantityTypeIdentifierBloodGlucose" sourceName="Meter" unit="\#(unit)" \#(Self.created) "#
                + "\(Self.times) value=\"5.5\"/>"
        }
        let report = try bench.take([glucose("mmol<180.1558800000541>/L"), Export.steps("12", day: 1)])
        #expect(report.inserted == 2 && report.mended == 1 && report.quarantined == 0)
        let escaped = try bench.take([glucose("mmol&lt;180.1558800000541&gt;/L")])
        #expect(escaped.inserted == 0 && escaped.unchanged == 1)
        let damaged = try bench.take([glucose("m\u{0B}g/dL")])
        #expect(damaged.inserted == 0 && damaged.quarantined == 1)
    }

    @Test("A record that is broken and was not asked for is skipped") func brokenUnwanted() throws {
        let broken = #"<Record type="HKQuantityTypeIdentifierStepCount" sourceName="Other" broken"#
        let elements = [Export.steps("12", day: 1), broken, Export.steps("13", day: 2)]
        #expect(try bench.take(elements).quarantined == 1)
        var byType = HealthImport()
        byType.types = [.bodyMass]
        #expect(try bench.take(elements, byType).quarantined == 0)
        var bySource = HealthImport()
        bySource.sources = ["Nobody"]
        #expect(try bench.take(elements, bySource).quarantined == 0)
        bySource.sources = ["Other"]
        #expect(try bench.take(elements, bySource).quarantined == 1)
    }

    @Test("Entities are refused, and a comment that mentions them is not") func entities() throws {
        let path = bench.folder.path + "/entities.xml"
        func take(_ head: String) throws -> HealthImportReport {
            let text = Export.document([Export.steps("12", day: 1)])
            try Data((head + text[text.range(of: "<HealthData")!.lowerBound...]).utf8).write(
                to: URL(fileURLWithPath: path))
            return try HealthImport().run(path, into: bench.store)
        }
        #expect(try take("<!DOCTYPE HealthData [\n<!-- <!ENTITY x 'y'> -->\n<!-- more -->\n]>\n").inserted == 1)
        for head in [
            "<!DOCTYPE HealthData [ <!ENTITY x 'y'> ]>\n", "<!DOCTYPE HealthData [<!-- a --> <!ENTITY x 'y'>]>\n",
            "<!DOCTYPE HealthData [ <!ENTITY x 'y'> <!-- a -->]>\n", "<!DOCTYPE HealthData [<!-- <!ENTITY x 'y'> ]>\n",
            "<!DOCTYPE HealthData [<!-- <HealthData> --><!ENTITY x 'y'>]>\n",
            "<!-- <HealthData> --><!-- --><!DOCTYPE HealthData [<!ENTITY x 'y'>]>\n",
        ] {
            #expect(throws: HealthImportError.entities) { try take(head) }
        }
    }

    @Test(
        "The root begins behind all comments, and its tag ends outside quotes, unless one is missing",
        arguments: [
            ("<!-- <HealthData> -->", "<HealthData locale=\"en_US\">"), ("", "<HealthData locale=\"a>b\" x='\">'>"),
            ("<!-- a \"b -->", "<HealthData locale=\"en_US>"), ("<!-- no end", "<HealthData locale=\"en_US\">"),
            ("<?xml version=\"1.0\"?>", "<HealthData>"),
        ])
    func root(head: String, tag: String) throws {
        let records = [Export.steps("12", day: 1), Export.steps("13", day: 2)].joined(separator: "\n")
        let report = try bench.take(text: "\(head)\n\(tag)\n\(records)\n</HealthData>\n")
        #expect(report.inserted == 2 && report.quarantined == 0 && report.mended == 0 && !report.isCutOff)
    }

    @Test("A folder with two exports is refused with their names, and so are files in other forms") func otherForms()
        throws
    {
        let text = Export.document([Export.steps("12", day: 1)])
        let folder = URL(fileURLWithPath: bench.folder.path + "/two")
        for name in ["a", "b"] {
            let place = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: place.appendingPathComponent("export.xml"))
        }
        #expect(throws: HealthImportError.several(["a/export.xml", "b/export.xml"])) {
            try HealthImport().run(folder.path, into: bench.store)
        }
        let file = URL(fileURLWithPath: bench.folder.path + "/other.xml")
        for (bytes, error) in [
            (Data([0x1F, 0x8B, 8, 0] + [UInt8](repeating: 7, count: 100)), HealthImportError.gzip),
            (text.data(using: .utf16)!, .utf16),
        ] {
            try bytes.write(to: file)
            #expect(throws: error) { try HealthImport().run(file.path, into: bench.store) }
        }
    }

    @Test("An archive that grows beyond what exports compress to is refused, unless that is wanted")
    func expansion() throws {
        let text = Array(Export.document([Export.steps("12", day: 1)]).utf8)
        let bytes = text + [UInt8](repeating: 0x0A, count: 65 << 20)
        let archive = HandmadeArchive(.init(deflated: "apple_health_export/export.xml", bytes))
        let path = try bench.file("bomb.zip", archive.bytes)
        #expect(throws: HealthImportError.expands("apple_health_export/export.xml", limit: 250)) {
            try HealthImport().run(path, into: bench.store)
        }
        #expect(try bench.samples(.stepCount).isEmpty)
        var task = HealthImport()
        task.expansionLimit = nil
        #expect(try task.run(path, into: bench.store).inserted == 1)
    }

    @Test("No case is made up for a category without a value, and a type without cases needs none")
    func categoriesWithoutValue() throws {
        for type in ["SleepAnalysis", "AppleStandHour"] {
            let report = try bench.take([
                #"<Record type="HKCategoryTypeIdentifier\#(type)" sourceName="W" \#(Self.times)/>"#
            ])
            #expect(report.quarantined == 1 && report.inserted == 0)
        }
        let report = try bench.take([
            #"<Record type="HKCategoryTypeIdentifierMindfulSession" sourceName="W" \#(Self.times)/>"#
        ])
        #expect(report.inserted == 1)
    }

    @Test("Types, activities and elements that came later are kept with their names, and written again")
    func laterKinds() throws {
        let category =
            #"<Record type="HKCategoryTypeIdentifierNewThing" sourceName="W" \#(Self.created) \#(Self.times) "#
            + #"value="HKCategoryValueNewThing%"/>"#
        let workout =
            #"<Workout workoutActivityType="HKWorkoutActivityTypeHoverball" duration="1" durationUnit="min" "#
            + #"sourceName="W" \#(Self.created) \#(Self.times)/>"#
        let elements = [category.replacing("%", with: "A"), category.replacing("%", with: "B"), workout]
        let report = try bench.take(elements + [#"<StateOfMind valence="1"/>"#])
        #expect(report.inserted == 3 && report.quarantined == 0 && report.mended == 0)
        #expect(report.keptOut["StateOfMind"]?.count == 1)
        #expect(try bench.take(elements).inserted == 0)
        // Two cases are two values, in whatever order they come.
        let one = try ImportBench()
        _ = try one.take([elements[1]])
        #expect(try one.take([elements[0], elements[1]]).inserted == 1)
        #expect(try one.facts() == bench.facts().filter { $0.contains("NewThing") && !$0.contains("Hoverball") })
        let path = bench.folder.path + "/again.xml"
        _ = try HealthExport().write(bench.store, to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for name in ["HKCategoryValueNewThingA", "HKCategoryValueNewThingB", "HKWorkoutActivityTypeHoverball"] {
            #expect(text.contains("\"\(name)\""), "\(name)")
        }
        let other = try ImportBench()
        #expect(try other.take(text: text).inserted == 3)
        let (written, read) = (try bench.facts(), try other.facts())
        #expect(written == read, "\(written) \(read)")
    }

    @Test("An end in the year 4001 is open")
    func openEnd() throws {
        let record =
            #"<Record type="HKQuantityTypeIdentifierBodyMass" unit="kg" sourceName="S" value="70" "#
            + #"startDate="\#(Export.date(1, "08:00:00"))" endDate="%"/>"#
        let ends = ["4001-01-01 00:00:00 +0000", "4001-01-01 05:45:00 +0545", "4000-12-31 19:00:00 -0500"]
        for end in ends {
            let bench = try ImportBench()
            #expect(try bench.take([record.replacing("%", with: end)]).inserted == 1)
            #expect(try bench.samples(.bodyMass).first?.isOpenEnded == true)
        }
    }

    @Test("A workout with neither an end nor a duration is left out, and an open end comes back as it was")
    func openEnds() throws {
        let open = "4001-01-01 00:00:00 +0000"
        let workout =
            #"<Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="W" "#
            + #"startDate="1995-01-01 08:00:00 +0000" endDate="\#(open)"%/>"#
        var report = try bench.take([workout.replacing("%", with: "")])
        #expect(report.inserted == 0 && report.quarantined == 1)
        report = try bench.take([workout.replacing("%", with: " duration=\"30\" durationUnit=\"min\"")])
        #expect(report.inserted == 1)
        let record =
            #"<Record type="HKQuantityTypeIdentifierBodyMass" unit="kg" sourceName="S" value="70" \#(Self.created) "#
            + #"startDate="\#(Export.date(1, "08:00:00"))" endDate="\#(open)"/>"#
        _ = try bench.take([record])
        let path = bench.folder.path + "/again.xml"
        _ = try HealthExport().write(bench.store, to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(try bench.take(text: text).inserted == 0)
        let other = try ImportBench()
        _ = try other.take(text: text)
        #expect(try other.facts() == bench.facts())
    }

    @Test("A number of a workout that cannot be read is left out, and counts as mended")
    func oddNumbers() throws {
        let workout =
            #"<Workout workoutActivityType="HKWorkoutActivityTypeRunning" totalDistance="x" "#
            + #"totalDistanceUnit="km" sourceName="W" \#(Self.times)/>"#
        let report = try bench.take([workout])
        #expect(report.inserted == 1 && report.mended == 1)
    }

    @Test("An attribute that stands twice with one value costs nothing, with two values the record is in quarantine")
    func repeatedAttributes() throws {
        let record = Self.energy().replacing("unit=", with: "unit=\"kcal\" unit=")
        var report = try bench.take([record])
        #expect(report.inserted == 1 && report.mended == 1)
        report = try bench.take([Self.energy().replacing("unit=", with: "unit=\"kJ\" unit=")])
        #expect(report.inserted == 0 && report.quarantined == 1)
    }

    @Test("Records behind the root are taken, and other text there is kept out")
    func behindTheRoot() throws {
        let whole = Export.document([Self.energy()])
        var report = try bench.take(text: whole + "--- end\n" + Self.energy(source: "B") + "\nrest <b> </b>")
        #expect(report.inserted == 2 && report.quarantined == 0 && !report.isCutOff)
        #expect((report.keptOut["text behind the root"]?.bytes ?? 0) > 10)
        let fresh = try ImportBench()
        report = try fresh.take(text: whole + Export.document([Self.energy(source: "B")]))
        #expect(report.inserted == 2 && !report.isCutOff)
        #expect(try fresh.take(text: whole).keptOut.isEmpty)
        #expect(try !fresh.take(text: "<HealthData/>").isCutOff)
    }

    @Test("A source without a name is not taken for the app that imports")
    func noName() throws {
        _ = try bench.take([Self.energy(source: "")])
        #expect(try bench.samples(.dietaryEnergyConsumed).first?.source.name == "Unknown")
    }

    @Test("Without a creation date a record counts as written when it starts, not when it is imported")
    func noCreationDate() throws {
        _ = try bench.take([Self.energy().replacing(Self.created, with: "")])
        let sample = try #require(try bench.samples(.dietaryEnergyConsumed).first)
        #expect(sample.modified?.time == sample.start)
    }

    @Test("A key that stands several times comes back so, whatever kind its values have")
    func repeatedKeys() throws {
        let entry = #"<MetadataEntry key="HKElevationAscended" value="% cm"/>"#
        let workout =
            #"<Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="W" \#(Self.created) \#(Self.times)>"#
            + (5...16).map { entry.replacing("%", with: "\($0)") }.joined() + "</Workout>"
        _ = try bench.take([workout])
        let path = bench.folder.path + "/again.xml"
        _ = try HealthExport().write(bench.store, to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!text.contains("(2)"))
        let other = try ImportBench()
        _ = try other.take(text: text)
        #expect(try other.facts() == bench.facts())
    }

    @Test("Without a store the numbers are those of an import into a new one")
    func withoutStore() throws {
        let elements = [
            Self.energy(), Self.energy(source: "B"),
            "\(Self.food) \(Self.created) \(Self.times)>\(Self.energy())</Correlation>",
        ]
        let file = try bench.file("dry.xml", Array(Export.document(elements).utf8))
        let dry = try HealthImport().run(file, into: nil)
        #expect(dry == (try HealthImport().run(file, into: bench.store)))
    }
}

extension ImportBench {
    /// What the samples of the store say, apart from their ids.
    fileprivate func facts() throws -> [String] {
        try store.blockingRead { txn in
            try txn.types().flatMap { try txn.samples(SampleQuery($0.type, includeShadowed: true)) }
        }.map { sample in
            let metadata = (sample.metadata.merging(sample.local) { $1 }).map { "\($0) \($1)" }.sorted()
            let workout = sample.workout.map { "\($0)" } ?? ""
            return "\(sample.type) \(sample.start) \(sample.end) \(sample.quantity) \(metadata) \(workout)"
        }.sorted()
    }
}
