import Testing

@testable import HealthKV

/// Saving, editing and deleting one sample (SEMANTICS C1, C9, C30, A4-A9).
@Suite struct SaveTests {
    private let app = Source(bundle: "org.example.app", name: "App")

    private func weight(_ value: Double, version: Int64 = 0, sync: String? = nil, id: SampleID = SampleID()) -> Sample {
        Sample(
            .bodyMass, value, .kilogram, from: .day(1), to: .day(1), source: app, id: id, syncIdentifier: sync,
            version: version)
    }

    @Test("Saving says what it did: inserted, unchanged, replaced, older, vetoed") func outcomes() throws {
        try withStore { store throws in
            let first = weight(70)
            var edit = first
            edit.quantity.value = 71
            var older = edit
            older.version = 1
            let (second, third) = (edit, older)
            let outcomes = try store.write { txn in
                [
                    try txn.save(first), try txn.save(first), try txn.save(second), try txn.save(third),
                    try txn.delete(id: first.id) ? try txn.save(first) : .inserted,
                ]
            }
            #expect(outcomes == [.inserted, .unchanged, .replaced, .older, .vetoed])
            #expect(try store.read { try $0.sample(id: first.id) } == nil)
        }
    }

    @Test("C1, C4: An edit takes the next version, a greater one that the app gives, and keeps the id") func versions()
        throws
    {
        try withStore { store throws in
            let first = weight(70, sync: "w")
            try store.write { try $0.save(first) }
            func version() throws -> Int64? { try store.read { try $0.sample(id: first.id)?.version } }
            #expect(try version() == 1)
            // Known by its sync identifier, whatever id it comes with.
            #expect(try store.save(weight(71, sync: "w")) == .replaced)
            #expect(try version() == 2)
            #expect(try store.save(weight(72, version: 9, sync: "w")) == .replaced)
            #expect(try version() == 9)
            // A7: an equal version with other content is an edit, never a silent loss.
            #expect(try store.save(weight(73, version: 9, sync: "w")) == .replaced)
            #expect(try version() == 10)
            #expect(try store.read { try $0.count() } == 1)
        }
    }

    @Test("A deleted sample lives again only with a greater version") func tombstones() throws {
        try withStore { store throws in
            let first = weight(70, version: 4, sync: "w")
            try store.write { try $0.save(first) }
            #expect(try store.write { try $0.delete(.syncIdentifier("w", of: .bodyMass, source: app.identity)) > 0 })
            #expect(try store.read { try $0.deletedSample(id: first.id)?.version } == 4)
            #expect(try store.save(weight(70, version: 4, sync: "w")) == .vetoed)
            #expect(try store.save(weight(70, version: 5, sync: "w")) == .inserted)
            #expect(try store.read { try $0.count() } == 1)
        }
    }

