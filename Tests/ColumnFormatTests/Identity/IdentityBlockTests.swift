import HealthModel
import Testing
import TestSupport

@testable import ColumnFormat

/// Compares blocks of the identity index with a linear search.
@Suite struct IdentityBlockTests {
    private let key: [UInt8] = Array("a key of some bytes".utf8)

    /// Sorted entries: dense or sparse hashes, some of them equal, of one kind or many.
    private func entries(_ count: Int, _ random: inout SeededGenerator) -> [IdentityEntry] {
        let bits = UInt64(random.pick([0, 1, 4, 12, 24, 39, 40]))
        let mask: UInt64 = bits == 0 ? 0 : .max >> (64 - bits)
        let base = random.next() & ((1 << 40) - 1) & ~mask
        let kinds = random.pick([1, 2, 3, 40, 300])
        let placeMask: UInt64 = random.pick([0, 0xFF, 0xFF_FFFF])
        return (0..<count).map { _ in
            let hash = base | random.next() & mask
            var kind = IdentityEntry.Kind(
                lane: Lane(type: UInt32(random.number(0..<kinds)), duration: random.pick(DurationClass.allCases)))
            if random.chance(0.1) { kind = .tombstone }
            if random.chance(0.1) { kind = kind.removal }
            return IdentityEntry(key: hash << 24 | random.next() & placeMask, kind: kind)
        }.sorted()
    }

    private func encode(_ all: [IdentityEntry], pageSize: Int) -> [(value: [UInt8], entries: ArraySlice<IdentityEntry>)]
    {
        var encoder = IdentityBlockEncoder(pageSize: pageSize)
        var rest = all[...]
        var blocks: [(value: [UInt8], entries: ArraySlice<IdentityEntry>)] = []
        while !rest.isEmpty {
            let block = encoder.block(rest, stamp: CommitStamp(commit: 3, session: 5)) { _ in key }
            blocks.append((block.value, rest.prefix(block.count)))
            rest = rest.dropFirst(block.count)
        }
        return blocks
    }

    @Test(
        "Blocks hold all entries in order, fit their page, and find the entries that a linear search finds",
        arguments: [256, 1_024, 4_096, 16_384])
    func findAgreesWithLinearSearch(pageSize: Int) throws {
        var random = SeededGenerator()
        for round in 0..<40 {
            let all = entries(random.pick([1, 2, 63, 64, 65, 700, 3_000]), &random)
            for (value, expected) in encode(all, pageSize: pageSize) {
                #expect(value.count <= pageSize - 16 || expected.count == 1, "round \(round)")
                let block = try IdentityBlock(StoredValue(value.rawBytes, table: .identity))
                var read: [IdentityEntry] = []
                try block.appendAll(to: &read)
                #expect(read == Array(expected), "round \(round)")
                #expect(block.count == expected.count)
                #expect(block.lastHash == expected.last!.hash, "round \(round)")
                try find(block, expected, &random)
            }
        }
    }

    private func find(_ block: IdentityBlock, _ entries: ArraySlice<IdentityEntry>, _ random: inout SeededGenerator)
        throws
    {
        let (first, last) = (entries.first!.hash, entries.last!.hash)
        var hashes: [UInt64] = [0, first, last, max(1, first) - 1, last + 1, (1 << 40) - 1]
        for _ in 0..<20 {
            hashes.append(random.chance(0.7) ? random.pick(Array(entries)).hash : random.next() & ((1 << 40) - 1))
        }
        var probe = IdentityBlock.Probe()
        for hash in hashes.sorted() {
            var found: [IdentityEntry] = []
            try block.find(hash, into: &found)
            let expected = entries.filter { $0.hash == hash }
            #expect(found == expected)
            let contains = try block.contains(hash, &probe)
            #expect(contains == !expected.isEmpty)
        }
    }

    @Test("A hundred thousand equal entries fit, in as many blocks as they need")
    func manyAlike() throws {
        let entry = IdentityEntry(key: 5 << 24, kind: IdentityEntry.Kind(lane: Lane(type: 1, duration: .hour)))
        let all = [IdentityEntry](repeating: entry, count: 100_000)
        for pageSize in [4_096, 16_384] {
            var count = 0
            for (value, _) in encode(all, pageSize: pageSize) {
                let block = try IdentityBlock(StoredValue(value.rawBytes, table: .identity))
                count += block.count
                var found: [IdentityEntry] = []
                try block.find(5, into: &found)
                #expect(found.count == block.count)
            }
            #expect(count == all.count)
        }
    }

    @Test("The range of starts of an entry contains its own start, at both ends of the time range too")
    func stretches() {
        for start in [
            Int64.min, .min + 1, -1, 0, 1, 1 << 40, Instant.earliest.nanoseconds, Instant.latest.nanoseconds, .max,
        ] {
            let lane = Lane(type: .max, duration: .long)
            let entry = IdentityEntry(hash: .max, start: start, lane: lane)
            #expect(entry.starts.contains(start))
            #expect(entry.hash == (1 << 40) - 1)
            #expect(entry.kind.lane == lane)
            #expect(entry.starts.upperBound &- entry.starts.lowerBound == (1 << 40) - 1)
        }
    }
}

/// Merging: each removal cancels one addition with the same hash and place.
@Suite struct IdentityMergeTests {
    private func kind(_ type: UInt32) -> IdentityEntry.Kind {
        IdentityEntry.Kind(lane: Lane(type: type, duration: .hour))
    }

    @Test("Settling leaves as many entries at each place as additions exceed removals")
    func settling() {
        var random = SeededGenerator()
        for _ in 0..<500 {
            let all = (0..<random.number(0..<60)).map { _ in
                let kind = kind(UInt32(random.number(0..<3)))
                return IdentityEntry(key: UInt64(random.number(0..<5)), kind: random.chance(0.5) ? kind.removal : kind)
            }.sorted()
            var net: [IdentityEntry: Int] = [:]
            for entry in all {
                net[IdentityEntry(key: entry.key, kind: entry.kind.addition), default: 0] +=
                    entry.kind.isRemoval ? -1 : 1
            }
            for keepsRemovals in [false, true] {
                var expected: [IdentityEntry] = []
                for (entry, count) in net where count > 0 || keepsRemovals {
                    let signed = IdentityEntry(key: entry.key, kind: count > 0 ? entry.kind : entry.kind.removal)
                    expected += [IdentityEntry](repeating: signed, count: abs(count))
                }
                #expect(IdentityMerge.settle(all, keepingRemovals: keepsRemovals) == expected.sorted())
            }
        }
    }

    @Test("The union of two sorted lists is sorted and contains all entries of both")
    func union() {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let lists = (0..<2).map { _ in
                (0..<random.number(0..<50)).map { _ in IdentityEntry(key: UInt64(random.number(0..<30)), kind: kind(1))
                }.sorted()
            }
            #expect(IdentityMerge.union(lists[0], lists[1]) == (lists[0] + lists[1]).sorted())
        }
    }
}
