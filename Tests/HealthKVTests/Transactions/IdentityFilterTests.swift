import ColumnFormat
import TestSupport
import Testing

@testable import HealthKV

/// What imports know of the identity index without reading it.
@Suite struct IdentityFilterTests {
    private static func entries(_ count: Int, in partition: IdentityPartition, _ random: inout SeededGenerator)
        -> [IdentityEntry]
    {
        (0..<count).map { _ in
            let hash = UInt64.random(in: partition.lower..<partition.upper, using: &random)
            return IdentityEntry(
                hash: hash << IdentityEntry.quantumBits, start: 0, lane: Lane(type: 1, duration: .hour))
        }
    }

    @Test("A filter holds every hash that was added, and takes about one new hash of a hundred for a known one")
    func rates() {
        var random = SeededGenerator(seed: 5)
        let bounds: [(lower: UInt64, upper: UInt64)] = [
            (0, IdentityPartition.hashLimit), (77, 1 << 33), (1 << 39, (1 << 39) + 900_001),
        ]
        for (lower, upper) in bounds {
            let partition = IdentityPartition(lower: lower, upper: upper)
            let known = Self.entries(20_000, in: partition, &random)
            var filter = IdentityFilter(partition, capacity: 20_000)
            filter.add(known)
            #expect(known.allSatisfy { filter.mayHold($0.hash) })
            let held = Set(known.map(\.hash))
            let others = Self.entries(20_000, in: partition, &random).filter { !held.contains($0.hash) }
            let wrong = others.filter { filter.mayHold($0.hash) }.count
            #expect(wrong * 40 < others.count, "\(wrong) of \(others.count) from \(lower) to \(upper)")
        }
    }

    @Test("Imports find what is known, and nothing of a transaction that failed")
    func finding() throws {
        struct Undone: Error {}
        for seed in UInt64(0)..<6 {
            var random = SeededGenerator(seed: seed)
            var options = SampleStore.Options()
            options.limits.skipsSync = true
            options.limits.importLookups = 1
            options.limits.partitionEntries = 60
            options.limits.identityFilters = seed == 5 ? 2 : 128
            options.maintainsWhenIdle = false
            let store = try SampleStore.temporary(options: options)
            var known: [SampleID] = []
            for round in 0..<12 {
                var batch = SampleBatch()
                let kind = batch.kind(.stepCount, .count, source: Source(name: "Export"))
                let repeated = (0..<8).compactMap { _ in known.randomElement(using: &random) }
                let fresh = (0..<50).map { _ in SampleID(using: &random) }
                let ids = Array(Set(repeated + fresh))
                for id in ids { batch.append(kind: kind, start: .day(1), end: .day(1), value: 1, id: id) }
                if round % 3 == 1 {
                    #expect(throws: Undone.self) {
                        try store.write { [batch] in
                            try $0.importBatch(batch)
                            throw Undone()
                        }
                    }
                }
                let report = try store.importBatch(batch)
                #expect(report.inserted == fresh.count, "seed \(seed), round \(round)")
                known += fresh
                if round % 4 == 2 { while try store.maintain() {} }
                if round % 4 == 3 { try store.compactInPlace() }
            }
            try store.expectClean()
            try store.close()
        }
    }

    @Test("Imports find what another process has added between two of their own") func otherProcess() async throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path)
        #expect(try store.importBatch(IdentityFilterTests.batch(0)).inserted == 500)
        for round in UInt64(1)..<4 {
            await #expect(processExitsWith: .success) { [path = folder.path as String, round = round as UInt64] in
                let store = try SampleStore.open(at: path)
                guard try store.importBatch(IdentityFilterTests.batch(round)).inserted == 500 else { throw Refusal() }
                try store.close()
            }
            let report = try store.importBatch(IdentityFilterTests.batch(round))
            #expect(report.inserted == 0 && report.unchanged == 500)
            #expect(try store.importBatch(IdentityFilterTests.batch(round + 10)).inserted == 500)
        }
        try store.expectClean()
        try store.close()
    }

    private static func batch(_ seed: UInt64) -> SampleBatch {
        var random = SeededGenerator(seed: seed)
        var batch = SampleBatch()
        let kind = batch.kind(.stepCount, .count, source: Source(name: "Export"))
        for second in 0..<500 {
            batch.append(
                kind: kind, start: .day(1, second), end: .day(1, second), value: 1, id: SampleID(using: &random))
        }
        return batch
    }
}
