import ColumnFormat
import HealthModel
import TestSupport
import Testing

@testable import HealthKV

/// The identity index where one hash has more entries than a partition is to have: a group may be of any number of
/// samples.
@Suite struct LargeGroupTests {
    private static let limit: UInt64 = 40

    private var options: SampleStore.Options {
        var options = SampleStore.Options()
        options.limits.skipsSync = true
        options.limits.partitionEntries = Self.limit
        options.limits.recentEntries = 20
        options.maintainsWhenIdle = false
        return options
    }

    /// Partitions follow each other, and none is larger than it must be.
    private func expectDivided(_ store: SampleStore) throws {
        try store.read { transaction in
            var next: UInt64 = 0
            for partition in try IdentityIndex.allPartitions(in: transaction.snapshot) {
                #expect(partition.lower == next && partition.upper > next)
                #expect(!partition.isDivisible || partition.entries <= Self.limit)
                next = partition.upper
            }
            #expect(next == IdentityPartition.hashLimit)
        }
    }

    @Test("A group has more samples than a partition of the index has entries, whether they are saved or imported")
    func largeGroup() throws {
        let store = try SampleStore.temporary(options: options)
        var saved: [SampleID] = []
        for round in 0..<30 {
            let samples = (0..<20).map { number in
                Sample(
                    .stepCount, Double(number), .count, at: .day(round, number * 1_200),
                    syncIdentifier: "\(round)-\(number)",
                    group: number % 5 == 0 ? "night" : "day")
            }
            try store.write { try $0.save(samples) }
            var batch = SampleBatch()
            let kind = batch.kind(.stepCount, .count, source: Source(name: "Export"))
            for number in 0..<20 {
                let id = SampleID()
                var extras = SampleBatch.Extras()
                extras.group = "imported"
                batch.append(
                    kind: kind, start: .day(round, number * 1_200), end: .day(round, number * 1_200), value: 1, id: id)
                batch.setExtras(extras, row: number)
                saved.append(id)
            }
            #expect(try store.importBatch(batch).inserted == 20)
            while try store.maintain() {}
            try expectDivided(store)
            saved += samples.map(\.id)
        }
        try store.read { [saved] transaction in
            let alone = try IdentityIndex.allPartitions(in: transaction.snapshot).filter {
                !$0.isDivisible && $0.entries > Self.limit
            }
            #expect(alone.count == 3, "each group has outgrown a partition")
            #expect(try transaction.samples(group: "day").count == 480)
            #expect(try transaction.samples(group: "night").count == 120)
            #expect(try transaction.samples(group: "imported").count == 600)
            for id in saved { #expect(try transaction.sample(id: id) != nil) }
        }
        try store.expectClean()
        #expect(try store.write { try $0.delete(.group("day")) } == 480)
        while try store.maintain() {}
        #expect(try store.read { try $0.samples(group: "day").count + $0.samples(group: "imported").count } == 600)
        try expectDivided(store)
        try store.expectClean()
        try store.close()
    }

    @Test(
        "A partition is divided into parts that follow each other and hold all entries, whatever their hashes",
        arguments: 0..<200 as Range<UInt64>)
    func parts(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let lower = seed % 3 == 0 ? 0 : UInt64.random(in: 0..<1_000, using: &random)
        let span = [1, 2, 3, 7, 100, IdentityPartition.hashLimit - lower].randomElement(using: &random)!
        let partition = IdentityPartition(lower: lower, upper: lower + span)
        let limit = UInt64.random(in: 1...50, using: &random)
        let hot =
            (0..<3).map { _ in UInt64.random(in: lower..<lower + span, using: &random) } + [lower, lower + span - 1]
        // Some lie outside, or in no order, as in a file with forged blocks.
        let (outside, isShuffled) = (seed % 7 == 0, seed % 11 == 0)
        var entries = (0..<Int.random(in: 0..<400, using: &random)).map { _ in
            let own = UInt64.random(in: lower..<lower + span, using: &random)
            let hash =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: own
                case 1 where outside: UInt64.random(in: 0..<IdentityPartition.hashLimit, using: &random)
                default: hot.randomElement(using: &random)!
                }
            return IdentityEntry(key: hash << 24, kind: IdentityEntry.Kind(packed: 1 << 16))
        }
        if !isShuffled { entries.sort() }
        let parts = partition.parts(of: entries, limit: limit)
        #expect(parts.first?.lower == lower && parts.first?.rows.lowerBound == 0)
        #expect(parts.last?.rows.upperBound == entries.count)
        for (number, part) in parts.enumerated() {
            let upper = number + 1 < parts.count ? parts[number + 1].lower : partition.upper
            #expect(part.lower < upper && upper <= partition.upper, "seed \(seed)")
            if number > 0 { #expect(parts[number - 1].rows.upperBound == part.rows.lowerBound) }
            if isShuffled { continue }
            let hashes = entries[part.rows].map(\.hash)
            if !outside { #expect(hashes.allSatisfy { $0 >= part.lower && $0 < upper }, "seed \(seed)") }
            let isOne = upper - part.lower == 1
            #expect(isOne || hashes.count <= max(limit, 2), "seed \(seed), \(hashes.count) of \(limit)")
        }
    }
}
