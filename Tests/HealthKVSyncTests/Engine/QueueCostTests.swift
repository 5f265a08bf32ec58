import SyncSupport
import Testing

@testable import HealthKV
@testable import HealthKVSync

/// The cost of an operation of a queue, and of a status, does not depend on how many others wait
/// (docs/decisions/0025).
///
/// Nothing counts what a transaction reads. So the records of all other operations are made unreadable: reading one of
/// them throws.
@Suite("Cost of long queues")
struct QueueCostTests {
    @Test("Retrying or discarding one of 20,000 waiting operations reads none of the others, and a status reads none")
    func reads() async throws {
        let queue = try await LongQueue.make(20_000)
        let (bench, parked, locked) = (queue.bench, queue.parked, queue.locked)
        // At the beginning of the long section, in its middle, and at its end.
        let pairs = [0, parked.count / 2, parked.count - 2].map { (retried: parked[$0], discarded: parked[$0 + 1]) }
        let spoiled = try queue.spoil(keeping: pairs.flatMap { [$0.retried, $0.discarded] } + locked)
        try await expectThatReadingFails(queue, spoiled)
        for pair in pairs {
            #expect(try await bench.engine.retry(pair.retried.id))
            #expect(try await bench.engine.discard(pair.discarded.id))
        }
        let left = parked.count - 2 * pairs.count
        var status = try bench.status()
        #expect(status.pending == pairs.count && status.parked == left + locked.count)
        #expect(status.waiting == [.bodyMass: left])
        // What waits for access stays unread when another reason ends.
        let peer = bench.peer
        try bench.write { try $0.unpark([.locked, .unavailable], of: peer) }
        status = try bench.status()
        #expect(status.pending == pairs.count + locked.count && status.parked == left)
        // Nothing is parked for this reason any more.
        let commit = try bench.store.info().commit
        try bench.write { try $0.unpark([.locked, .unavailable], of: peer) }
        #expect(try bench.store.info().commit == commit)
        try queue.mend(spoiled)
        #expect(try bench.pending.count == left + pairs.count + locked.count)
        try bench.finish()
    }

    /// Demands that each read of an unreadable operation is noticed: otherwise the test above could not fail.
    private func expectThatReadingFails(_ queue: LongQueue, _ spoiled: [LongQueue.Spoiled]) async throws {
        let (bench, id) = (queue.bench, spoiled[spoiled.count / 3].operation.id)
        #expect(throws: StoreError.self) { try bench.pending }
        await #expect(throws: StoreError.self) { try await bench.engine.retry(id) }
        await #expect(throws: StoreError.self) { try await bench.engine.discard(id) }
        let peer = bench.peer
        #expect(throws: StoreError.self) { try bench.write { try $0.unpark([.unauthorized], of: peer) } }
    }

    @Test("Retrying, discarding and unparking write as many records and bytes in a queue of 20,000 as in one of 50")
    func writes() async throws {
        let (few, many) = (try await LongQueue.make(50), try await LongQueue.make(20_000))
        let (ofFew, ofMany) = (try await written(to: few), try await written(to: many))
        #expect(ofFew == ofMany)
        #expect(Set(ofFew).count == ofFew.count, "each step writes something")
        for queue in [few, many] { try queue.bench.finish() }
    }

    @Test("A commit reads none of the operations that wait for a feed since before the store was opened") func commits()
        async throws
    {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        for number in 0..<3 {
            try bench.write { txn in
                for second in 0..<1_000 {
                    let start = bench.time(number) + .seconds(second)
                    _ = try txn.save(Sample(.bodyMass, 70, .kilogram, at: start))
                }
            }
        }
        let (waiting, peer) = (try bench.pending, bench.peer)
        #expect(waiting.count == 3_000)
        let opened = try bench.store.info().commit
        try bench.write { txn in
            for operation in waiting.dropFirst() {
                let place = try QueueTable.place(of: operation.sample, in: peer, in: txn.snapshot)
                let section = try #require(place).section
                try txn.put(
                    .pending, PeerKey.pending(peer, section, operation.sequence, txn.snapshot.header.hashKey), [0])
            }
        }
        let new = try bench.save(71)
        func collected(isOfCommit: Bool, limit: Int = 200) throws -> PushBatch {
            var batch = PushBatch(after: 0)
            let conditions = PushBatch.Conditions(
                now: bench.clock.now, isUrgent: false, plan: .weightTracker, isOfCommit: isOfCommit, held: [],
                ungranted: [], seen: FeedsSeen(isBlind: true, read: []), keepsRecords: false, limit: limit,
                longestDelay: .seconds(7_200), writer: try bench.store.blockingRead { $0.replica }, opened: opened)
            try bench.store.blockingRead { try batch.collect(peer, conditions, in: $0) }
            return batch
        }
        let batch = try collected(isOfCommit: true)
        #expect(batch.items.map(\.queued.sample) == [new.id])
        #expect(batch.isAtEnd && batch.unread == [.bodyMass])
        #expect(throws: StoreError.self) { try collected(isOfCommit: false) }
        try bench.store.close()
    }

