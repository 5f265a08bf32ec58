import ColumnFormat
import Testing

@testable import HealthKV

/// However much samples carry, a chunk's cold value stays bounded.
@Suite struct DetailsSizeTests {
    private func longest(_ store: SampleStore) throws -> Int {
        var longest = 0
        try store.read { try $0.forEachRecord(ofTable: "details") { _, value in longest = max(longest, value.count) } }
        return longest
    }

    private func sample(_ number: Int, note: String) -> Sample {
        Sample(.stepCount, 1, .count, at: .day(0, number), metadata: ["note": .string(note)])
    }

    /// More than ids, numbers and headers of a full chunk take.
    private static let rest = 64 << 10

    @Test("Samples with long notes share chunks up to a bound, however they come") func bounded() throws {
        let samples = (0..<300).map { sample($0, note: String(repeating: "x", count: 4_000) + "\($0)") }
        try withStore { store throws in
            try store.write { try $0.save(samples) }
            #expect(try longest(store) <= ChunkEncoder.textBudget + Self.rest)
            #expect(try store.read { try $0.samples(of: .stepCount) }.map(\.id) == samples.map(\.id))
            // Going leaves room for neighbours to be joined, up to the same bound.
            try store.write { txn in
                for sample in samples where sample.start.nanoseconds % 3 != 0 { try txn.delete(id: sample.id) }
            }
            #expect(try longest(store) <= ChunkEncoder.textBudget + Self.rest)
        }
        try withStore { store throws in
            var batch = SampleBatch()
            for sample in samples { batch.append(sample) }
            let filled = batch
            try store.importBatch(filled)
            #expect(try longest(store) <= ChunkEncoder.textBudget + Self.rest)
            for sample in samples {
                #expect(try store.read { try $0.sample(id: sample.id) }?.metadata == sample.metadata)
            }
        }
    }

    @Test("A note that many samples share is stored once, and does not split their chunk") func shared() throws {
        try withStore { store throws in
            let note = String(repeating: "x", count: 4_000)
            let samples = (0..<300).map { sample($0, note: note) }
            try store.write { try $0.save(samples) }
            #expect(try longest(store) < 20_000)
            var chunks = 0
            try store.read { try $0.forEachRecord(ofTable: "details") { _, _ in chunks += 1 } }
            #expect(chunks <= 2)
        }
    }

    @Test("Payloads, zones and local notes count as much as metadata does") func otherTexts() throws {
        let samples = (0..<100).map { number in
            var sample = Sample(.stepCount, 1, .count, at: .day(0, number))
            sample.local = ["note": .string(String(repeating: "z", count: 4_000) + "\(number)")]
            return sample
        }
        try withStore { store throws in
            try store.write { try $0.save(samples) }
            #expect(try longest(store) <= ChunkEncoder.textBudget + Self.rest)
        }
    }

    @Test("One sample may carry its whole limit") func single() throws {
        try withStore { store throws in
            var metadata: [String: MetadataValue] = [:]
            for number in 0..<16 { metadata["key\(number)"] = .string(String(repeating: "y", count: 65_000)) }
            var large = sample(5, note: "")
            large.metadata = metadata
            let samples = (0..<10).map { sample($0, note: "n") } + [large]
            try store.write { try $0.save(samples) }
            #expect(try store.read { try $0.sample(id: samples[10].id) }?.metadata == metadata)
            #expect(try store.read { try $0.count() } == 11)
        }
    }
}
