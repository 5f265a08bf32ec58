import Testing
import TestSupport

@testable import HealthKV

/// Swift takes composed and decomposed letters for equal; a store keeps the bytes that it was given.
@Suite struct NamesByBytesTests {
    private static let composed = "Caf\u{E9}"
    private static let decomposed = "Cafe\u{301}"

    private func sample(_ name: String, _ type: SampleType = .stepCount, sync: String? = nil) -> Sample {
        Sample(
            type, 1, .count, from: .day(1), to: .day(1), source: Source(bundle: name, name: name, version: name),
            syncIdentifier: sync, device: Device(name: name))
    }

    private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    @Test(
        "Sources, revisions, devices and types that differ in bytes only stay apart, saved or imported",
        arguments: [false, true])
    func names(imports: Bool) throws {
        #expect(Self.composed == Self.decomposed)
        let names = [Self.composed, Self.decomposed]
        let samples = names.flatMap { [sample($0), sample($0, SampleType("com.example.\($0)"))] }
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path)
        if imports {
            var batch = SampleBatch()
            for sample in samples { batch.append(sample) }
            let filled = batch
            #expect(try store.importBatch(filled).inserted == 4)
        } else {
            try store.write { try $0.save(samples) }
        }
        func verify(_ store: SampleStore) throws {
            let sources = try store.read { try $0.sources() }
            #expect(bytes(sources.map(\.source.name)) == bytes(names))
            #expect(sources.map(\.samples) == [2, 2])
            #expect(bytes(sources.compactMap { $0.revisions.first?.version }) == bytes(names))
            for original in samples {
                let found = try store.read { try #require(try $0.sample(id: original.id)) }
                #expect(
                    bytes([found.source.name, found.type.identifier])
                        == bytes([original.source.name, original.type.identifier]))
                #expect(bytes([found.device?.name ?? ""]) == bytes([original.device?.name ?? ""]))
            }
            #expect(try store.read { try $0.count(of: SampleType("com.example.\(Self.decomposed)")) } == 1)
            #expect(
                try store.read {
                    try $0.samples(
                        SampleQuery(
                            .stepCount, source: SourceIdentity(bundle: Self.decomposed, name: Self.decomposed)))
                }.map(\.id) == [samples[2].id])
        }
        try verify(store)
        try store.close()
        let again = try SampleStore.open(at: folder.path)
        try verify(again)
        let second = SourceIdentity(bundle: Self.decomposed, name: Self.decomposed)
        #expect(try again.write { try $0.delete(.source(second)) } == 2)
        #expect(try again.read { try $0.count() } == 2)
        try again.expectClean()
        try again.close()
    }

    @Test("A sign that Swift takes for a letter of the catalog makes another type") func catalog() throws {
        let kelvin = SampleType("H\u{212A}QuantityTypeIdentifierStepCount")
        #expect(kelvin.catalogNumber == nil)
        #expect(kelvin != .stepCount)
        #expect(kelvin.canonicalUnit == nil)
    }

    @Test("Sync identifiers that differ in bytes only name two samples") func syncIdentifiers() throws {
        try withStore { store throws in
            let samples = [Self.composed, Self.decomposed].map { sample("App", sync: $0) }
            #expect(try store.write { try $0.save(samples) } == [.inserted, .inserted])
            for original in samples {
                let text = try #require(original.syncIdentifier)
                #expect(try store.read { try $0.samples(syncIdentifier: text) }.map(\.id) == [original.id])
            }
        }
    }

    @Test("An edit from composed to decomposed letters is an edit") func edits() throws {
        try withStore { store throws in
            var sample = sample("App")
            sample.metadata = ["note": .string(Self.composed)]
            sample.group = Self.composed
            let first = sample
            #expect(try store.save(first) == .inserted)
            #expect(try store.save(first) == .unchanged)
            sample.metadata = ["note": .string(Self.decomposed)]
            #expect(try store.save(sample) == .replaced)
            sample.group = Self.decomposed
            #expect(try store.save(sample) == .replaced)
            sample.metadata = [Self.decomposed: .bool(true)]
            #expect(try store.save(sample) == .replaced)
            sample.metadata = [Self.composed: .bool(true)]
            #expect(try store.save(sample) == .replaced)
            #expect(try store.read { try $0.sample(id: first.id) }?.version == 5)
            #expect(try store.read { try $0.samples(group: Self.composed) }.isEmpty)
        }
    }

    @Test("Metadata that is not a number equals itself, and zero is not minus zero") func numbers() throws {
        #expect(MetadataValue.number(.nan) == .number(.nan))
        #expect(MetadataValue.number(0) != .number(-0.0))
        #expect(MetadataValue.number(.nan) != .number(.signalingNaN))
        #expect(Set([MetadataValue.number(.nan), .number(.nan)]).count == 1)
        try withStore { store throws in
            var sample = sample("App")
            sample.metadata = ["n": .number(-0.0)]
            let saved = sample
            try store.save(saved)
            #expect(try store.save(saved) == .unchanged)
            #expect(try store.read { try $0.sample(id: saved.id) }?.metadata == saved.metadata)
        }
    }
}
