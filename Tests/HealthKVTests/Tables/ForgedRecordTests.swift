import ColumnFormat
import TestSupport
import Testing

@testable import HealthKV

/// Records whose checksums are right and which say what no writer says: each is damage, and costs neither the process
/// nor much time. `tools/damage` forges them at random.
@Suite struct ForgedRecordTests {
    private typealias Forge = @Sendable (inout HealthKV.WriteTransaction) throws -> Void

    private func withForged(_ forge: @escaping Forge, _ body: (SampleStore) throws -> Void) throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        try GoodStore.fill(store)
        _ = try store.core.onWriter { try store.core.transact { try forge(&$0) } }
        try body(store)
        try store.close()
    }

    private func expectDamage(_ forge: @escaping Forge, _ body: (borrowing HealthKV.ReadTransaction) throws -> Void)
        throws
    {
        try withForged(forge) { store in expectError(.damaged) { try store.read { try body($0) } } }
    }

    @Test("A read that passes damage over ends where a chunk is missing in the middle")
    func missingChunk() throws {
        try withForged({ txn in
            let keys = try ChunkTable.chunkKeys(
                Lane(type: NameTable.number(of: .stepCount, in: txn.snapshot)!, duration: .hour), in: txn.snapshot)
            for table in [TableCode.chunks, .details] { try txn.remove(table, keys[1].bytes) }
        }) { store in
            var count = 0
            let damaged = try store.read {
                try $0.forEachReadableSample(SampleQuery(.stepCount)) { _ in
                    count += 1
                    return count < 10_000
                }
            }
            #expect(count > 0 && count < 1_500 && !damaged.isEmpty)
        }
    }

    @Test("A change record that names another commit than its key is damage, and no reader goes back to it")
    func changeUnderAnotherKey() throws {
        try expectDamage({ txn in
            var record = ChangeRecord(commit: 1, time: 0, mark: 1)
            record.deletions = [ChangeRecord.Deletion(commit: 1, ordinal: 1, id: GoodStore.lonely, type: 1)]
            let key = ChangeLog.key(2)
            var value = record.value(stamp: CommitStamp(commit: 1, session: 5))
            value.replaceSubrange(32..<40, with: key)
            try txn.put(.changes, key, try #require(resealed(value)))
        }) { _ = try $0.changes(since: nil) }
    }

    @Test("Counts beyond what a store can hold are damage, and nothing is sized by them", arguments: [Int64.max, .min])
    func counts(_ number: Int64) throws {
        try withForged({ txn in
            var counts = TypeCounts()
            counts.sources[1] = TypeCounts.Count(samples: number, shadowed: 0)
            let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
            try SummaryTable.put(counts, of: type, in: &txn)
        }) { store in
            expectError(.damaged) { try store.read { try $0.count() } }
            try #expect(!store.check().isClean)
        }
    }

    @Test("Hours that no instant has are not summed up", arguments: [Int64.min / 2, 1 << 40])
    func staleHours(_ hour: Int64) throws {
        try withForged({ txn in
            let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
            let value = StaleTable.value(type, hour...hour + 1_000_000, stamp: txn.stamp)
            try txn.put(.upkeep, StaleTable.key(type, hour), value)
        }) { store in expectError(.damaged) { while try store.maintain() {} } }
    }

    @Test("A summary of a block that no instant has is damage", arguments: [Int64(Int32.min), Int64(Int32.max)])
    func summaryBlock(_ block: Int64) throws {
        try withForged({ txn in
            let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
            let key = SummaryTable.key(type, block)
            try txn.put(.summaries, key, RecordWriter().value(table: .summaries, key: key, stamp: txn.stamp))
        }) { store in
            try #expect(!store.check().isClean)
            try store.read { _ = try? $0.statistics(of: .stepCount) }
        }
    }

    @Test("A summary whose samples start outside of their hour is damage, and upkeep does not write it again")
    func summaryOutsideItsHour() throws {
        try withForged({ txn in
            let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
            let hour = Instant.day(1).nanoseconds.dividedDown(by: SummaryPeriod.hour)
            let block = SummaryPeriod.block(ofHour: hour)
            let key = SummaryTable.key(type, block)
            var encoder = SummaryEncoder(key: key)
            // Not the stale hour, so upkeep keeps it.
            let cell = Int(hour - block * SummaryPeriod.hoursPerBlock + 1) % SummaryLevel.hours.cells
            encoder.add(
                .hours, cells: [cell],
                integers: [(.count, [10]), (.duration, [0]), (.first, [.max]), (.last, [.max])],
                values: [(.sum, [1])] + SummaryLevel.hours.values(.cumulative).map { ($0, [1]) })
            try txn.put(.summaries, key, encoder.finish(stamp: txn.stamp))
            let stale = StaleTable.value(type, hour...hour, stamp: txn.stamp)
            try txn.put(.upkeep, StaleTable.key(type, hour), stale)
        }) { store in
            expectError(.damaged) { while try store.maintain() {} }
            try #expect(!store.check().isClean)
        }
    }

    @Test("A name under the last possible number is damage for a new name, which has no number left")
    func lastNameNumber() throws {
        try withForged({ txn in
            let (key, name) = (NameTable.key(.source, .max), SourceIdentity(name: "Last"))
            let value = NameTable.value(.names, key: key, .max, NameCoding.encode(source: name), stamp: txn.stamp)
            try txn.put(.names, key, value)
        }) { store in
            let sample = Sample(.bodyMass, 70, .kilogram, at: .day(5), source: Source(name: "New"))
            expectError(.damaged) { try store.save(sample) }
        }
    }

    @Test("A partition whose runs have numbers that no run can have is damage")
    func runs() throws {
        for (number, entries) in [(UInt32.max, UInt64(1)), (1, .max)] {
            try expectDamage({ txn in
                var partition = try IdentityIndex.partition(of: 0, in: txn.snapshot)!
                partition.runs = [IdentityPartition.Run(number: number, entries: entries)]
                let key = IdentityIndex.partitionKey(partition.lower)
                try txn.put(.identity, key, partition.value(key: key, stamp: txn.stamp))
            }) { _ = try IdentityIndex.allPartitions(in: $0.snapshot) }
        }
    }

    @Test("Partitions that overlap are damage, and merging does not go on for ever")
    func overlap() throws {
        try withForged({ txn in
            var partition = IdentityPartition(lower: 5, upper: 1 << 20)
            partition.nextRun = 4
            partition.runs = (1...3).map { IdentityPartition.Run(number: $0, entries: 1) }
            let key = IdentityIndex.partitionKey(5)
            try txn.put(.identity, key, partition.value(key: key, stamp: txn.stamp))
        }) { store in
            store.core.mayHaveRuns.store(true, ordering: .relaxed)
            expectError(.damaged) { while try store.maintain() {} }
        }
    }

    @Test("A recent identity that came more often than the store has room for is damage")
    func recentIdentity() throws {
        try expectDamage({ txn in
            let lane = Lane(type: 1, duration: .hour)
            let entry = IdentityEntry(
                hash: IdentityHash.of(GoodStore.lonely, txn.state.header.hashKey), start: 0, lane: lane)
            let key = IdentityIndex.recentKey(entry)
            try txn.put(.identity, key, RecentEntry.value(key: key, net: 1 << 24, stamp: txn.stamp))
        }) { _ = try $0.sample(id: GoodStore.lonely) }
    }

    /// Calls `maintain` until it has done everything, but not for ever.
    private func expectUpkeepEnds(_ store: SampleStore) throws {
        var left = 500
        while left > 0, try store.maintain(budget: .milliseconds(1)) { left -= 1 }
        #expect(left > 0)
    }

    @Test("Upkeep ends where the header counts recent identities that no record has")
    func countedIdentities() throws {
        try withForged({ txn in
            try IdentityIndex.foldRecentEntries(in: &txn)
            txn.state.header.recentEntries = 100_000
            txn.state.isChanged = true
        }) { store in
            try expectUpkeepEnds(store)
            try #expect(store.read { $0.snapshot.header.recentEntries } == 0)
        }
    }

    @Test("A recent identity under a key of another length is damage, and hides none of those behind it")
    func keyOfRecentIdentity() throws {
        try withForged({ txn in
            let key = [IdentityPartition.recentTag, 0]
            try txn.put(.identity, key, RecentEntry.value(key: key, net: 1, stamp: txn.stamp))
            txn.state.header.recentEntries = 100_000
        }) { store in
            expectError(.damaged) { try expectUpkeepEnds(store) }
            expectError(.damaged) { try store.read { _ = try IdentityIndex.recentEntries(in: $0.snapshot) } }
        }
    }

    @Test("An operation that names another place than its key is damage, and no reader goes back to it")
    func operationUnderAnotherKey() throws {
        try expectDamage({ txn in
            let operation = try #require(try txn.pending(peer: "p", sample: GoodStore.lonely))
            let section = try QueueTable.directory(of: "p", in: txn.snapshot).sections[0].number
            try PeerTables.put(
                operation, PeerKey.pending("p", section, operation.sequence + 9, txn.state.header.hashKey), in: &txn)
        }) { _ = try $0.pending(for: "p") }
    }

    @Test("A section of a queue behind which there is no number is damage")
    func section() throws {
        try expectDamage({ txn in
            var record = RecordWriter()
            record.append("p")
            for number in [1, .max, 1] as [UInt32] { record.append(number) }
            record.append(1 as UInt8)
            record.append(nil as String?)
            record.append(UInt64.max)
            record.append(0 as Int64)
            let key = PeerKey.directory("p", txn.state.header.hashKey)
            try txn.put(.pending, key, record.value(table: .pending, key: key, stamp: txn.stamp))
        }) { _ = try $0.pendingGroups(for: "p") }
    }

    @Test("A conflict that names another place than its key is damage, and pruning does not go on for ever")
    func conflictUnderAnotherKey() throws {
        try expectDamage({ txn in
            try txn.appendAudit(event: "lost", sample: GoodStore.lonely)
            let entry = try #require(try txn.audit().first)
            try PeerTables.put(entry, PeerKey.audit(entry.commit, entry.ordinal + 1), in: &txn)
        }) { _ = try $0.audit() }
    }

    @Test("A tombstone that names another id than its key is damage, and no page of deletions begins again")
    func tombstoneUnderAnotherKey() throws {
        try expectDamage({ txn in
            let (key, value) = try GoodStore.first(txn.snapshot, .tombstones)
            var tombstone = try Tombstone(value.rawBytes, key: key)
            tombstone = Tombstone(
                DeletedSample(
                    id: .zero, type: .stepCount, source: SourceIdentity(name: ""), syncIdentifier: nil, version: 1,
                    modified: .unknown), type: 1, source: 1, commit: 1, ordinal: 1, time: tombstone.time)
            try txn.put(.tombstones, key, tombstone.value(key: key, stamp: txn.stamp))
        }) { _ = try $0.deletions() }
    }

    @Test("A header near the end of its numbers is refused")
    func header() throws {
        for change: (inout StoreHeader) -> Void in [{ $0.commit = .max }, { $0.recentEntries = .max }] {
            var header = StoreHeader()
            change(&header)
            #expect(throws: FormatError.self) { _ = try StoreHeader(header.value.rawBytes) }
        }
    }
}

/// Checksums of a value of one block, made right again.
private func resealed(_ value: [UInt8]) -> [UInt8]? {
    var bytes = value
    let body = 32 + Int(bytes[24]) + Int(bytes[25]) + 8 * Int(bytes[3]) + 8
    guard body < bytes.count, bytes.count - body <= 1 << Int(bytes[26]) else { return nil }
    for (offset, hash) in [(body - 8, Checksum.hash(bytes, body..<bytes.count))] { put(&bytes, offset, hash) }
    put(&bytes, body - 4, Checksum.hash(bytes, 0..<body - 4))
    return bytes
}

private func put(_ bytes: inout [UInt8], _ offset: Int, _ hash: UInt64) {
    let sum = UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * index)) }
}
