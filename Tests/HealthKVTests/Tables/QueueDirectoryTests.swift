import ColumnFormat
import TestSupport
import Testing

@testable import HealthKV

/// What waits for a peer is counted as it comes and goes, and passed by without a look at it.
@Suite("Sections of queues")
struct QueueDirectoryTests {
    private struct Failure: Error {}

    private func register(_ store: SampleStore, _ name: PeerID = "health") throws {
        try store.write { txn in
            try txn.setPeer(
                RegisteredPeer(
                    id: name, registered: .day(0), lastSeen: .day(0), queue: QueueRule(types: nil)))
        }
    }

    @Test(
        "Counts by type, state and reason are those of the operations, whatever happens to them, is undone or rebuilt"
    )
    func counts() throws {
        for seed in 1...12 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            try withStore(options: tightOptions()) { store throws in
                let types: [SampleType] = [.bodyMass, .stepCount, SampleType("com.example.custom")]
                let peers: [PeerID] = ["health", "watch#2"]
                var model: [String: (operation: PendingOperation, type: SampleType)] = [:]
                for round in 0..<40 {
                    let fails = random.number(0..<4) == 0
                    let (before, begin) = (model, random)
                    do {
                        (model, random) = try store.write { txn in
                            var (changed, generator) = (before, begin)
                            for _ in 0..<8 {
                                let known = changed.keys.sorted()
                                let id = known.isEmpty ? "" : known[generator.number(0..<known.count)]
                                switch (generator.number(0..<5), changed[id]) {
                                case (0..<2, let old):
                                    let type = types[generator.number(0..<3)]
                                    // The next of the same sample takes its place.
                                    let again =
                                        old.map { generator.number(0..<3) == 0 ? $0.operation.sample : nil } ?? nil
                                    let peer =
                                        again.flatMap { _ in old?.operation.peer } ?? peers[generator.number(0..<2)]
                                    if again != nil { changed[id] = nil }
                                    let made = try txn.enqueue(
                                        PendingOperation(
                                            peer: peer, kind: .save, sample: again ?? SampleID(), version: 1), of: type)
                                    changed[made.id] = (made, type)
                                case (2, let old?):
                                    try txn.removePending(old.operation)
                                    changed[id] = nil
                                case (_, var old?):
                                    let states = PendingOperation.State.allCases
                                    old.operation.state = states[generator.number(0..<states.count)]
                                    old.operation.reason = "reason \(generator.number(0..<20))"
                                    old.operation.nextTry = .day(generator.number(0..<50))
                                    try txn.updatePending(old.operation)
                                    changed[id] = old
                                default: break
                                }
                            }
                            if fails { throw Failure() }
                            return (changed, generator)
                        }
                    } catch is Failure {}
                    if round % 16 == 15 { try store.rebuild() }
                    try compare(store, model.values.map { $0 }, peers, seed: seed, rebuilt: round >= 15)
                }
            }
        }
    }

    private func compare(
        _ store: SampleStore, _ model: [(operation: PendingOperation, type: SampleType)], _ peers: [PeerID],
        seed: UInt64, rebuilt: Bool
    ) throws {
        try store.read { txn in
            for peer in peers {
                let expected = model.filter { $0.operation.peer == peer }.sorted {
                    $0.operation.sequence < $1.operation.sequence
                }
                let (all, counts) = (try txn.pending(for: peer), try txn.pendingCounts(for: peer))
                #expect(all == expected.map(\.operation), "seed \(seed)")
                #expect(counts.total == expected.count, "seed \(seed)")
                for state in PendingOperation.State.allCases {
                    #expect(counts[state] == expected.count { $0.operation.state == state }, "seed \(seed)")
                }
                // What is about no sample has lost its type when queues are rebuilt.
                if !rebuilt {
                    for type in Set(expected.map(\.type)) {
                        let parked = expected.count { $0.type == type && $0.operation.state == .parked }
                        #expect(counts[.parked, of: type] == parked, "seed \(seed)")
                    }
                }
                for group in counts.groups {
                    let held = try txn.pending(for: peer, in: [group])
                    #expect(held.count == group.count && held.allSatisfy { $0.nextTry >= group.earliest })
                    // Short queues know when the next is due.
                    #expect(held.map(\.nextTry).min() == group.earliest, "seed \(seed)")
                }
                if let middle = all.dropFirst(all.count / 2).first {
                    let some = try txn.pending(for: peer, after: middle.sequence, limit: 3)
                    #expect(some == Array(all.filter { $0.sequence > middle.sequence }.prefix(3)), "seed \(seed)")
                }
            }
            for (operation, _) in model {
                let found = try txn.pending(id: operation.id)
                #expect(found == operation, "seed \(seed)")
            }
            let absent = try txn.pending(id: "health#7")
            #expect(absent == nil)
        }
        #expect(try store.info().pending == model.count, "seed \(seed)")
    }

    @Test("A sample's type is known to the queue, also where nobody names it") func types() throws {
        try withStore { store throws in
            try register(store)
            let (first, second) = (
                Sample(.bodyMass, 72, .kilogram, at: .day(1)), Sample(.stepCount, 9, .count, at: .day(1))
            )
            try store.write { txn in
                try txn.save(first)
                try txn.receiving(from: "health") { _ = try $0.save(second) }
                try txn.enqueue(PendingOperation(peer: "health", kind: .save, sample: second.id, version: 1))
                try txn.enqueue(PendingOperation(peer: "health", kind: .save, sample: SampleID(), version: 1))
            }
            let counts = try store.read { try $0.pendingCounts(for: "health") }
            #expect(counts[.waiting, of: .bodyMass] == 1 && counts[.waiting, of: .stepCount] == 1)
            #expect(counts[.waiting] == 3 && counts.types == [.bodyMass, .stepCount])
        }
    }

    @Test("The next try of a long queue is too early until it is settled, and never too late") func longQueue() throws {
        try withStore { store throws in
            let made = try store.write { txn in
                try (0..<200).map { index in
                    var operation = PendingOperation(peer: "p", kind: .save, sample: SampleID(), version: 1)
                    (operation.state, operation.reason, operation.nextTry) = (.parked, "locked", .day(1 + index))
                    return try txn.enqueue(operation, of: .bodyMass)
                }
            }
            try store.write { txn in
                for var operation in made[..<150] {
                    operation.nextTry = .day(500)
                    try txn.updatePending(operation)
                }
            }
            func earliest() throws -> Instant? { try store.read { try $0.pendingGroups(for: "p") }.first?.earliest }
            #expect(try earliest() == .day(1))
            try store.write { try $0.settleNextTries(of: "p", at: .day(2)) }
            #expect(try earliest() == .day(151))
            let commit = try store.info().commit
            try store.write { try $0.settleNextTries(of: "p", at: .day(160)) }
            #expect(try earliest() == .day(151) && store.info().commit == commit)
        }
    }

    @Test("An operation that left its queue does not come back with what was made of it meanwhile") func stale() throws
    {
        try withStore { store throws in
            let made = try store.write { txn in
                try txn.enqueue(PendingOperation(peer: "p", kind: .save, sample: SampleID(), version: 1))
            }
            try store.write { txn in
                try txn.removePending(made)
                try txn.updatePending(made)
            }
            #expect(try store.read { try $0.pending() }.isEmpty)
        }
    }

    @Test("Deletions that wait for good hold the tombstones that they need, and no others") func pinned() throws {
        let clock = TestClock()
        let day = 86_400 * Instant.nanosecondsPerSecond
        try withStore(options: tightOptions(clock)) { store throws in
            try register(store)
            var samples: [Sample] = []
            for index in 0..<100 {
                let sample = Sample(.bodyMass, 70, .kilogram, at: .day(index), syncIdentifier: "weight \(index)")
                try store.save(sample)
                samples.append(sample)
            }
            let ids = samples.map(\.id)
            try store.write { txn in
                for operation in try txn.pending(for: "health") { try txn.removePending(operation) }
                try txn.setLink(PeerLink(peer: "health", sample: ids[0], idAtPeer: SampleID(), version: 1))
            }
            try store.write { txn in for id in ids { _ = try txn.delete(id: id) } }
            try store.write { txn in
                var stuck = try txn.pending(for: "health")[0]
                (stuck.state, stuck.reason, stuck.nextTry) = (.parked, "unauthorized", .distantFuture)
                try txn.updatePending(stuck)
                try txn.acknowledge(peer: "health", try #require(try txn.seenThroughQueue(of: "health")))
            }
            #expect(try store.read { try $0.pending(for: "health") }.map(\.sample) == [ids[0]])
            // A clock that leaps is not believed.
            for _ in 0..<15 {
                clock.advance(by: 60 * day)
                try store.save(Sample(.stepCount, 1, .count, at: clock.now))
                while try store.maintain() {}
            }
            let kept = try store.read { try $0.deletions() }.deletions
            #expect(kept.map(\.id) == [ids[0]])
            let source = try #require(kept.first?.source)
            #expect(
                try store.read {
                    try $0.deletedSample(syncIdentifier: "weight 0", type: .bodyMass, source: source)
                }?.id == ids[0])
            try store.write { txn in
                for operation in try txn.pending(for: "health") where operation.kind == .delete {
                    try txn.removePending(operation)
                }
            }
            // What the peer still holds may show itself again.
            clock.advance(by: 2 * day)
            while try store.maintain() {}
            #expect(try store.read { try $0.deletions() }.deletions.map(\.id) == [ids[0]])
            try store.write { txn in
                try txn.removeLink(PeerLink(peer: "health", sample: ids[0], idAtPeer: SampleID(), version: 1))
            }
            clock.advance(by: 2 * day)
            while try store.maintain() {}
            #expect(try store.read { try $0.deletions() }.deletions.isEmpty)
        }
    }

    @Test("A check finds counts that are wrong, and a rebuild mends what leads to operations") func mended() throws {
        let samples = (0..<5).map { _ in SampleID() }
        func spoiled(_ spoil: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws {
            let store = try SampleStore.temporary()
            try store.write { txn in
                for sample in samples {
                    try txn.enqueue(PendingOperation(peer: "p", kind: .save, sample: sample, version: 1))
                }
            }
            try store.expectClean()
            try store.write { try spoil(&$0) }
            #expect(try !store.check().findings.isEmpty)
            #expect(try store.check().findings.allSatisfy { $0.kind == .queueWrong })
            try store.rebuild()
            try store.expectClean()
            #expect(try Set(store.read { try $0.pending(for: "p") }.map(\.sample)) == Set(samples))
            try store.close()
        }
        try spoiled { txn in
            try PeerTables.forget(PeerKey.directory("p", txn.state.header.hashKey), as: QueueDirectory.self, in: &txn)
        }
        try spoiled { txn in
            try PeerTables.forget(
                PeerKey.place("p", samples[2], txn.state.header.hashKey), as: PendingPlace.self, in: &txn)
        }
        try spoiled { txn in
            var directory = try QueueTable.directory(of: "p", in: txn.snapshot)
            directory.remove(from: 1)
            try PeerTables.put(directory, PeerKey.directory("p", txn.state.header.hashKey), in: &txn)
        }
    }
}