    @Test("A group of any size is sent together, and read once", .timeLimit(.minutes(30)))
    func largeGroup() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try bench.write { txn in
            for second in 0..<3_000 {
                _ = try txn.save(
                    Sample(.bodyMass, 70, .kilogram, at: bench.time(0) + .seconds(second), group: "scale"))
            }
        }
        try await bench.sync()
        #expect(bench.held.count == 3_000)
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    /// What a transaction has written.
    private struct Written: Hashable, Sendable {
        let records: Int
        let bytes: Int

        init(by txn: borrowing WriteTransaction) {
            records = txn.context.state.writes
            bytes = txn.context.state.bytes
        }
    }

    /// Returns what a transaction has written at its beginning, and after each of these steps: a retry, a discard, the
    /// end of a reason to park three operations, and the directory of the queue.
    private func written(to queue: LongQueue) async throws -> [Written] {
        let (peer, middle) = (queue.bench.peer, queue.parked.count / 2)
        let (retried, discarded) = (queue.parked[middle].id, queue.parked[middle + 1].id)
        return try await queue.bench.store.write { txn -> [Written] in
            var totals = [Written(by: txn)]
            // As SyncEngine does it, each in a transaction of its own.
            let (first, second) = (try txn.pending(id: retried), try txn.pending(id: discarded))
            var operation = try #require(first)
            operation.retry()
            try txn.updatePending(operation)
            totals.append(Written(by: txn))
            let unwanted = try #require(second)
            try txn.removePending(unwanted)
            totals.append(Written(by: txn))
            try txn.unpark([.locked], of: peer)
            totals.append(Written(by: txn))
            try QueueTable.putDirectories(in: &txn)
            totals.append(Written(by: txn))
            return totals
        }
    }
}

/// A queue with a long section of operations that wait for access, and a short one of later operations that wait until
/// the device is unlocked.
private struct LongQueue {
    let bench: Bench
    let parked: [PendingOperation]
    let locked: [PendingOperation]

    /// An operation whose records cannot be read, and its section.
    struct Spoiled: Sendable {
        let operation: PendingOperation
        let section: UInt32
    }

    static func make(_ count: Int) async throws -> LongQueue {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.both), .dietaryWater: TypePlan(.both)]))
        try await bench.engine.enable(bench.peer)
        func operations(_ count: Int, _ reason: ParkReason, _ type: SampleType) -> [PendingOperation] {
            (0..<count).map { _ in
                var operation = PendingOperation(peer: bench.peer, kind: .save, sample: SampleID(), version: 1)
                operation.park(reason, of: type, until: .distantFuture)
                return operation
            }
        }
        let (long, short) = (operations(count, .unauthorized, .bodyMass), operations(3, .locked, .dietaryWater))
        let (parked, locked) = try await bench.store.write { txn in
            let parked = try long.map { try txn.enqueue($0, of: .bodyMass) }
            let locked = try short.map { try txn.enqueue($0, of: .dietaryWater) }
            return (parked, locked)
        }
        return LongQueue(bench: bench, parked: parked, locked: locked)
    }

    /// Makes the operations and their positions unreadable, except those that are kept.
    func spoil(keeping kept: [PendingOperation]) throws -> [Spoiled] {
        let (peer, samples) = (bench.peer, Set(kept.map(\.sample)))
        let others = (parked + locked).filter { !samples.contains($0.sample) }
        return try bench.store.write { txn -> [Spoiled] in
            let hashKey = txn.snapshot.header.hashKey
            var spoiled: [Spoiled] = []
            for operation in others {
                let found = try QueueTable.place(of: operation.sample, in: peer, in: txn.snapshot)
                let place = try #require(found)
                // Too short for a value.
                try txn.put(.pending, PeerKey.pending(peer, place.section, place.sequence, hashKey), [0])
                try txn.put(.pending, PeerKey.place(peer, operation.sample, hashKey), [0])
                spoiled.append(Spoiled(operation: operation, section: place.section))
            }
            return spoiled
        }
    }

    /// Undoes ``spoil(keeping:)``.
    func mend(_ spoiled: [Spoiled]) throws {
        try bench.write { txn in
            let hashKey = txn.snapshot.header.hashKey
            for item in spoiled {
                let (operation, section) = (item.operation, item.section)
                let (peer, sample, sequence) = (operation.peer, operation.sample, operation.sequence)
                let place = PendingPlace(peer: peer, sample: sample, sequence: sequence, section: section)
                try PeerTables.put(operation, PeerKey.pending(peer, section, sequence, hashKey), in: &txn)
                try PeerTables.put(place, PeerKey.place(peer, sample, hashKey), in: &txn)
            }
        }
    }
}
