import ColumnFormat
import HealthModel
import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// One bad value does not hide others, nor is it told a thousand times.
@Suite("A check goes on behind what cannot be read")
struct CheckGoesOnTests {
    /// A store whose index has many partitions, with the keys of their blocks.
    private func manyPartitions() throws -> (store: SampleStore, blocks: [[UInt8]]) {
        var options = tightOptions()
        options.limits.partitionEntries = 60
        options.limits.recentEntries = 20
        let store = try SampleStore.temporary(options: options)
        for day in 0..<30 {
            let samples = (0..<20).map { Sample(.stepCount, Double($0), .count, at: .day(day, $0 * 600)) }
            try store.write { try $0.save(samples) }
            while try store.maintain() {}
        }
        let blocks = try store.read { transaction in
            try IdentityIndex.allPartitions(in: transaction.snapshot).flatMap { partition in
                try partition.runs.flatMap { run in
                    try IdentityIndex.blockKeys(partition.lower, run.number, in: transaction.snapshot)
                }
            }
        }
        return (store, blocks)
    }

    private func spoil(_ keys: [[UInt8]], _ store: SampleStore) throws {
        try store.core.transact { txn in
            for key in keys {
                var value = try GoodStore.value(txn.snapshot, .identity, key)
                value[value.count - 1] ^= 1
                try txn.put(.identity, key, value)
            }
        }
    }

    @Test("Every unreadable block of the index is a finding, and what else the index lacks is found beside it")
    func blocks() throws {
        let (store, blocks) = try manyPartitions()
        try store.expectClean()
        let lowers = Set(blocks.map { Array($0[1..<9]) })
        try #require(lowers.count > 4)
        let (first, last) = (try #require(blocks.first), try #require(blocks.last))
        // An entry between those two is lost as well.
        let middle = blocks.filter { $0[1..<9] != first[1..<9] && $0[1..<9] != last[1..<9] }
        let lost = try store.read { transaction in
            let slice = UInt64(1) << 38..<UInt64(3) << 38
            let ranges = try IdentityIndex.allPartitions(in: transaction.snapshot).filter { partition in
                middle.contains { $0[1..<9] == IdentityIndex.partitionKey(partition.lower)[1...] }
            }
            return try #require(
                try IdentityIndex.indexedEntries(in: slice, of: ranges, in: transaction.snapshot).first { entry in
                    ranges.contains { $0.lower <= entry.hash && entry.hash < $0.upper }
                })
        }
        try store.core.transact { try IdentityIndex.addRecent(lost, -1, in: &$0) }
        try spoil([first, last], store)
        let report = try store.check()
        #expect(report.findings.count { $0.kind == .identityUnreadable } == 2, "\(report.findings)")
        #expect(report.findings.count { $0.kind == .identityMissing } == 1, "\(report.findings)")
        #expect(report.findings.count == 3)
        #expect(report.unexamined == ["identity index: 2 partitions with values that cannot be read"])
        try store.close()
    }

    @Test("A partition whose header cannot be read leaves the others to be compared")
    func partition() throws {
        let (store, _) = try manyPartitions()
        let lowers = try store.read { try IdentityIndex.allPartitions(in: $0.snapshot).map(\.lower) }
        try #require(lowers.count > 3)
        for lower in [lowers[0], lowers[1], lowers[lowers.count - 1]] {
            try spoil([IdentityIndex.partitionKey(lower)], store)
        }
        let report = try store.check()
        #expect(report.findings.map(\.kind) == [.identityUnreadable, .identityUnreadable, .identityUnreadable])
        try store.close()
    }

    @Test("A bad change record is one finding, not one for each sample of its commits")
    func changeRecord() throws {
        let store = try SampleStore.temporary(options: tightOptions())
        for day in 0..<3 {
            let samples = (0..<100).map { Sample(.stepCount, Double($0), .count, at: .day(day, $0 * 60)) }
            try store.write { try $0.save(samples) }
        }
        try store.core.transact { txn in
            let (key, value) = try GoodStore.first(txn.snapshot, .changes)
            try txn.put(.changes, key, value.dropLast() + [value[value.count - 1] ^ 1])
        }
        let report = try store.check()
        #expect(report.findings.map(\.kind) == [.recordUnreadable], "\(report.findings)")
        try store.close()
    }

    @Test("A lost change record is one finding for each type, which says how many samples the feed misses, and when")
    func lostRecord() throws {
        let store = try SampleStore.temporary(options: tightOptions())
        let steps = (0..<100).map { Sample(.stepCount, Double($0), .count, at: .day(1, $0 * 60)) }
        try store.write { try $0.save(steps + [Sample(.bodyMass, 70, .kilogram, at: .day(1))]) }
        try store.core.transact { txn in
            let (key, _) = try GoodStore.first(txn.snapshot, .changes)
            try txn.remove(.changes, key)
        }
        let found = try store.check().findings.filter { $0.kind == .changeMissing }
        #expect(Set(found.map { $0.samples?.count }) == [100, 1], "\(found)")
        let missed = try #require(found.first { $0.samples?.count == 100 }?.samples)
        #expect(missed.type == .stepCount && missed.starts.from == .day(1))
        #expect(missed.starts.to > .day(1, 99 * 60) && missed.starts.to < .day(1, 100 * 60))
        try store.close()
    }
}
