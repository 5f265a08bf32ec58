import Foundation
import HealthKV
import TestSupport
import Testing

/// Rows that another store wrote come with its clocks, and often with sync identifiers that have the form of an id.
@Suite struct ImportOfClocksTests {
    private static let ids = (0..<40).map { SampleID(high: UInt64($0 + 1) << 32 | 0x4000, low: 1 << 63) }

    /// A sample of few identities, so that many meet: by id, by sync identifier, or by one that is the text of
    /// another's id.
    private func sample(_ random: inout SeededGenerator) -> Sample {
        let start = Instant(nanoseconds: Int64(random.number(0..<2_000)) * 60_000_000_000)
        let id = random.chance(0.6) ? SampleID(using: &random) : random.pick(ImportOfClocksTests.ids)
        var sample = Sample(
            random.pick([.stepCount, .bodyMass, .heartRate]), Double(random.number(1..<500)), .count, at: start,
            source: Source(name: random.pick(["Phone", "Watch"])), id: id)
        if sample.type == .bodyMass { sample.quantity = Quantity(sample.quantity.value, .kilogram) }
        if sample.type == .heartRate { sample.quantity = Quantity(sample.quantity.value, .countPerMinute) }
        sample.origin = random.pick([.imported, .imported, .authored])
        sample.version = Int64(random.number(0..<3))
        sample.modified = ChangeClock(
            time: Instant(nanoseconds: Int64(random.number(1..<6)) * 1_000_000_000),
            replica: UInt32(random.number(1..<4)))
        switch random.number(0..<6) {
        case 0: sample.syncIdentifier = random.pick(ImportOfClocksTests.ids).description
        case 1: sample.syncIdentifier = SampleID(using: &random).description
        case 2: sample.syncIdentifier = "s-\(random.number(0..<30))"
        case 3: sample.syncIdentifier = id.description
        default: break
        }
        if random.chance(0.1) { sample.metadata = ["k": .bool(true)] }
        return sample
    }

    @Test("A batch of rows with clocks comes to what their samples come to, merged one by one", arguments: 0..<4)
    func batchIsMerge(part: Int) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed, part: part)
        let folder = TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let (whole, single) = try (
            SampleStore.open(at: folder.path + "/whole"), SampleStore.open(at: folder.path + "/single")
        )
        for round in 0..<12 {
            // Rows of one batch that meet are saved in their order, but behind those that meet none.
            var seen: Set<String> = []
            let samples = (0..<random.number(1..<120)).map { _ in sample(&random) }.filter { sample in
                let names = [sample.id.description] + (sample.syncIdentifier.map { [$0] } ?? [])
                return names.allSatisfy { !seen.contains($0) } && Set(names).allSatisfy { seen.insert($0).inserted }
            }
            var batch = SampleBatch()
            for sample in samples { batch.append(sample) }
            for (row, sample) in samples.enumerated() {
                #expect(batch.sample(at: row) == sample && batch.modified(at: row) == sample.modified)
            }
            let report = try whole.importBatch(batch)
            let counted = try single.write { txn in
                try samples.reduce(0) { count, sample in try txn.merge(sample) == .inserted ? count + 1 : count }
            }
            #expect(report.inserted == counted, "seed \(seed), part \(part), round \(round)")
            #expect(try contents(whole) == contents(single), "seed \(seed), part \(part), round \(round)")
            if round % 4 == 3, let gone = samples.randomElement(using: &random) {
                for store in [whole, single] { _ = try store.write { try $0.delete(id: gone.id) } }
            }
        }
        try whole.close()
        try single.close()
    }

    private func contents(_ store: SampleStore) throws -> [Sample] {
        try store.read { txn in
            try [SampleType.stepCount, .bodyMass, .heartRate].flatMap {
                try txn.samples(SampleQuery($0, includeShadowed: true)).map { sample in
                    var sample = sample
                    // Which twin of a time is shown hangs on the order in which sources were met.
                    sample.isShadowed = false
                    return sample
                }
            }
        }
    }

    @Test("Clocks are kept where only some rows of a batch have one, and are gone when it is emptied")
    func someClocks() throws {
        var batch = SampleBatch()
        let kind = batch.kind(.stepCount, .count, source: Source(name: "Phone"))
        let clock = ChangeClock(time: Instant(nanoseconds: 5), replica: 7)
        let start = Instant(nanoseconds: 0)
        batch.append(kind: kind, start: start, end: start, value: 1, id: SampleID())
        #expect(batch.clocks.isEmpty)
        batch.append(kind: kind, start: start, end: start, value: 2, id: SampleID(), modified: clock)
        batch.append(kind: kind, start: start, end: start, value: 3, id: SampleID())
        #expect(batch.clocks == [nil, clock, nil])
        #expect((0..<3).map { batch.sample(at: $0).modified } == [nil, clock, nil])
        var extras = SampleBatch.Extras()
        extras.modified = ChangeClock(time: Instant(nanoseconds: 9), replica: 1)
        batch.setExtras(extras, row: 2)
        #expect(batch.modified(at: 2) == extras.modified)
        batch.removeAll()
        #expect(batch.clocks.isEmpty && batch.extras.isEmpty)
    }
}
