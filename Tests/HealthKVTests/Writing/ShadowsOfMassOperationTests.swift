import Testing

@testable import HealthKV

/// A mass operation takes away samples that others were shadowed by (SEMANTICS C2).
@Suite struct ShadowsOfMassOperationTests {
    @Test("Deleting a source shows what it shadowed, also where equal times cross from one chunk to the next")
    func deletedSource() throws {
        var options = SampleStore.Options()
        options.limits.chunkBytes = 600
        options.limits.removedAtOnce = 10
        let old = Source(name: "Old")
        let new = Source(name: "New")
        try withStore(options: options) { store in
            for source in [old, new] {
                var batch = SampleBatch()
                let kind = batch.kind(.bodyMass, .kilogram, source: source)
                for day in 0..<600 {
                    batch.append(kind: kind, start: .day(day), end: .day(day), value: 70, id: SampleID())
                }
                let filled = batch
                try store.write { try $0.importBatch(filled) }
            }
            #expect(try store.read { try $0.samples(of: .bodyMass).allSatisfy { $0.source == new } })
            #expect(try store.write { try $0.delete(.source(new.identity)) } == 600)
            let shown = try store.read { try $0.samples(of: .bodyMass) }
            #expect(shown.count == 600)
            #expect(shown.allSatisfy { $0.source == old })
        }
    }
}
