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

    @Test("A partition whose header cannot be read leaves the others to be compared, and excuses no gap elsewhere")
    func partition() throws {
        let (store, _) = try manyPartitions()
        let partitions = try store.read { try IdentityIndex.allPartitions(in: $0.snapshot) }
        try #require(partitions.count > 6)
        let lost = try store.read { transaction in
            let third = partitions[2]
            return try #require(
                try IdentityIndex.indexedEntries(in: third.lower..<third.upper, of: [third], in: transaction.snapshot)
                    .first)
        }
        try store.core.transact { txn in
            try IdentityIndex.addRecent(lost, -1, in: &txn)
            try txn.remove(.identity, IdentityIndex.partitionKey(partitions[4].lower))
        }
        try spoil([partitions[0], partitions[1], partitions.last!].map { IdentityIndex.partitionKey($0.lower) }, store)
        let found = try store.check().findings
        #expect(found.count { $0.detail.contains("checksum") || $0.reference != nil } == 3, "\(found)")
        #expect(found.count { $0.detail == "partitions leave a gap" } == 1, "\(found)")
        #expect(found.count { $0.kind == .identityMissing } == 1, "\(found)")
        #expect(found.count == 5)
        try store.close()
    }

    @Test("A recent entry that cannot be read leaves partitions and ids to be checked")
    func recent() throws {
        let (store, _) = try manyPartitions()
        try store.save(Sample(.stepCount, 1, .count, at: .day(40)))
        let (key, first) = try store.read { transaction in
            let recent = try #require(try IdentityIndex.recentEntries(in: transaction.snapshot).first)
            return (IdentityIndex.recentKey(recent.0), try IdentityIndex.allPartitions(in: transaction.snapshot)[1])
        }
        try spoil([key], store)
        try store.core.transact { try $0.remove(.identity, IdentityIndex.partitionKey(first.lower)) }
        let report = try store.check()
        #expect(report.findings.map(\.kind) == [.identityUnreadable, .identityUnreadable], "\(report.findings)")
        #expect(report.findings.contains { $0.detail == "partitions leave a gap" })
        #expect(report.unexamined == ["identity index: without all recent entries none can be compared"])
        try store.close()
    }

    @Test("An unreadable change record shows in a check that begins behind the records, too")
    func resumed() throws {
        let store = try SampleStore.temporary(options: tightOptions())
        let steps = (0..<100).map { Sample(.stepCount, Double($0), .count, at: .day(1, $0 * 60)) }
        try store.write { try $0.save(steps) }
        try store.core.transact { txn in
            let (key, value) = try GoodStore.first(txn.snapshot, .changes)
            try txn.put(.changes, key, value.dropLast() + [value[value.count - 1] ^ 1])
        }
        #expect(try store.check().findings.map(\.kind) == [.recordUnreadable])
        #expect(try store.check(from: .chunks).findings.map(\.kind) == [.changeMissing])
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
