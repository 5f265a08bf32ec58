import Foundation
import HealthKV
import Testing

@testable import AppleHealthExport

/// An export names no ids: what is already there is recognised by its content.
@Suite("Records without ids")
struct MatchingTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    private func isSame(_ report: HealthImportReport, inserted: Int, unchanged: Int, vetoed: Int = 0) -> Bool {
        report.inserted == inserted && report.unchanged == unchanged && report.vetoed == vetoed
            && report.replaced == 0 && report.quarantined == 0
    }

    @Test("A file that is imported again adds nothing")
    func again() throws {
        let elements = (1...20).map { Export.weight("7\($0 % 10).\($0 % 7)", day: $0) }
        #expect(isSame(try bench.take(elements), inserted: 20, unchanged: 0))
        let before = try bench.samples(.bodyMass)
        #expect(isSame(try bench.take(elements), inserted: 0, unchanged: 20))
        #expect(try bench.samples(.bodyMass) == before)
    }

    @Test("The same history in other units adds only what is new")
    func otherUnits() throws {
        #expect(
            isSame(
                try bench.take([Export.weight("72.5", day: 1), Export.weight("80", day: 2)]), inserted: 2, unchanged: 0)
        )
        let pounds = [Export.weight("159.835", "lb", day: 1), Export.weight("176.37", "lb", day: 2)]
        #expect(isSame(try bench.take(pounds + [Export.weight("160", "lb", day: 3)]), inserted: 1, unchanged: 2))
        #expect(try bench.samples(.bodyMass).map(\.quantity.unit) == [.kilogram, .kilogram, .pound])
    }

    @Test("Of a type that the app has defined, records outside its range are set aside, however many are alike")
    func definedRange() throws {
        let type = try bench.store.define(
            TypeDefinition("app.export.mood", unit: .count, combining: .mean, range: 1...5))
        let values = ["1", "2", "6", "3", "5", "0", "4", "9"]
        let elements = values.enumerated().map { number, value in
            Export.record("app.export.mood", value, "count", Export.date(number + 1, "08:00:00"), source: "App")
        }
        let report = try bench.take(elements)
        #expect(report.inserted == 5 && report.quarantined == 3)
        #expect(try bench.samples(type).map(\.quantity.value) == [1, 2, 3, 5, 4])
    }

    @Test("A value that differs by more than half a digit of the coarser one is another sample")
    func otherValue() throws {
        try bench.take([Export.weight("72.5", day: 1)])
        #expect(isSame(try bench.take([Export.weight("72.6", day: 1)]), inserted: 1, unchanged: 0))
        #expect(isSame(try bench.take([Export.weight("161.1", "lb", day: 1)]), inserted: 1, unchanged: 0))
    }

    @Test("Two nearly equal values of one file are two samples")
    func nearValues() throws {
        let elements = [Export.weight("180", "lb", day: 1), Export.weight("180.3", "lb", day: 1)]
        #expect(isSame(try bench.take(elements), inserted: 2, unchanged: 0))
        #expect(isSame(try bench.take(elements.reversed()), inserted: 0, unchanged: 2))
    }

    @Test("Of near values of one time in other units each is the nearest, in whatever order they stand")
    func nearestOfSeveral() throws {
        func walk(_ value: String, _ unit: String) -> String {
            Export.record(
                "HKQuantityTypeIdentifierDistanceWalkingRunning", value, unit, Export.date(1, "08:00:00"), source: "P")
        }
        func weight(_ value: String, _ unit: String) -> String { Export.weight(value, unit, day: 1) }
        let cases: [(stored: [String], file: [String], inserted: Int, values: [Double])] = [
            ([weight("70", "kg")], [weight("155.2", "lb"), weight("154.3", "lb")], 1, [70, 155.2]),
            (
                [weight("70", "kg"), weight("70.4", "kg")], [weight("155.2", "lb"), weight("154.3", "lb")], 0,
                [70, 70.4]
            ),
            (
                [walk("0.025", "km"), walk("0.030", "km")], [walk("0.016", "mi"), walk("0.019", "mi")], 0,
                [0.025, 0.03]
            ),
            (
                [weight("70", "kg"), weight("70", "kg"), weight("70.4", "kg")],
                [weight("155.2", "lb"), weight("154.3", "lb"), weight("154.3", "lb")], 0, [70, 70, 70.4]
            ),
        ]
        for (stored, file, inserted, values) in cases {
            for (one, other) in [(stored, file), (stored.reversed(), file), (stored, file.reversed())] {
                let bench = try ImportBench()
                try bench.take(one)
                let report = try bench.take(other)
                #expect(isSame(report, inserted: inserted, unchanged: file.count - inserted), "\(other): \(report)")
                let type = file[0].contains("Walking") ? SampleType.distanceWalkingRunning : .bodyMass
                #expect(try bench.samples(type).map(\.quantity.value).sorted() == values, "\(other)")
                #expect(isSame(try bench.take(other), inserted: 0, unchanged: file.count), "\(other) again")
            }
        }
    }

    @Test("Three equal records in other units are three stored ones")
    func threeTwins() throws {
        func three(_ value: String, _ unit: String) -> [String] {
            [String](repeating: Export.weight(value, unit, day: 1), count: 3)
        }
        #expect(isSame(try bench.take(three("70", "kg")), inserted: 3, unchanged: 0))
        #expect(isSame(try bench.take(three("154.3", "lb")), inserted: 0, unchanged: 3))
        let four = three("154.3", "lb") + [Export.weight("154.3", "lb", day: 1)]
        #expect(isSame(try bench.take(four), inserted: 1, unchanged: 3))
    }

    @Test("Another source, another end or another time is another sample")
    func otherFields() throws {
        try bench.take([Export.steps("100", day: 1)])
        let later = Export.record(
            "HKQuantityTypeIdentifierStepCount", "100", "count", Export.date(1, "08:00:00"),
            to: Export.date(1, "08:11:00"), source: "Phone")
        #expect(isSame(try bench.take([later]), inserted: 1, unchanged: 0))
        #expect(isSame(try bench.take([Export.steps("100", day: 1, source: "Watch")]), inserted: 1, unchanged: 0))
        #expect(isSame(try bench.take([Export.steps("100", day: 2)]), inserted: 1, unchanged: 0))
    }

    @Test("Identical records are as many samples, however far apart they stand", arguments: [1, 40_000])
    func twins(distance: Int) throws {
        let other = (0..<distance).map { number in
            Export.record(
                "HKQuantityTypeIdentifierHeartRate", "\(60 + number % 40)", "count/min",
                "2023-0\(1 + number / 10_000)-\(10 + number / 1_000 % 10) "
                    + "0\(number / 100 % 10):\(10 + number / 10 % 10):1\(number % 10) +0000")
        }
        let elements =
            [Export.steps("100", day: 1)] + other + [Export.steps("100", day: 1), Export.steps("100", day: 1)]
        let report = try bench.take(elements)
        #expect(report.inserted == report.read)
        #expect(try bench.samples(.stepCount).count == 3)
        let again = try bench.take(elements)
        #expect(again.inserted == 0 && again.unchanged == again.read)
        #expect(isSame(try bench.take([Export.steps("100", day: 1)]), inserted: 0, unchanged: 1))
        let more = [String](repeating: Export.steps("100", day: 1), count: 4)
        #expect(isSame(try bench.take(more), inserted: 1, unchanged: 3))
    }

    @Test("What was deleted here stays away, in whatever unit it comes again")
    func deleted() throws {
        try bench.take([Export.weight("72.5", day: 1), Export.weight("73.5", day: 2)])
        let first = try #require(try bench.samples(.bodyMass).first)
        try bench.store.write { _ = try $0.delete(id: first.id) }
        let same = [Export.weight("72.5", day: 1), Export.weight("73.5", day: 2)]
        #expect(isSame(try bench.take(same), inserted: 0, unchanged: 1, vetoed: 1))
        let pounds = [Export.weight("159.835", "lb", day: 1), Export.weight("162.04", "lb", day: 2)]
        #expect(isSame(try bench.take(pounds), inserted: 0, unchanged: 1, vetoed: 1))
        #expect(try bench.samples(.bodyMass).count == 1)
    }

    @Test("What another store deleted stays away, in whatever unit an export brings it to one that never held it")
    func deletedElsewhere() throws {
        let other = try ImportBench()
        try other.take([Export.weight("72.5", day: 1), Export.weight("80", day: 2)])
        // The one has an id from Health, the other one from an export.
        let scale = try #require(try other.samples(.bodyMass).first?.source)
        let start = try #require(try other.samples(.bodyMass).first).start + 3 * 86_400_000_000_000
        var pulled = Sample(.bodyMass, 90, .kilogram, at: start, source: scale)
        pulled.origin = .imported
        let fromHealth = pulled
        try other.store.write { txn in
            try txn.merge(fromHealth)
            for sample in try txn.samples(of: .bodyMass) where sample.quantity.value != 80 {
                try txn.delete(id: sample.id)
            }
        }
        for change in try other.store.blockingRead({ try $0.changes(since: nil) }).changes {
            guard case .deleted(let deleted) = change.kind else { continue }
            let sent = try JSONEncoder().encode(deleted)
            let brought = try JSONDecoder().decode(DeletedSample.self, from: sent)
            #expect(brought == deleted && deleted.start != nil)
            try bench.store.write { _ = try $0.merge(brought) }
        }
        let pounds = [
            Export.weight("159.835", "lb", day: 1), Export.weight("176.37", "lb", day: 2),
            Export.weight("198.416", "lb", day: 4),
        ]
        let report = try bench.take(pounds)
        #expect(report.inserted == 1 && report.vetoed == 2, "\(report)")
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [176.37])
        #expect(try bench.store.check().findings == [])
    }

    @Test("Of two samples at one time, the one that was deleted stays away and the other one stays")
    func deletedBesideAnother() throws {
        let both = [Export.weight("72.5", day: 1), Export.weight("80.1", day: 1)]
        try bench.take(both)
        let gone = try #require(try bench.samples(.bodyMass).first { $0.quantity.value == 80.1 })
        try bench.store.write { _ = try $0.delete(id: gone.id) }
        #expect(isSame(try bench.take(both), inserted: 0, unchanged: 1, vetoed: 1))
        let pounds = [Export.weight("159.835", "lb", day: 1), Export.weight("176.59", "lb", day: 1)]
        #expect(isSame(try bench.take(pounds), inserted: 0, unchanged: 1, vetoed: 1))
    }

    @Test("What a deleted sample stood beside, in a file or for the first time, is not taken for it")
    func besideDeleted() throws {
        let twin = Export.weight("72.5", day: 2)
        try bench.take([Export.weight("72.5", day: 1), twin, twin])
        for sample in try bench.samples(.bodyMass).prefix(2) {
            try bench.store.write { _ = try $0.delete(id: sample.id) }
        }
        let later = [Export.weight("72.5", day: 1), Export.weight("80.1", day: 1), twin, twin]
        #expect(isSame(try bench.take(later), inserted: 1, unchanged: 1, vetoed: 2))
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [80.1, 72.5])
        #expect(isSame(try bench.take(later), inserted: 0, unchanged: 2, vetoed: 2))
    }

    @Test("What a peer brings while an import works is the sample of the file")
    func pulledMeanwhile() throws {
        let start = try #require(Instant("2024-05-01T06:00:00.25Z"))
        let pulled = Sample(
            .bodyMass, 72.5123, .kilogram, from: start, to: start,
            source: Source(bundle: "com.example.scale", name: "Scale"), origin: .imported)
        let file = try bench.file("export.xml", Array(Export.document([Export.weight("72.51", day: 1)]).utf8))
        var isPulled = false
        let store = bench.store
        let report = try HealthImport().run(
            file, into: store, quarantine: { _ in },
            progress: { _ in
                if !isPulled { try store.write { try $0.save(pulled) } }
                isPulled = true
            })
        #expect(isPulled && isSame(report, inserted: 0, unchanged: 1))
        #expect(try bench.samples(.bodyMass).map(\.id) == [pulled.id])
    }

    @Test("A sample that was deleted before it had an id from an export stays away")
    func deletedWithRandomID() throws {
        let start = try #require(Instant("2024-05-01T06:00:00.25Z"))
        let pulled = Sample(
            .bodyMass, 72.5, .kilogram, from: start, to: start,
            source: Source(bundle: "com.example.scale", name: "Scale"),
            origin: .imported)
        try bench.store.write { try $0.save(pulled) }
        try bench.store.write { _ = try $0.delete(id: pulled.id) }
        #expect(isSame(try bench.take([Export.weight("159.835", "lb", day: 1)]), inserted: 0, unchanged: 0, vetoed: 1))
    }

    @Test("A sample that came from a peer with its id is the one in the export")
    func pulled() throws {
        let start = try #require(Instant("2024-05-01T06:00:00.25Z"))
        let pulled = Sample(
            .bodyMass, 72.5123, .kilogram, from: start, to: start,
            source: Source(bundle: "com.example.scale", name: "Scale"), origin: .imported)
        try bench.store.write { try $0.save(pulled) }
        #expect(isSame(try bench.take([Export.weight("72.51", day: 1)]), inserted: 0, unchanged: 1))
        #expect(isSame(try bench.take([Export.weight("72.52", day: 1)]), inserted: 1, unchanged: 0))
        #expect(isSame(try bench.take([Export.weight("72.51", day: 1, source: "Other")]), inserted: 1, unchanged: 0))
    }

    @Test("An import that was edited here is not brought back to what it was")
    func edited() throws {
        try bench.take([Export.weight("72.5", day: 1)])
        let id = try #require(try bench.samples(.bodyMass).first).id
        try bench.store.write { _ = try $0.overlay(id: id) { $0.quantity = Quantity(71, .kilogram) } }
        #expect(isSame(try bench.take([Export.weight("72.5", day: 1)]), inserted: 0, unchanged: 1))
        #expect(isSame(try bench.take([Export.weight("159.835", "lb", day: 1)]), inserted: 0, unchanged: 1))
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [71])
    }

    @Test("Of one sync identifier the highest version counts, whatever the order")
    func syncVersions() throws {
        func entry(_ value: String, _ version: Int) -> String {
            Export.record(
                "HKQuantityTypeIdentifierBodyMass", value, "kg", Export.date(1, "08:00:00"),
                metadata: [("HKMetadataKeySyncIdentifier", "a"), ("HKMetadataKeySyncVersion", "\(version)")])
        }
        try bench.take([entry("70", 1), entry("72", 3), entry("71", 2)])
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [72])
        #expect(isSame(try bench.take([entry("70", 1)]), inserted: 0, unchanged: 1))
        #expect(try bench.take([entry("74", 4)]).replaced == 1)
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [74])
        // Apps also number by nanoseconds.
        let now = 1_700_000_000_000_000_000
        #expect(try bench.take([entry("75", now)]).replaced == 1)
        #expect(try bench.take([entry("76", now + 1), entry("75", now)]).replaced == 1)
        #expect(try bench.samples(.bodyMass).map(\.version) == [Int64(now + 1)])
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [76])
        #expect(try bench.take([entry("77", .max)]).quarantined == 1)
    }

    /// Three weights of one time, of which that of 71 kg was created last.
    private static func createdOnSecondDay(measured day: Int) -> [String] {
        [("70", "09:00:00"), ("71", "11:00:00"), ("72", "10:00:00")].map { value, created in
            Export.record(
                "HKQuantityTypeIdentifierBodyMass", value, "kg", Export.date(day, "08:00:00"),
                created: Export.date(2, created))
        }
    }

    @Test("The time of creation decides between samples of one time")
    func created() throws {
        try bench.take(Self.createdOnSecondDay(measured: 1))
        let shown = try bench.store.blockingRead { try $0.samples(of: .bodyMass) }
        #expect(shown.map(\.quantity.value) == [71])
        #expect(shown.first?.modified?.time == Instant("2024-05-02T09:00:00Z"))
    }

    @Test("C2: the time of creation is used as it is, also before the end of the sample")
    func createdBeforeItsEnd() throws {
        try bench.take(Self.createdOnSecondDay(measured: 3))
        #expect(try bench.store.blockingRead { try $0.samples(of: .bodyMass) }.map(\.quantity.value) == [71])
        // Between the last of these and the time of measuring.
        var own = Sample(.bodyMass, 73, .kilogram, at: try #require(Instant("2024-05-03T06:00:00Z")))
        own.modified = ChangeClock(time: try #require(Instant("2024-05-02T12:00:00Z")), replica: 7)
        try bench.store.write { [own] in _ = try $0.merge(own) }
        #expect(try bench.store.blockingRead { try $0.samples(of: .bodyMass) }.map(\.quantity.value) == [73])
        #expect(try bench.store.check().isClean)
    }

    @Test("A time of creation in the future does not advance the clock of the store")
    func createdInTheFuture() throws {
        let entry = Export.record(
            "HKQuantityTypeIdentifierBodyMass", "70", "kg", Export.date(1, "08:00:00"),
            created: "2199-01-01 00:00:00 +0000")
        try bench.take([entry])
        let modified = try #require(try bench.samples(.bodyMass).first?.modified)
        #expect(modified.time < Instant("2100-01-01T00:00:00Z")!)
    }

    @Test("A device is read, whatever its address in the memory of the phone was")
    func device() throws {
        func entry(_ address: String) -> String {
            Export.record(
                "HKQuantityTypeIdentifierHeartRate", "62", "count/min", Export.date(1, "08:00:00"), source: "Watch",
                device: "&lt;&lt;HKDevice: \(address)&gt;, name:Apple Watch, manufacturer:Apple Inc., model:Watch, "
                    + "hardware:Watch6,1, software:10.0&gt;")
        }
        try bench.take([entry("0x281da8af0")])
        #expect(isSame(try bench.take([entry("0x123")]), inserted: 0, unchanged: 1))
        let sample = try #require(try bench.samples(.heartRate).first)
        #expect(sample.device?.name == "Apple Watch" && sample.device?.hardwareVersion == "Watch6,1")
        #expect(sample.device?.softwareVersion == "10.0" && sample.source.product == "Watch6,1")
    }

    @Test("Records whose devices differ in the address only have one device, and those with other devices have theirs")
    func manyAddresses() throws {
        func entry(_ number: Int, _ name: String) -> String {
            Export.record(
                "HKQuantityTypeIdentifierStepCount", "\(100 + number)", "count",
                "2024-05-0\(1 + number / 20) 08:\(10 + number % 20):00 +0200", source: "Watch",
                device: "&lt;&lt;HKDevice: 0x28\(String(number * 7_919, radix: 16))&gt;, name:\(name), "
                    + "hardware:Watch6,2&gt;",
                metadata: number % 3 == 0 ? [("HKWasUserEntered", "1")] : [])
        }
        let elements = (0..<60).map { entry($0, $0 % 4 == 3 ? "Watch, left" : "Watch") }
        #expect(isSame(try bench.take(elements), inserted: 60, unchanged: 0))
        for (number, sample) in try bench.samples(.stepCount).enumerated() {
            #expect(sample.quantity.value == Double(100 + number) && sample.isUserEntered == (number % 3 == 0))
            #expect(sample.device?.name == (number % 4 == 3 ? "Watch, left" : "Watch"))
            #expect(sample.source.product == "Watch6,2")
        }
        #expect(isSame(try bench.take(elements), inserted: 0, unchanged: 60))
    }

    @Test("Samples that came alone join their group later, with edits over them, and readers of changes hear of it")
    func joined() throws {
        let types = ["HKQuantityTypeIdentifierDietaryProtein", "HKQuantityTypeIdentifierDietaryFatTotal"]
        func records(_ day: Int, _ indent: String) -> [String] {
            types.map {
                Export.record(
                    $0, "\(day).5", "g", Export.date(day, "12:00:00"), source: "Diary", metadata: [("meal", "lunch")],
                    indent: indent)
            }
        }
        let alone = (1...9).flatMap { records($0, " ") }
        #expect(isSame(try bench.take(alone), inserted: 18, unchanged: 0))
        let edited = try #require(try bench.samples(.dietaryProtein).first).id
        try bench.store.write { try $0.overlay(id: edited) { $0.quantity = Quantity(77, .gram) } }
        let token = try bench.store.blockingRead { $0.currentToken }
        let meals = (1...9).map { day in
            " <Correlation type=\"HKCorrelationTypeIdentifierFood\" sourceName=\"Diary\" creationDate=\""
                + "\(Export.date(day, "12:00:00"))\" startDate=\"\(Export.date(day, "12:00:00"))\" endDate=\""
                + "\(Export.date(day, "12:00:00"))\">\n" + records(day, "  ").joined(separator: "\n")
                + "\n </Correlation>"
        }
        let report = try bench.take(alone + meals)
        #expect(report.replaced == 18 && report.inserted == 0)
        let (protein, fat) = (try bench.samples(.dietaryProtein), try bench.samples(.dietaryFatTotal))
        #expect(protein.count == 9 && fat.count == 9 && Set(protein.map(\.group)).count == 9)
        #expect(protein.map(\.group) == fat.map(\.group) && !protein.map(\.group).contains(nil))
        #expect(protein.first?.quantity.value == 77 && protein.first?.original?.quantity.value == 1.5)
        #expect(protein.dropFirst().allSatisfy { $0.version == 2 && $0.metadata["meal"] == .string("lunch") })
        let told = try bench.store.blockingRead { try $0.changes(since: token) }.changes
        #expect(told.count == 18)
        let findings = try bench.store.check().findings
        #expect(findings.isEmpty, "\(findings)")
        #expect(isSame(try bench.take(alone + meals), inserted: 0, unchanged: 36))
        // A store that has the samples without their groups learns of these, and not the other way round.
        let other = try ImportBench()
        try other.take(alone)
        let (with, without) = (protein[1], try #require(try other.samples(.dietaryProtein).dropFirst().first))
        #expect(with.id == without.id && without.group == nil)
        try bench.store.write { _ = try $0.merge(without) }
        try other.store.write { _ = try $0.merge(with) }
        #expect(try bench.samples(.dietaryProtein)[1] == with && other.samples(.dietaryProtein)[1] == with)
    }

    @Test("A sample with a sync identifier that joined a group takes the next version of its source, before or with it")
    func joinedThenEdited() throws {
        func record(_ value: String, _ version: Int, _ indent: String) -> String {
            Export.record(
                "HKQuantityTypeIdentifierDietaryProtein", value, "g", Export.date(1, "12:00:00"), source: "Diary",
                metadata: [("HKMetadataKeySyncIdentifier", "lunch"), ("HKMetadataKeySyncVersion", "\(version)")],
                indent: indent)
        }
        func meal(_ value: String, _ version: Int) -> String {
            let date = Export.date(1, "12:00:00")
            return
                " <Correlation type=\"HKCorrelationTypeIdentifierFood\" sourceName=\"Diary\" creationDate=\"\(date)\" "
                + "startDate=\"\(date)\" endDate=\"\(date)\">\n\(record(value, version, "  "))\n </Correlation>"
        }
        for together in [false, true] {
            let bench = try ImportBench()
            try bench.take([record("20", 1, " ")])
            let report = try bench.take([meal("20", 1)] + (together ? [record("30", 2, " ")] : []))
            #expect(report.replaced == (together ? 2 : 1))
            if !together { #expect(try bench.take([record("30", 2, " ")]).replaced == 1) }
            let samples = try bench.samples(.dietaryProtein)
            #expect(samples.map(\.quantity.value) == [30] && samples.first?.version == 2)
            #expect(try bench.take([record("20", 1, " ")]).unchanged == 1)
            #expect(try bench.samples(.dietaryProtein) == samples)
        }
    }

    @Test("An import that was stopped within a batch takes all records when it is run again")
    func stopped() throws {
        struct Stop: Error {}
        let elements = (0..<9_000).map { number in
            Export.record(
                "HKQuantityTypeIdentifierHeartRate", "\(60 + number % 40)", "count/min",
                "2023-01-\(10 + number / 3_600) 0\(number / 600 % 6):\(10 + number / 60 % 10 * 5):\(10 + number % 50) +0000"
            )
        }
        let path = try bench.file("export.xml", Array(Export.document(elements).utf8))
        let task = HealthImport()
        #expect(throws: Stop.self) { try task.run(path, into: bench.store, progress: { _ in throw Stop() }) }
        let begun = try bench.samples(.heartRate).count
        #expect(begun > 0 && begun < 9_000)
        let report = try task.run(path, into: bench.store)
        #expect(report.unchanged == begun && report.inserted == 9_000 - begun)
        #expect(try bench.samples(.heartRate).count == 9_000)
    }

    @Test("Another file of the same size and beginning is not taken for one whose import was stopped") func otherFile()
        throws
    {
        struct Stop: Error {}
        // The files differ behind their first megabyte, in records of the first batch.
        func document(_ value: Int) -> [UInt8] {
            let elements = (0..<40_000).map { number in
                Export.record(
                    "HKQuantityTypeIdentifierHeartRate", "\((9_000..<12_000).contains(number) ? value : 30)",
                    "count/min",
                    "2023-0\(1 + number / 10_000)-\(10 + number / 3_600 % 10) \(10 + number / 600 % 6):"
                        + "\(10 + number / 60 % 10 * 5):\(10 + number % 50) +0000")
            }
            return Array(Export.document(elements).utf8)
        }
        let (first, second) = (document(61), document(62))
        #expect(first.count == second.count && first.prefix(1 << 20) == second.prefix(1 << 20))
        let path = try bench.file("export.xml", first)
        #expect(throws: Stop.self) {
            try HealthImport().run(
                path, into: bench.store, progress: { if $0.bytes > first.count - 1_200_000 { throw Stop() } })
        }
        let begun = try bench.samples(.heartRate)
        #expect(begun.count >= 30_000 && begun.contains { $0.quantity.value == 61 })
        // With the same file, it goes on behind what is stored.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceReferenceDate: 1)],
            ofItemAtPath: bench.file("export.xml", second))
        try HealthImport().run(path, into: bench.store)
        #expect(try bench.samples(.heartRate).contains { $0.quantity.value == 62 })
    }

    @Test("Records of several sync identifiers are as many samples, however equal they are, beside an unnamed one")
    func equalNamed() throws {
        func steps(_ name: String?, version: Int = 1) -> String {
            let names = name.map {
                [("HKMetadataKeySyncIdentifier", $0), ("HKMetadataKeySyncVersion", "\(version)")]
            }
            return Export.record(
                "HKQuantityTypeIdentifierStepCount", "100", "count", Export.date(1, "08:00:00"),
                to: Export.date(1, "08:10:00"), source: "Phone", metadata: names ?? [])
        }
        let elements = [steps("a", version: 2), steps(nil), steps("b"), steps("a"), steps("c")]
        for order in [elements, elements.reversed()] {
            let fresh = try ImportBench()
            try fresh.take(order)
            #expect(try Set(fresh.samples(.stepCount).map(\.syncIdentifier)) == ["a", "b", "c", nil])
            #expect(try fresh.samples(.stepCount).count == 4)
            try fresh.take(order)
            try fresh.take(order.reversed())
            #expect(try fresh.samples(.stepCount).count == 4)
        }
    }

    @Test("A record of another sync identifier, equal to one that an earlier file brought, is another sample")
    func equalNamedLater() throws {
        func steps(_ name: String, created: String?) -> String {
            Export.record(
                "HKQuantityTypeIdentifierStepCount", "100", "count", Export.date(1, "08:00:00"),
                to: Export.date(1, "08:10:00"), source: "Phone", created: created,
                metadata: [("HKMetadataKeySyncIdentifier", name), ("HKMetadataKeySyncVersion", "1")])
        }
        for created in [nil, Export.date(1, "07:00:00"), Export.date(1, "09:00:00")] {
            for whole in [false, true] {
                let fresh = try ImportBench()
                try fresh.take([steps("a", created: nil)])
                let second = [steps("b", created: created)] + (whole ? [steps("a", created: nil)] : [])
                #expect(try fresh.take(second).inserted == 1)
                #expect(try Set(fresh.samples(.stepCount).map(\.syncIdentifier)) == ["a", "b"])
                #expect(try fresh.take(second).unchanged == second.count)
            }
        }
    }

    @Test(
        "In other units, a record is the stored sample of its own value rather than a near one",
        arguments: [false, true])
    func exactBeforeNear(reversed: Bool) throws {
        try bench.take([Export.weight("80", day: 1), Export.weight("80.01", day: 1)])
        var pounds = [
            Export.weight("176.39184586", "lb", day: 1), Export.weight("176.36980975", "lb", day: 1),
        ]
        if reversed { pounds.reverse() }
        let report = try bench.take(pounds)
        #expect(report.inserted == 0 && report.unchanged == 2, "\(report)")
    }

    @Test("In other units, a near value beside the one that is held is another sample", arguments: [false, true])
    func nearInOtherUnits(reversed: Bool) throws {
        func energy(_ value: String, _ unit: String) -> String {
            Export.record(
                "HKQuantityTypeIdentifierActiveEnergyBurned", value, unit, Export.date(1, "08:00:00"),
                to: Export.date(1, "08:10:00"))
        }
        try bench.take([energy("100", "kcal"), energy("100", "kcal")])
        var elements = [energy("418.4", "kJ"), energy("418.4", "kJ"), energy("419", "kJ")]
        if reversed { elements.reverse() }
        let report = try bench.take(elements)
        #expect(report.inserted == 1 && report.unchanged == 2)
        try bench.take([energy("100", "kcal"), energy("100", "kcal")])
        #expect(try bench.samples(.activeEnergyBurned).count == 3)
        try bench.take([Export.weight("80", day: 2)])
        let pounds = [Export.weight("176.4", "lb", day: 2), Export.weight("176.8", "lb", day: 2)]
        #expect(isSame(try bench.take(reversed ? pounds.reversed() : pounds), inserted: 1, unchanged: 1))
    }

    @Test("A record that no store holds is left out alone, also behind others like it") func unstorable() throws {
        func distance(_ value: String, day: Int) -> String {
            Export.record(
                "HKQuantityTypeIdentifierDistanceWalkingRunning", value, "km", Export.date(day, "08:00:00"),
                to: Export.date(day, "08:10:00"))
        }
        for bad in [
            distance("1", day: 3).replacing("2024-", with: "1709-"),
            distance("1" + String(repeating: "0", count: 306), day: 3),
        ] {
            let fresh = try ImportBench()
            let report = try fresh.take([distance("1", day: 1), distance("2", day: 2), bad, distance("3", day: 4)])
            #expect(report.inserted == 3 && report.quarantined == 1, "\(report)")
        }
    }

    @Test("Sources whose names look like the address of a device are different sources, and so are such devices")
    func addressElsewhere() throws {
        func entry(_ day: Int, source: String, device: String? = nil) -> String {
            Export.record(
                "HKQuantityTypeIdentifierStepCount", "100", "count", Export.date(day, "08:00:00"), source: source,
                device: device)
        }
        try bench.take([
            entry(1, source: "HKDevice: 0x1"), entry(2, source: "HKDevice: 0x2"),
            entry(3, source: "Watch", device: "name:HKDevice: 0xA"),
            entry(4, source: "Watch", device: "name:HKDevice: 0xB"),
            entry(5, source: "Watch", device: "&lt;&lt;HKDevice: 0x5, name:left&gt;"),
            entry(6, source: "Watch", device: "&lt;&lt;HKDevice: 0x6, name:left&gt;"),
        ])
        let samples = try bench.samples(.stepCount)
        #expect(samples.map(\.source.name) == ["HKDevice: 0x1", "HKDevice: 0x2", "Watch", "Watch", "Watch", "Watch"])
        #expect(samples[2].device?.name == "HKDevice: 0xA" && samples[3].device?.name == "HKDevice: 0xB")
    }
}
