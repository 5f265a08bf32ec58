import Testing
import TestSupport

@testable import HealthKV

/// Which types shadow is a policy of the store; marks follow it (SEMANTICS C2).
@Suite struct ShadowingPolicyTests {
    private func marks(_ store: SampleStore, _ type: SampleType) throws -> Int {
        try store.read { try $0.samples(SampleQuery(type, includeShadowed: true)).count(where: \.isShadowed) }
    }

    @Test("Setting the policy marks all samples again, either way, and it stays set") func setting() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: tightOptions())
        let samples = (0..<90).map { Sample(.stepCount, Double($0), .count, at: .day(0, $0 / 3 * 60)) }
        let weights = (0..<6).map { Sample(.bodyMass, Double($0), .kilogram, at: .day(0, $0 / 2)) }
        try store.write { try $0.save(samples + weights) }
        let token = try store.read { $0.currentToken }
        #expect(try marks(store, .stepCount) == 0)
        #expect(try marks(store, .bodyMass) == 3)
        try store.setShadowing(of: .stepCount, true)
        try store.setShadowing(of: .bodyMass, false)
        #expect(try marks(store, .stepCount) == 60)
        #expect(try marks(store, .bodyMass) == 0)
        #expect(try store.read { try $0.count(of: .stepCount) } == 30)
        #expect(try store.feed(since: token).isEmpty, "a mark is no change")
        try store.expectClean()
        try store.close()
        let again = try SampleStore.open(at: folder.path, options: tightOptions())
        try again.save(Sample(.stepCount, 1, .count, at: .day(0, 0)))
        #expect(try marks(again, .stepCount) == 61)
        try again.save(Sample(.bodyMass, 1, .kilogram, at: .day(0, 0)))
        #expect(try marks(again, .bodyMass) == 0)
        try again.setShadowing(of: .stepCount, false)
        #expect(try marks(again, .stepCount) == 0)
        #expect(try again.counts() == again.countedSamples())
        try again.expectClean()
        try again.close()
    }

    @Test("A source that turns out to be a watch wins at once what its rank decides") func rankChanges() throws {
        try withStore(options: tightOptions()) { store throws in
            func weights(_ source: Source, _ value: Double) -> SampleBatch {
                var batch = SampleBatch()
                for day in 0..<5 { batch.append(Sample(.bodyMass, value, .kilogram, at: .day(day), source: source)) }
                return batch
            }
            let (first, second) = (
                Source(bundle: "com.apple.health.a", name: "A"), Source(bundle: "com.apple.health.b", name: "B")
            )
            var both = weights(first, 70)
            for day in 0..<5 { both.append(Sample(.bodyMass, 71, .kilogram, at: .day(day), source: second)) }
            let batch = both
            try store.importBatch(batch)
            let shown = try store.read { try $0.samples(of: .bodyMass) }
            let loser = shown[0].source.name == "A" ? second : first
            var watch = loser
            watch.product = "Watch7,1"
            try store.save(Sample(.stepCount, 1, .count, at: .day(0), source: watch))
            let now = try store.read { try $0.samples(of: .bodyMass) }
            #expect(now.count == 5 && now.allSatisfy { $0.source.bundle == loser.bundle })
        }
    }

    @Test("An import marks what it meets at equal times, as saving one by one does") func imported() throws {
        try withStore(options: tightOptions()) { store throws in
            let source = Source(name: "Scale")
            func batch(_ offset: Double) throws -> SampleBatch {
                try SampleBatch(
                    .bodyMass, .kilogram, source: source, starts: (0..<200).map { .day(0, $0 / 2 * 60) },
                    values: (0..<200).map { Double($0) + offset }, ids: (0..<200).map { _ in SampleID() })
            }
            try store.importBatch(batch(0))
            #expect(try marks(store, .bodyMass) == 100)
            try store.importBatch(batch(0.5))
            #expect(try marks(store, .bodyMass) == 300)
            #expect(try store.read { try $0.count(of: .bodyMass) } == 100)
            try withStore { one throws in
                let all = try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
                for sample in all { try one.write { try $0.merge(sample) } }
                #expect(
                    try one.read { try $0.samples(of: .bodyMass) }.map(\.id)
                        == store.read { try $0.samples(of: .bodyMass) }.map(\.id))
            }
        }
    }
}
