import HealthKV
import Testing

@testable import AppleHealthExport

/// Records to which their app gave a name (`HKExternalUUID`): a later export may hold them with other values.
@Suite("Records that an app gave a name")
struct NamedRecordTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    /// Energy of a meal. `written` is the hour of its creation date.
    private static func energy(
        _ value: String, _ name: String?, day: Int = 1, source: String = "Diary", end: String = "12:00:00",
        written: Int = 12
    ) -> String {
        Export.record(
            "HKQuantityTypeIdentifierDietaryEnergyConsumed", value, "kcal", Export.date(day, "12:00:00"),
            to: Export.date(day, end), source: source, created: Export.date(day, "\(written):00:00"),
            metadata: name.map { [("HKExternalUUID", $0)] } ?? [])
    }

    private func values() throws -> [Double] {
        try bench.samples(.dietaryEnergyConsumed).map(\.quantity.value).sorted()
    }

    @Test("A later export with another value of a named record changes the sample, and an earlier one changes nothing")
    func edited() throws {
        let first = [Self.energy("100", "A"), Self.energy("200", "B", day: 2)]
        let later = [Self.energy("150", "A", written: 14), Self.energy("200", "B", day: 2)]
        try bench.take(first)
        let ids = try bench.samples(.dietaryEnergyConsumed).map(\.id)
        let report = try bench.take(later)
        #expect(report.inserted == 0 && report.replaced == 1 && report.unchanged == 1)
        for file in [later, first, later] {
            let report = try bench.take(file)
            #expect(report.inserted == 0 && report.replaced == 0 && report.unchanged == 2)
            #expect(try values() == [150, 200])
        }
        #expect(try bench.samples(.dietaryEnergyConsumed).map(\.id) == ids)
        // Another end, and a creation date that says nothing.
        #expect(try bench.take([Self.energy("170", "A", end: "12:30:00", written: 14)]).replaced == 1)
        #expect(try values() == [170, 200])
        #expect(try bench.store.check().isClean)
    }

    @Test("A name counts within its source, its type and its time, and a sync identifier comes first")
    func others() throws {
        try bench.take([Self.energy("100", "A")])
        #expect(try bench.take([Self.energy("110", "A", source: "Other")]).inserted == 1)
        #expect(try bench.take([Self.energy("120", "A", day: 2)]).inserted == 1)
        #expect(try bench.take([Self.energy("130", "B")]).inserted == 1)
        #expect(try bench.take([Self.energy("140", nil)]).inserted == 1)
        let synced = Export.record(
            "HKQuantityTypeIdentifierDietaryEnergyConsumed", "150", "kcal", Export.date(1, "12:00:00"), source: "Diary",
            metadata: [("HKExternalUUID", "A"), ("HKMetadataKeySyncIdentifier", "s")])
        #expect(try bench.take([synced]).inserted == 1)
        #expect(try values() == [100, 110, 120, 130, 140, 150])
    }

    @Test("Two records of one name that one file holds are two samples, whichever came first", arguments: 0..<6)
    func together(order: Int) throws {
        let (old, new) = (Self.energy("100", "A"), Self.energy("150", "A", written: 14))
        if order < 4 { try bench.take([order < 2 ? old : new]) }
        let file = order % 2 == 0 ? [old, new] : [new, old]
        try bench.take(file)
        #expect(try values() == [100, 150])
        for file in [file, file.reversed()] {
            #expect(try bench.take(file).unchanged == 2)
            #expect(try values() == [100, 150])
        }
        #expect(try bench.store.check().isClean)
    }

    @Test("Two records of one name that stand in different batches of a file are two samples")
    func apart() throws {
        let (old, new) = (Self.energy("100", "A"), Self.energy("150", "A", written: 14))
        try bench.take([old])
        // Rows with fields of their own fill a batch sooner.
        let between = (0..<HistoryBatcher.batchRows / 5).map { number in
            Export.record(
                "HKQuantityTypeIdentifierBodyMass", "\(60 + number % 40).\(number % 997)", "kg",
                Export.date(1 + number % 28, "08:00:00"), metadata: [("note", "\(number)")])
        }
        for file in [[new] + between + [old], [old] + between + [new]] {
            for _ in 0..<2 {
                try bench.take(file)
                #expect(try values() == [100, 150])
            }
        }
        #expect(try bench.store.check().isClean)
    }

    @Test(
        "A named record in the last batch of a file is a sample of its own, whichever batch brought the first",
        arguments: [true, false])
    func lastBatch(isKnown: Bool) throws {
        let (old, new) = (Self.energy("100", "A"), Self.energy("150", "A", written: 14))
        if isKnown { try bench.take([old]) }
        let between = (0..<3 * HistoryBatcher.batchRows / 5).map { number in
            Export.record(
                "HKQuantityTypeIdentifierBodyMass", "\(60 + number % 40).\(number % 997)", "kg",
                Export.date(1 + number % 28, "08:00:00"), metadata: [("note", "\(number)")])
        }
        if !isKnown {
            // An import that was killed behind its first batch goes on.
            let text = Export.document([old] + between + [new])
            let path = try bench.file("killed.xml", Array(text.utf8))
            struct Stop: Error {}
            #expect(throws: Stop.self) {
                try HealthImport().run(path, into: bench.store) { _ in
                } progress: { _ in
                    if try bench.store.read({ try $0.count() }) > 0 { throw Stop() }
                }
            }
            try HealthImport().run(path, into: bench.store)
            #expect(try values() == [100, 150])
            return
        }
        try bench.take([old] + between + [new])
        #expect(try values() == [100, 150])
        #expect(try bench.take([old] + between + [new]).inserted == 0)
        #expect(try values() == [100, 150])
    }

    @Test("Equal records are as many samples as they have names")
    func equal() throws {
        let file = [Self.energy("100", "A"), Self.energy("100", "A"), Self.energy("100", "B"), Self.energy("100", "B")]
        let report = try bench.take(file)
        #expect(report.inserted == 2 && report.unchanged == 2)
        #expect(try values() == [100, 100])
        #expect(try bench.take(file + [Self.energy("100", nil)]).inserted == 1)
        #expect(try bench.take(file).unchanged == 4)
        #expect(try values() == [100, 100, 100])
    }

    @Test(
        "Of equal records, each is the stored sample of its name, in whatever order they come",
        arguments: [false, true])
    func equalInAnyOrder(isReversed: Bool) throws {
        try bench.take([Self.energy("100", "A")])
        let both = [Self.energy("100", "A"), Self.energy("100", "B")]
        #expect(try bench.take(isReversed ? both.reversed() : both).inserted == 1)
        let later = [Self.energy("100", "A"), Self.energy("150", "B", written: 14)]
        #expect(try bench.take(isReversed ? later.reversed() : later).replaced == 1)
        #expect(try values() == [100, 150])
        #expect(try bench.take([Self.energy("170", "A", written: 14), later[1]]).replaced == 1)
        #expect(try values() == [150, 170])
    }

    /// How an app tells its records apart.
    enum Naming: CaseIterable {
        case external, sync

        var key: String { self == .external ? "HKExternalUUID" : "HKMetadataKeySyncIdentifier" }
    }

    @Test(
        "An equal record with a name, and one without, are two samples, whichever an earlier file held",
        arguments: Naming.allCases, [false, true])
    func equalUnnamed(_ naming: Naming, namedFirst: Bool) throws {
        func energy(_ name: String?) -> String {
            Export.record(
                "HKQuantityTypeIdentifierDietaryEnergyConsumed", "100", "kcal", Export.date(1, "12:00:00"),
                source: "Diary", metadata: name.map { [(naming.key, $0)] } ?? [])
        }
        func names() throws -> Set<String?> {
            Set(
                try bench.samples(.dietaryEnergyConsumed).map {
                    if case .string(let name)? = $0.metadata["HKExternalUUID"] { name } else { $0.syncIdentifier }
                })
        }
        let both = [energy(nil), energy("A")]
        try bench.take([both[namedFirst ? 1 : 0]])
        for file in [both, both.reversed(), both] {
            try bench.take(file)
            #expect(try bench.samples(.dietaryEnergyConsumed).count == 2)
            #expect(try names() == ["A", nil])
        }
        // A table without names holds the same two samples, and only these.
        let bare = [energy(nil), energy(nil)]
        #expect(try bench.take(bare).unchanged == 2)
        #expect(try bench.take(bare + [energy(nil)]).inserted == 1)
        #expect(try bench.store.check().isClean)
    }

    @Test("What was edited here lies over the later version, and what was deleted here stays away")
    func changedHere() throws {
        try bench.take([Self.energy("100", "A"), Self.energy("200", "B", day: 2)])
        let ids = try bench.samples(.dietaryEnergyConsumed).map(\.id)
        try bench.store.write { txn in
            _ = try txn.overlay(id: ids[0]) { $0.quantity = Quantity(90, .kilocalorie) }
            _ = try txn.delete(id: ids[1])
        }
        try bench.take([Self.energy("150", "A", written: 14), Self.energy("250", "B", day: 2, written: 14)])
        #expect(try values() == [90])
        try bench.store.write { _ = try $0.removeOverlay(id: ids[0]) }
        #expect(try values() == [150])
    }

    @Test("A sample that a peer brought is not changed by an export that holds it with another value")
    func pulled() throws {
        let start = try #require(Instant("2024-05-01T10:00:00.25Z"))
        var sample = Sample(
            .dietaryEnergyConsumed, 100, .kilocalorie, from: start, to: start,
            source: Source(bundle: "com.example.diary", name: "Diary"), origin: .imported)
        sample.metadata["HKExternalUUID"] = .string("A")
        var batch = SampleBatch()
        batch.append(sample)
        try bench.store.write { [batch] in _ = try $0.importFeed(batch, lastLook: nil) }
        #expect(try bench.take([Self.energy("150", "A", written: 14)]).unchanged == 1)
        #expect(try values() == [100])
    }
}