    @Test("A4: Two sources or two types with one sync identifier never meet") func syncKeys() throws {
        try withStore { store throws in
            let other = Source(bundle: "org.example.other", name: "Other")
            let samples = [
                Sample(.dietaryFiber, 1, .gram, from: .day(1), to: .day(1), source: app, syncIdentifier: "x"),
                Sample(.dietaryFiber, 2, .gram, from: .day(1), to: .day(1), source: other, syncIdentifier: "x"),
                Sample(.dietarySugar, 3, .gram, from: .day(1), to: .day(1), source: app, syncIdentifier: "x"),
            ]
            #expect(try store.write { try $0.save(samples) } == [.inserted, .inserted, .inserted])
            #expect(try store.read { try $0.samples(syncIdentifier: "x") }.count == 3)
            #expect(
                try store.write { try $0.delete(.syncIdentifier("x", of: .dietarySugar, source: other.identity)) > 0 }
                    == false)
            #expect(
                try store.write { try $0.delete(.syncIdentifier("x", of: .dietarySugar, source: app.identity)) > 0 })
            #expect(try store.read { try $0.samples(syncIdentifier: "x") }.count == 2)
        }
    }

    @Test("C1: an edit that changes type, source or sync identifier is refused, with all that is saved with it")
    func otherIdentity() throws {
        try withStore { store throws in
            let named = weight(80, sync: "b")
            let plain = weight(90)
            try store.write { txn in _ = try txn.save([named, plain]) }
            func refused(_ sample: Sample, _ word: String) throws {
                let error = #expect(throws: StoreError.self) { try store.write { try $0.save([weight(60), sample]) } }
                #expect(error?.code == .identityChanged)
                #expect(error?.description.contains("another \(word),") == true)
                #expect(try store.read { try $0.count() } == 2)
            }
            var edit = named
            edit.syncIdentifier = "a"
            try refused(edit, "sync identifier")
            // A sample that was given no sync identifier has the text of its id.
            edit = plain
            edit.syncIdentifier = "a"
            try refused(edit, "sync identifier")
            edit = named
            edit.source = Source(bundle: "org.example.other", name: "Other")
            try refused(edit, "source")
            edit = named
            (edit.type, edit.quantity) = (.height, Quantity(1.7, .meter))
            try refused(edit, "type")
            // All else may change, and what an edit leaves out stays.
            edit = named
            (edit.quantity.value, edit.syncIdentifier, edit.start, edit.end) = (81, nil, .day(2), .day(2))
            #expect(try store.save(edit) == .replaced)
            edit = plain
            (edit.quantity.value, edit.syncIdentifier) = (91, plain.id.description)
            #expect(try store.save(edit) == .replaced)
            #expect(try store.read { try $0.samples(syncIdentifier: "b").map(\.quantity.value) } == [81])
            // A deleted sample leaves its sync identifier to a new one, and does not live again as another one.
            try store.write { _ = try $0.delete(id: named.id) }
            edit = named
            (edit.syncIdentifier, edit.version) = ("a", 8)
            #expect(throws: StoreError.self) { try store.save(edit) }
            edit = named
            (edit.type, edit.quantity, edit.version) = (.height, Quantity(1.7, .meter), 8)
            #expect(throws: StoreError.self) { try store.save(edit) }
            #expect(try store.save(weight(82, version: 9, sync: "b")) == .inserted)
        }
    }

    @Test("An import keeps its identity, and may get a sync identifier that it did not have")
    func identityOfImport() throws {
        try withStore { store throws in
            let scale = Source(bundle: "scale", name: "Scale")
            var sample = Sample(.dietaryFiber, 1, .gram, from: .day(1), to: .day(1), source: scale)
            sample.origin = .imported
            let first = sample
            try store.save(first)
            (sample.syncIdentifier, sample.version) = ("a", 0)
            let named = sample
            #expect(try store.save(named) == .replaced)
            sample.syncIdentifier = "b"
            let renamed = sample
            #expect(throws: StoreError.self) { try store.save(renamed) }
            var batch = SampleBatch()
            batch.append(renamed)
            let whole = batch
            #expect(throws: StoreError.self) { try store.write { try $0.importBatch(whole) } }
            // What a peer brings is stored as it is.
            #expect(try store.write { try $0.receiving(from: "p") { try $0.save(renamed) } } == .replaced)
        }
    }

    @Test("An edit that names no source keeps the one of the sample, alone, in a batch and in a group")
    func unnamedSource() throws {
        try withStore { store throws in
            let other = Source(bundle: "org.example.widget", name: "Widget")
            let sample = Sample(.dietaryFiber, 1, .gram, from: .day(1), to: .day(1), source: other)
            try store.save(sample)
            var edit = Sample(.dietaryFiber, 2, .gram, from: .day(1), to: .day(1))
            edit.id = sample.id
            #expect(edit.source == .thisApp)
            let (first, id) = (edit, sample.id)
            #expect(try store.save(first) == .replaced)
            edit.quantity.value = 3
            var batch = SampleBatch()
            batch.append(edit)
            let whole = batch
            #expect(try store.write { try $0.importBatch(whole) }.replaced == 1)
            edit.quantity.value = 4
            let last = edit
            #expect(try store.write { try $0.save(group: "lunch", [last]) } == [.replaced])
            #expect(try store.read { try $0.sample(id: id)?.source } == other)
            #expect(try store.read { try $0.sample(id: id)?.quantity.value } == 4)
        }
    }

    @Test("A meal goes with all its nutrients") func groups() throws {
        try withStore { store throws in
            let types: [SampleType] = [.dietaryProtein, .dietaryFiber, .dietarySugar]
            let samples = types.map { Sample($0, 1, .gram, at: .day(1), group: "meal") }
            try store.write { try $0.save(samples) }
            #expect(try store.read { try $0.samples(group: "meal") }.count == 3)
            #expect(try store.write { try $0.delete(.group("meal")) } == 3)
            #expect(try store.write { try $0.delete(.group("meal")) } == 0)
            #expect(try store.read { try $0.count() } == 0)
        }
    }

    @Test("A group keeps a sample that has the sync identifier of one that it takes the place of")
    func groupByIdentifier() throws {
        try withStore { store in
            let id = SampleID()
            try store.save(Sample(.dietaryProtein, 10, .gram, at: .day(1), syncIdentifier: id.description))
            let samples = [Sample(.dietaryProtein, 12, .gram, at: .day(1), id: id)]
            #expect(try store.write { try $0.save(group: "meal", samples) } == [.replaced])
            #expect(try store.read { try $0.samples(group: "meal") }.map(\.quantity.value) == [12])
        }
    }

    @Test("The greatest version can be edited, and what comes of it be saved again")
    func greatestVersion() throws {
        try withStore { store in
            var sample = weight(70)
            sample.version = Sample.versionLimit
            #expect(throws: ModelError.self) { try sample.validate() }
            sample.version = Sample.versionLimit - 1
            #expect(try store.save(sample) == .inserted)
            for value in [71.0, 72, 73] {
                var edit = try #require(try store.read { try $0.sample(id: sample.id) })
                edit.quantity.value = value
                edit.version = 0
                #expect(try store.save(edit) == .replaced)
                let stored = try #require(try store.read { try $0.sample(id: sample.id) })
                #expect(stored.quantity.value == value && stored.version == Sample.versionLimit - 1)
                try stored.validate()
            }
            let id = sample.id
            #expect(try store.write { try $0.delete(id: id) })
            #expect(try store.read { try $0.deletedSample(id: id) }?.isHidden == false)
        }
    }

    @Test("A batch refuses a workout without an end and a duration, as saving does")
    func endlessWorkout() throws {
        try withStore { store throws in
            var batch = SampleBatch()
            let kind = batch.kind(.workout, .second, source: Source(name: "App"))
            batch.append(kind: kind, start: .day(1), end: .distantFuture, value: .nan, id: SampleID())
            let endless = batch
            expectError(.invalidSample) { try store.importBatch(endless) }
            #expect(try store.read { try $0.count() } == 0)
        }
    }

    @Test("Of several weights at one time the newest shows, and its deletion brings the next one back") func shadows()
        throws
    {
        try withStore { store throws in
            let samples = (0..<3).map { weight(70 + Double($0)) }
            try store.write { try $0.save(samples) }
            func shown() throws -> [SampleID] { try store.read { try $0.samples(of: .bodyMass).map(\.id) } }
            #expect(try shown() == [samples[2].id])
            #expect(try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.count == 3)
            try store.write { try $0.delete(id: samples[2].id) }
            #expect(try shown() == [samples[1].id])
            #expect(try store.read { try $0.count(of: .bodyMass) } == 1)
        }
    }
}
