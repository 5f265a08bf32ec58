import ColumnFormat
import TestSupport
import Testing

@testable import HealthKV

/// Comparing the identity index without holding it.
@Suite struct IdentitySumsTests {
    private let key = KeyedHash(key0: 1, key1: 2)

    private func entry(_ hash: UInt64, _ start: Int64) -> IdentityEntry {
        IdentityEntry(hash: hash, start: start, lane: Lane(type: 1, duration: .hour))
    }

    @Test("Equal entries have equal sums in any order; a missing, a surplus and an exchanged one show in their bucket")
    func sums() {
        var random = SeededGenerator()
        let entries = (0..<3_000).map { entry(random.next(), Int64($0)) }
        var (one, other) = (IdentitySums(key), IdentitySums(key))
        for entry in entries { one.add(entry) }
        for entry in entries.reversed() { other.add(entry) }
        #expect(one.groups(differingFrom: other).isEmpty)
        let (surplus, exchanged) = (entry(random.next(), 5), entries[7])
        other.add(surplus)
        one.add(exchanged)
        let groups = one.groups(differingFrom: other)
        #expect(groups == [[IdentitySums.bucket(of: surplus), IdentitySums.bucket(of: exchanged)]])
        for slice in IdentitySums.hashes(of: groups[0]) {
            #expect(slice.contains(surplus.hash) || slice.contains(exchanged.hash))
        }
    }

    @Test("Buckets side by side are one range, and all of them are all hashes") func ranges() {
        #expect(IdentitySums.hashes(of: Set(0..<4_096)) == [0..<IdentityPartition.hashLimit])
        #expect(IdentitySums.hashes(of: [1, 2, 9]).count == 2)
    }

    @Test("A hash that came twice is always seen, and few others are") func repeats() {
        var random = SeededGenerator()
        let hashes = (0..<4_000).map { _ in random.next() }
        var filter = RepeatFilter(count: hashes.count)
        for hash in hashes { filter.add(hash) }
        for hash in hashes.prefix(10) { filter.add(hash) }
        #expect(filter.hasRepeats && hashes.prefix(10).allSatisfy { filter.mayRepeat($0) })
        #expect(hashes.count { filter.mayRepeat($0) } < 600)
    }

    @Test("A check can be stopped between the chunks of a pass") func check()
        throws
    {
        try withStore(options: tightOptions()) { store throws in
            let starts = (0..<3_000).map { Instant.day(0, $0) }
            try store.importBatch(
                SampleBatch(
                    .stepCount, .count, source: Source(name: "S"), starts: starts, values: starts.map { _ in 1 },
                    ids: (0..<3_000).map { SampleID(high: 1, low: UInt64($0 + 1)) }))
            var shares: [Double] = []
            let report = try store.check { share in
                shares.append(share)
                return true
            }
            #expect(report.isClean)
            let inPasses = shares.filter { $0 > 0.6 && $0 <= 0.75 }
            #expect(!inPasses.isEmpty, "\(shares)")
            let stop = try #require(inPasses.first)
            var later: [Double] = []
            _ = try store.check { share in
                if share > stop { later.append(share) }
                return share < stop
            }
            #expect(later == [1], "only the end is told")
        }
    }
}
