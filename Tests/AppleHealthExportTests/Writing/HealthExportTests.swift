import Foundation
import HealthKV
import Testing

@testable import AppleHealthExport

@Suite("Writing exports")
struct HealthExportTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    private func written(_ name: String = "out.xml", _ task: HealthExport = HealthExport()) throws -> (
        String, HealthExportReport
    ) {
        let path = bench.folder.path + "/" + name
        let report = try task.write(bench.store, to: path)
        return (try String(contentsOfFile: path, encoding: .utf8), report)
    }

    private func elements(_ text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(" <Record") || $0.hasPrefix("  <Meta") }.map { String($0) }
    }

    /// Samples of every kind, some with everything that a sample may have.
    private func fill() throws {
        let start = try #require(Instant("2024-05-01T06:00:00Z"))
        var run = Sample.workout(
            Workout(
                .running, energy: Quantity(312.5, .kilocalorie), distance: Quantity(5.5, .kilometer),
                statistics: [
                    WorkoutStatistics(
                        .heartRate, from: start, to: start + 60 * Instant.nanosecondsPerSecond,
                        average: Quantity(130, .countPerMinute), maximum: Quantity(170.5, .countPerMinute))
                ],
                events: [WorkoutEvent(.segment, from: start, to: start + 5 * Instant.nanosecondsPerSecond)],
                activities: [WorkoutActivity(.running, from: start, to: start + Instant.nanosecondsPerSecond)]),
            from: start, to: start + 2_400 * Instant.nanosecondsPerSecond, duration: 1_800)
        run.timeZone = "Europe/Paris"
        var weight = Sample(
            .bodyMass, 72.4, .kilogram, from: start + 5, to: start + 5,
            source: Source(
                bundle: "com.example.a", name: "A <&\"'> \u{1}", version: "1.2", product: "P", system: "1.0"),
            isUserEntered: true, device: Device(name: "Scale, new", manufacturer: "M", model: "X"),
            metadata: [
                "text": .string("a\nb\t\"c\""), "number": .number(-0.0025), "flag": .bool(true), "day": .date(start),
                "goal": .quantity(Quantity(70, .kilogram)), "least": .number(1e-300),
            ])
        weight.local = ["note": .string("n")]
        let open = Sample(.sleepAnalysis, 5, .count, from: start, to: .distantFuture)
        let meal = [
            Sample(.dietaryProtein, 11, .gram, at: start, group: "lunch"),
            Sample(.dietaryFiber, 3.25, .gram, at: start, group: "lunch"),
            Sample(.stepCount, 3, .count, at: start, group: "other"),
        ]
        try bench.store.write { [run, weight] transaction in
            for sample in [run, weight, open] + meal { try transaction.save(sample) }
        }
    }

    @Test("A record stands in one line, with Apple's attributes in Apple's order")
    func record() throws {
        try bench.take([
            Export.record(
                "HKQuantityTypeIdentifierBodyMass", "159.8", "lb", Export.date(1, "08:00:00"), source: "Scale &amp; Co",
                created: Export.date(1, "08:00:10"), metadata: [("HKWasUserEntered", "1")])
        ])
        var task = HealthExport()
        task.secondsFromGMT = 7_200
        let (text, report) = try written("out.xml", task)
        let date = "2024-05-01 08:00:00 +0200"
        #expect(
            elements(text) == [
                " <Record type=\"HKQuantityTypeIdentifierBodyMass\" sourceName=\"Scale &amp; Co\" unit=\"lb\" "
                    + "creationDate=\"2024-05-01 08:00:10 +0200\" startDate=\"\(date)\" endDate=\"\(date)\" value=\"159.8\">",
                "  <MetadataEntry key=\"HKWasUserEntered\" value=\"1\"/>",
            ])
        #expect(report.samples == 1 && report.bytes == text.utf8.count && report.fractionsLost == 0)
        task.secondsFromGMT = -12_600
        #expect(try written("west.xml", task).0.contains("startDate=\"2024-05-01 02:30:00 -0330\""))
    }

    @Test("C2: what a peer brought is exported with the time as which it counts, not with the look before it came")
    func creation() throws {
        let time = try #require(Instant("2024-05-01T06:00:00Z"))
        // From a first import, after a look before its end, and after one behind it.
        for (day, clock) in [
            (0, Instant(nanoseconds: 0)), (1, time), (2, time + 5 * 86_400 * Instant.nanosecondsPerSecond),
        ] {
            let at = time + Int64(day) * 86_400 * Instant.nanosecondsPerSecond
            var sample = Sample(
                .bodyMass, 70 + Double(day), .kilogram, from: at, to: at, source: Source(name: "Scale"),
                origin: .imported)
            sample.modified = ChangeClock(time: clock, replica: 7)
            try bench.store.write { [sample] in _ = try $0.merge(sample) }
        }
        var task = HealthExport()
        task.secondsFromGMT = 0
        let dates = elements(try written("out.xml", task).0).compactMap { line in
            line.split(separator: "creationDate=\"").last?.prefix(10)
        }
        #expect(dates == ["2024-05-01", "2024-05-02", "2024-05-06"])
        var issued: [String] = []
        try task.observations(of: bench.store) { bundle in
            issued += String(decoding: bundle, as: UTF8.self).split(separator: "\"issued\":\"").dropFirst().map {
                String($0.prefix(10))
            }
        }
        #expect(issued == dates.map { String($0) })
    }

    @Test("The same store gives the same bytes, and the file is for its owner only")
    func deterministic() throws {
        try fill()
        #expect(try written("a.xml").0 == written("b.xml").0)
        let mode = try FileManager.default.attributesOfItem(atPath: bench.folder.path + "/a.xml")[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test("An exact export gives the same samples again, with ids, clocks and fractions")
    func exact() throws {
        try fill()
        try bench.take(
            (1...20).map { Export.weight("\(70 + $0)", day: $0) } + [
                Export.steps("5", day: 1), Export.steps("5", day: 1),
            ])
        var task = HealthExport()
        task.isExact = true
        let report = try task.write(bench.store, to: bench.folder.path + "/exact.zip")
        #expect(report.idsLost == 0 && report.fractionsLost == 0)
        let other = try ImportBench()
        let imported = try HealthImport().run(bench.folder.path + "/exact.zip", into: other.store)
        #expect(imported.inserted == report.samples && imported.quarantined == 0 && imported.mended == 0)
        for type in try bench.store.blockingRead({ try $0.typesWithSamples() }) {
            #expect(try bench.samples(type) == other.samples(type), "\(type)")
        }
        let again = try HealthImport().run(bench.folder.path + "/exact.zip", into: bench.store)
        #expect(again.unchanged == again.read && again.inserted == 0)
    }

    @Test("What Apple's format has no place for is counted, and the rest survives")
    func losses() throws {
        try fill()
        let (text, report) = try written()
        #expect(report.samples == 6 && report.idsLost == 6 && report.fractionsLost == 1 && report.detailsLost == 6)
        #expect(report.groupsLost == 1 && report.charactersLost == 1)
        #expect(text.contains("key=\"least\" value=\"0.000") && text.contains("value=\"a&#10;b&#9;&quot;c&quot;\""))
        let other = try ImportBench()
        let imported = try HealthImport().run(bench.folder.path + "/out.xml", into: other.store)
        #expect(imported.inserted == 6 && imported.quarantined == 0 && imported.mended == 0)
        let meal = try other.samples(.dietaryProtein) + other.samples(.dietaryFiber)
        #expect(meal.count == 2 && meal[0].group != nil && meal[0].group == meal[1].group)
        let workout = try #require(try other.samples(.workout).first)
        let original = try #require(try bench.samples(.workout).first)
        #expect(workout.duration == 1_800 && workout.timeZone == "Europe/Paris" && workout.workout == original.workout)
        let weight = try #require(try other.samples(.bodyMass).first)
        #expect(weight.quantity == Quantity(72.4, .kilogram) && weight.isUserEntered)
        #expect(weight.source.name == "A <&\"'> " && weight.device?.name == "Scale, new")
        #expect(weight.metadata["goal"] == .string("70 kg") && weight.metadata["text"] == .string("a\nb\t\"c\""))
    }

    @Test("An export of an imported store, imported again, is the same store")
    func roundTrip() throws {
        let date = Export.date(1, "08:00:00")
        try bench.take(
            (1...9).map { Export.weight("7\($0).25", day: $0) } + [
                Export.steps("5", day: 1), Export.steps("5", day: 1),
            ] + [
                """
                 <Record type="HKQuantityTypeIdentifierHeartRateVariabilitySDNN" sourceName="Watch" unit="ms"
                  startDate="\(date)" endDate="\(date)" value="41.5">
                  <HeartRateVariabilityMetadataList>
                   <InstantaneousBeatsPerMinute bpm="61" time="6:14:48.94 PM"/>
                   <InstantaneousBeatsPerMinute bpm="62" time="00:20:37,80"/>
                  </HeartRateVariabilityMetadataList>
                 </Record>
                """
            ])
        _ = try written()
        let other = try ImportBench()
        try HealthImport().run(bench.folder.path + "/out.xml", into: other.store)
        for type in [SampleType.bodyMass, .stepCount, .heartRateVariabilitySDNN] {
            let (left, right) = (try bench.samples(type), try other.samples(type))
            #expect(left.map(\.id) == right.map(\.id) && left.map(\.local) == right.map(\.local))
        }
        #expect(try HealthImport().run(bench.folder.path + "/out.xml", into: bench.store).inserted == 0)
    }

    @Test("A table has a row for each sample, and quotes what needs it")
    func table() throws {
        try fill()
        let (text, report) = try written("out.csv")
        let lines = text.components(separatedBy: "\r\n")
        #expect(lines.count == report.samples + 2 && lines[0].hasPrefix("id,type,start,end,value,unit,source"))
        #expect(text.contains("\"A <&\"\"'> \u{1}\"") && text.contains(",2024-05-01T06:00:00.000000005Z,"))
    }

    @Test("Types, sources and times choose what is written")
    func filters() throws {
        try bench.take([
            Export.weight("70", day: 1), Export.weight("71", day: 2, source: "B"), Export.steps("5", day: 1),
        ])
        var task = HealthExport()
        task.types = [.bodyMass]
        #expect(try written("a.xml", task).1.samples == 2)
        task.sources = ["B"]
        #expect(try written("b.xml", task).1.samples == 1)
        task.range = TimeRange(from: .distantPast, to: Instant("2024-05-02T00:00:00Z")!)
        #expect(try written("c.xml", task).1.samples == 0)
    }

    @Test("Numbers are written without an exponent, and read back the same")
    func decimals() throws {
        let numbers = [0.1, 1e21, 123_456_789.5, 1e-7, 1.5e-10, 2.5e300, -0.25, 72, 0, 1 / 3.0, .leastNonzeroMagnitude]
        for number in numbers {
            let text = ExportLine.decimal(number)
            #expect(!text.contains("e") && Double(text) == number, "\(number)")
        }
    }

    @Test("A meal as a peer gives it keeps its correlation, and an exact export has the correlation's own sample")
    func correlations() throws {
        let start = try #require(Instant("2024-05-01T06:00:00Z"))
        let source = Source(bundle: "com.example.diet", name: "Diet")
        func pulled(_ type: SampleType, _ value: Double, _ unit: HealthUnit) -> Sample {
            Sample(
                type, value, unit, from: start, to: start, source: source, origin: .imported,
                metadata: type.kind == .correlation ? ["HKFoodType": .string("Soup")] : [:], group: "meal")
        }
        let samples = [
            pulled(.food, 1, .count), pulled(.dietaryProtein, 11, .gram), pulled(.dietaryFiber, 3, .gram),
        ]
        try bench.store.write { [samples] transaction in for sample in samples { try transaction.save(sample) } }
        let (text, report) = try written()
        #expect(report.groupsLost == 0 && report.samples == 3 && report.detailsLost == 3)
        #expect(!text.contains("<Record type=\"HKCorrelation"))
        #expect(text.contains(" <Correlation type=\"HKCorrelationTypeIdentifierFood\" sourceName=\"Diet\""))
        #expect(text.contains("  <MetadataEntry key=\"HKFoodType\" value=\"Soup\"/>\n  <Record"))
        var task = HealthExport()
        task.isExact = true
        _ = try written("exact.xml", task)
        let other = try ImportBench()
        let imported = try HealthImport().run(bench.folder.path + "/exact.xml", into: other.store)
        #expect(imported.inserted == 3 && imported.quarantined == 0)
        for type in [SampleType.food, .dietaryProtein, .dietaryFiber] {
            #expect(try bench.samples(type) == other.samples(type))
        }
    }

    @Test("A sample whose metadata has the key of exact exports survives one")
    func ownKey() throws {
        var sample = Sample(.bodyMass, 70, .kilogram, at: Instant(nanoseconds: 0))
        sample.metadata = [ExactKeys.sample: .string("mine")]
        try bench.store.write { [sample] in try $0.save(sample) }
        var task = HealthExport()
        task.isExact = true
        _ = try written("exact.xml", task)
        let other = try ImportBench()
        #expect(try HealthImport().run(bench.folder.path + "/exact.xml", into: other.store).inserted == 1)
        #expect(try other.samples(.bodyMass) == bench.samples(.bodyMass))
        #expect(try written("plain.xml").1.detailsLost == 1)
    }

    @Test("Characters that XML cannot have are left out and counted")
    func characters() throws {
        try bench.store.write { transaction in
            let metadata = ["k": MetadataValue.string("a\u{FFFE}b\u{FFFF}c\u{2}é")]
            try transaction.save(Sample(.bodyMass, 70, .kilogram, at: Instant(nanoseconds: 0), metadata: metadata))
        }
        let (text, report) = try written()
        #expect(text.contains("value=\"abcé\"") && report.charactersLost == 3)
    }

    @Test("A file that is there stays, unless it may be replaced, and nothing else beside it is touched")
    func existing() throws {
        try bench.take([Export.weight("70", day: 1)])
        let path = try bench.file("out.xml", Array("mine".utf8))
        let beside = try bench.file("out.xml.partial", Array("mine too".utf8))
        #expect(throws: HealthExportError.self) { try HealthExport().write(bench.store, to: path) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        try HealthExport().write(bench.store, to: path, replacing: true)
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("<HealthData"))
        #expect(try String(contentsOfFile: beside, encoding: .utf8) == "mine too")
        let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
        #expect(!names.contains { $0.hasPrefix(".out") })
    }

    @Test("The date of an export is that of its latest sample, also long ago")
    func date() throws {
        try bench.store.write { try $0.save(Sample(.bodyMass, 70, .kilogram, at: Instant("1999-05-01T06:00:00Z")!)) }
        #expect(try written().0.contains("<ExportDate value=\"1999-05-01 06:00:00 +0000\"/>"))
    }

    @Test("An exact export carries what was set for types, and a part of it, a plain one or a dry run sets nothing")
    func settings() throws {
        try fill()
        let order = [
            RankedSource(SourceIdentity(name: "Scale \"<1>\"")),
            RankedSource(SourceIdentity(bundle: "com.example.a", name: "A"), isUserEntered: true),
        ]
        let mood = SampleType("org.example.energy-level")
        try bench.store.write { transaction in
            try transaction.setPriority(order, of: .bodyMass)
            try transaction.setPriority([order[1]], of: mood)
        }
        try bench.store.setShadowing(of: .bodyMass, false)
        try bench.store.setShadowing(of: .stepCount, true)
        let definition = TypeDefinition("org.example.energy-level", unit: .count, combining: .mean, range: 0...10)
        try bench.store.define(definition)
        var exact = HealthExport()
        exact.isExact = true
        let path = bench.folder.path + "/exact.xml"
        try exact.write(bench.store, to: path)
        func taken(
            _ task: HealthImport, from path: String
        ) throws -> ([SampleType: [RankedSource]], [SampleType: Bool], [TypeDefinition]) {
            let other = try ImportBench()
            let report = try task.run(path, into: other.store)
            #expect(report.quarantined == 0 && report.keptOut.isEmpty)
            return try other.store.blockingRead {
                (try $0.priorities(), try $0.shadowing(), try $0.definitions())
            }
        }
        let whole = try taken(HealthImport(), from: path)
        #expect(whole.2 == [definition])
        #expect(whole.0 == [.bodyMass: order, mood: [order[1]]])
        #expect(whole.1 == [.bodyMass: false, .stepCount: true])
        var part = HealthImport()
        part.types = [.bodyMass]
        var dry = HealthImport()
        dry.isDryRun = true
        for task in [part, dry] {
            let found = try taken(task, from: path)
            #expect(found.0.isEmpty && found.1.isEmpty && found.2.isEmpty)
        }
        let plain = try written("plain.xml").0
        #expect(!plain.contains("<HealthKVSettings"))
        // Settings that cannot be read are quarantined, and the samples are taken.
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let damaged = text.replacing("&quot;priorities", with: "&quot;priorites")
        #expect(damaged != text)
        let other = try ImportBench()
        let report = try other.take(text: damaged)
        #expect(report.quarantined == 1 && report.inserted > 5)
    }
}
