import ColumnFormat
@testable import HealthKV
import TestSupport
import Testing

/// Changes that peers are to hear of are queued in the transaction that makes them.
@Suite("Queues of peers")
struct PeerQueueTests {
    private func register(_ store: SampleStore, _ name: PeerID, _ types: Set<SampleType>?, imports: Bool = false) throws
    {
        try store.write { txn in
            try txn.setPeer(
                RegisteredPeer(
                    id: name, registered: .day(0), lastSeen: .day(0),
                    queue: QueueRule(types: types, takesImports: imports)))
        }
    }

    private func pending(_ store: SampleStore, _ peer: PeerID) throws -> [PendingOperation] {
        try store.read { try $0.pending(for: peer) }
    }

    @Test("D: A plain save queues its operation in the same transaction, for the peers that want the type")
    func plainSave() throws {
        try withStore { store throws in
            try register(store, "health", [.bodyMass])
            try register(store, "steps", [.stepCount])
            let sample = Sample(.bodyMass, 72, .kilogram, at: .day(1))
            try store.save(sample)
            let queued = try pending(store, "health")
            #expect(queued.map(\.sample) == [sample.id])
            #expect(queued.first?.kind == .save && PeerNumber.slot(of: queued[0].version) == 1)
            #expect(try pending(store, "steps").isEmpty)
            #expect(throws: CancellationError.self) {
                try store.write { txn in
                    try txn.save(Sample(.bodyMass, 80, .kilogram, at: .day(2)))
                    throw CancellationError()
                }
            }
            #expect(try pending(store, "health").count == 1)
        }
    }

    @Test("C20: what happens to one sample while it waits becomes one operation") func coalescing() throws {
        try withStore { store throws in
            try register(store, "health", nil)
            var sample = Sample(.bodyMass, 72, .kilogram, at: .day(1))
            for value in [72.0, 73, 74] {
                sample.quantity = Quantity(value, .kilogram)
                try store.save(sample)
            }
            let first = try #require(try pending(store, "health").first)
            #expect(try pending(store, "health").count == 1)
            // It was never sent, so the peer need not hear of the versions between, nor of a sample that is gone again.
            let id = sample.id
            try store.write { try $0.delete(id: id) }
            #expect(try pending(store, "health").isEmpty)
            sample.version = first.version + 1
            try store.save(sample)
            let again = try #require(try pending(store, "health").first)
            #expect(again.kind == .save && again.version == first.version + 1)
            #expect(try store.read { try $0.pending(peer: "health", sample: id) } == again)
        }
    }

    @Test("A delete whose save may have reached the peer is still sent, and no number is used twice") func sent()
        throws
    {
        try withStore { store throws in
            try register(store, "health", nil)
            var sample = Sample(.bodyMass, 72, .kilogram, at: .day(1))
            try store.save(sample)
            var operation = try #require(try pending(store, "health").first)
            operation.isSent = true
            operation.version = PeerNumber.last(version: 7)
            let sent = operation
            try store.write { try $0.updatePending(sent) }
            sample.quantity = Quantity(71, .kilogram)
            try store.save(sample)
            let next = try #require(try pending(store, "health").first)
            #expect(PeerNumber.slot(of: next.version) == 8 && next.isSent)
            let id = sample.id
            try store.write { try $0.delete(id: id) }
            #expect(try pending(store, "health").map(\.kind) == [.delete])
        }
    }

    @Test("C25: what comes from a peer is queued for the others, and imports for those only that take them")
    func received() throws {
        try withStore { store throws in
            for name: PeerID in ["health", "phone"] { try register(store, name, nil) }
            try register(store, "server", nil, imports: true)
            try store.write { txn in
                try txn.receiving(from: "phone") { txn in
                    try txn.save(Sample(.bodyMass, 72, .kilogram, at: .day(1)))
                    try txn.save(
                        Sample(
                            .bodyMass, 72, .kilogram, from: .day(2), to: .day(2), source: Source(name: "Scale"),
                            origin: .imported))
                }
            }
            #expect(try pending(store, "phone").isEmpty)
            #expect(try pending(store, "health").count == 1)
            #expect(try pending(store, "server").count == 2)
        }
    }

    @Test("Import and mass deletion queue what was written here") func bulk() throws {
        try withStore(options: tightOptions()) { store throws in
            try register(store, "health", nil)
            let samples = (0..<300).map { Sample(.bodyMass, 70, .kilogram, at: .day(1, $0)) }
            try store.write { txn in
                var batch = SampleBatch()
                for sample in samples { batch.append(sample) }
                try txn.importBatch(batch)
            }
            #expect(try pending(store, "health").count == 300)
            try store.write { txn in
                for operation in try txn.pending(for: "health") {
                    try txn.setLink(
                        PeerLink(peer: "health", sample: operation.sample, idAtPeer: SampleID(), version: 1))
                    try txn.removePending(operation)
                }
                try txn.delete(.range(of: .bodyMass, from: .day(1, 100)))
            }
            let deletions = try pending(store, "health")
            #expect(deletions.count == 200 && deletions.allSatisfy { $0.kind == .delete })
        }
    }

    @Test("A mass deletion queues every sample that a queue takes, however many there are, and no import")
    func largeDeletion() throws {
        var options = SampleStore.Options()
        options.limits.skipsSync = true
        try withStore(options: options) { store throws in
            try register(store, "health", nil)
            try register(store, "tablet", [.stepCount], imports: true)
            var batch = SampleBatch()
            let count = 3 * ChunkEncoder.rowLimit
            for number in 0..<count {
                var sample = Sample(
                    .stepCount, 1, .count, from: .day(1, number), to: .day(1, number + 1),
                    source: Source(name: "S\(number % 3)"))
                if number % 4 == 0 { sample.origin = .imported }
                batch.append(sample)
            }
            let imported = batch
            try store.write { txn in
                try txn.importBatch(imported)
                for peer: PeerID in ["health", "tablet"] {
                    for operation in try txn.pending(for: peer) { try txn.removePending(operation) }
                    for sample in try txn.samples(of: .stepCount) {
                        try txn.setLink(PeerLink(peer: peer, sample: sample.id, idAtPeer: SampleID(), version: 1))
                    }
                }
            }
            #expect(try store.write { try $0.delete(.source(SourceIdentity(name: "S1"))) } == count / 3)
            #expect(try store.write { try $0.delete(.range(of: .stepCount, from: .day(1, 60))) } > count / 2)
            let live = try store.read { try $0.samples(of: .stepCount) }
            let own = live.count { $0.origin == .authored }
            #expect(try pending(store, "health").count == count - count / 4 - own)
            #expect(try pending(store, "tablet").count == count - live.count)
        }
    }

    @Test(
        "C1: of a deletion and a save the greater version wins, then the later clock, then the deletion, in any order")
    func mergedDeletions() throws {
        var generator = SeededGenerator()
        for _ in 0..<40 {
            let id = SampleID(using: &generator)
            var sample = Sample(.bodyMass, 72, .kilogram, at: .day(1), source: Source(name: "App"), id: id)
            var events: [Either] = []
            for version in [Int64(1), 2, 2] {
                let clock = ChangeClock(time: .day(generator.number(1..<4)), replica: UInt32(generator.number(1..<3)))
                sample.version = version
                sample.modified = clock
                sample.quantity = Quantity(Double(generator.number(60..<63)), .kilogram)
                events.append(.save(sample))
                events.append(
                    .delete(
                        DeletedSample(
                            id: id, type: .bodyMass, source: sample.source.identity, syncIdentifier: id.description,
                            version: version, modified: clock, start: sample.start, end: sample.end)))
            }
            var outcomes: Set<[UInt8]> = []
            for _ in 0..<4 {
                events.shuffle(using: &generator)
                let order = events
                try withStore { store throws in
                    try store.write { txn in for event in order { try event.apply(&txn) } }
                    outcomes.insert(
                        try store.read { txn in
                            var encoder = CanonicalEncoder()
                            if let live = try txn.sample(id: id) { encoder.encode(live) }
                            encoder.append(try txn.deletedSample(id: id).map { "\($0)" })
                            return encoder.bytes
                        })
                }
            }
            #expect(outcomes.count == 1)
        }
    }

    @Test(
        "C29: a deletion made here counts behind what it deletes, even where a clock that was days ahead stamped that")
    func deletionOfTheFuture() throws {
        try withStore { store throws in
            let ahead = ChangeClock(time: .day(30_000), replica: 7)
            var sample = Sample(.bodyMass, 72, .kilogram, at: .day(1), source: Source(name: "App"))
            sample.modified = ahead
            let given = sample
            try store.write { try $0.merge(given) }
            #expect(try store.write { try $0.delete(id: given.id) })
            let deleted = try #require(try store.read { try $0.deletedSample(id: given.id) })
            #expect(deleted.modified > ahead)
            try withStore { other throws in
                try other.write { txn in
                    try txn.merge(given)
                    #expect(try txn.merge(deleted))
                }
                #expect(try other.read { try $0.sample(id: given.id) } == nil)
            }
        }
    }

    private enum Either {
        case save(Sample)
        case delete(DeletedSample)

        func apply(_ txn: inout WriteTransaction) throws {
            switch self {
            case .save(let sample): try txn.merge(sample)
            case .delete(let deletion): try txn.merge(deletion)
            }
        }
    }

    @Test("A merged deletion of what is not here is remembered, and told to those who follow") func unknownDeletion()
        throws
    {
        try withStore { store throws in
            let (sample, token) = (
                Sample(.bodyMass, 72, .kilogram, at: .day(1), source: Source(name: "App")),
                try store.read { $0.currentToken }
            )
            let deletion = DeletedSample(
                id: sample.id, type: .bodyMass, source: sample.source.identity, syncIdentifier: nil, version: 3,
                modified: ChangeClock(time: .day(2), replica: 9))
            #expect(try store.write { try $0.merge(deletion) })
            #expect(try !store.write { try $0.merge(deletion) })
            #expect(try store.save(sample) == .vetoed)
            let changes = try store.read { try $0.changes(since: token) }.changes
            #expect(changes.map(\.kind) == [.deleted(deletion)])
        }
    }

    @Test("A purge leaves no trace: nothing is queued, and the sample may come again") func purge() throws {
        try withStore { store throws in
            try register(store, "health", nil, imports: true)
            let sample = Sample(
                .bodyMass, 72, .kilogram, from: .day(1), to: .day(1), source: Source(name: "Scale"), origin: .imported)
            try store.save(sample)
            try store.write { txn in
                for operation in try txn.pending() { try txn.removePending(operation) }
                #expect(try txn.purge(id: sample.id))
                #expect(try !txn.purge(id: sample.id))
            }
            #expect(try pending(store, "health").isEmpty)
            #expect(try store.save(sample) == .inserted)
        }
    }

    @Test("A peer that follows the feed is told of what was written in the commit that brought something from it")
    func followerBehindItsOwnCommit() throws {
        try withStore { store throws in
            try store.write { txn in
                try txn.setPeer(RegisteredPeer(id: "tablet", registered: .day(0), lastSeen: .day(0)))
                try txn.acknowledge(peer: "tablet", txn.currentToken)
            }
            func theirs(_ day: Int) -> Sample {
                var sample = Sample(.bodyMass, 80, .kilogram, at: .day(day), source: Source(name: "Tablet"))
                sample.version = 1
                sample.modified = ChangeClock(time: .day(day), replica: 9)
                return sample
            }
            func unseen() throws -> [SampleID] {
                try store.read { txn in
                    try txn.changes(since: txn.peer("tablet")?.acknowledged).changes.compactMap { change in
                        if case .saved(let sample) = change.kind { sample.id } else { nil }
                    }
                }
            }
            // Alone it is seen; twice in one commit as well.
            let (first, second, third) = (theirs(1), theirs(2), theirs(3))
            try store.write { txn in
                try txn.receiving(from: "tablet") { _ = try $0.merge(first) }
                try txn.receiving(from: "tablet") { _ = try $0.merge(second) }
            }
            #expect(try unseen().isEmpty)
            let own = Sample(.bodyMass, 72, .kilogram, at: .day(4))
            try store.write { txn in
                try txn.save(own)
                try txn.receiving(from: "tablet") { _ = try $0.merge(third) }
            }
            #expect(try unseen().contains(own.id))
        }
    }

    @Test("C1: other content than was sent gets a greater number for the peer, and keeps the version that was brought")
    func raisedNumbers() throws {
        try withStore { store throws in
            try register(store, "health", nil)
            let first = Sample(.bodyMass, 72, .kilogram, at: .day(1))
            let id = first.id
            try store.write { txn in
                try txn.setPeer(RegisteredPeer(id: "tablet", registered: .day(0), lastSeen: .day(0)))
                try txn.save(first)
                // Apple Health holds it under this number.
                let number = PeerNumber.last(version: 4)
                try txn.setLink(PeerLink(peer: "health", sample: id, idAtPeer: SampleID(), version: number))
                for operation in try txn.pending(for: "health") { try txn.removePending(operation) }
            }
            let sample = try #require(try store.read { try $0.sample(id: id) })
            func bring(_ value: Double, version: Int64) throws -> (version: Int64?, sent: [Int64], isTold: Bool) {
                var theirs = sample
                theirs.quantity.value = value
                theirs.version = version
                theirs.modified = ChangeClock(time: .day(9), replica: 1)
                let brought = theirs
                try store.write { txn in
                    try txn.acknowledge(peer: "tablet", txn.currentToken)
                    try txn.receiving(from: "tablet") { _ = try $0.merge(brought) }
                }
                return try store.read { txn in
                    let unseen = try txn.changes(since: txn.peer("tablet")?.acknowledged).changes
                    let slots = try pending(store, "health").map { PeerNumber.slot(of: $0.version) }
                    return (try txn.sample(id: id)?.version, slots, !unseen.isEmpty)
                }
            }
            // What wins against the store's version, though not against what was sent.
            let raised = try bring(73, version: 2)
            #expect(raised.version == 2 && raised.sent == [5] && !raised.isTold)
            // A version above that has a number of its own.
            let taken = try bring(74, version: 9)
            #expect(taken.version == 9 && taken.sent == [9] && !taken.isTold)
        }
    }

    @Test("C25: what another app wrote is not queued for a peer that takes only this app's entries") func otherApps()
        throws
    {
        try withStore { store throws in
            try register(store, "health", nil)
            try register(store, "server", nil, imports: true)
            try store.save(Sample(.bodyMass, 72, .kilogram, at: .day(1), source: Source(bundle: "b", name: "Other")))
            #expect(try pending(store, "health").isEmpty)
            #expect(try pending(store, "server").count == 1)
        }
    }

    @Test("Notes under long names that begin alike stay apart") func longNames() throws {
        try withStore { store throws in
            let name = String(repeating: "n", count: 300)
            try store.write { txn in
                try txn.setSyncNote(name + "1", [1])
                try txn.setSyncNote(name + "2", [2])
            }
            #expect(try store.read { try $0.syncNote(name + "1") } == [1])
            #expect(try store.read { try $0.syncNote(name + "2") } == [2])
        }
    }

    @Test(
        "A note under the key that it had before names were hashed is read, replaced and removed", arguments: [5, 300])
    func formerNotes(length: Int) throws {
        try withStore { store throws in
            let names = ["a", "b"].map { String(repeating: $0, count: length) }
            _ = try store.core.onWriter { [core = store.core] in
                try core.transact { txn in
                    for name in names {
                        let key = SyncNote.formerKey(name)
                        var record = RecordWriter()
                        record.append(Array(name.utf8))
                        try txn.put(.meta, key, record.value(table: .meta, key: key, stamp: txn.stamp))
                    }
                }
            }
            #expect(try store.read { try $0.syncNote(names[0]) } == Array(names[0].utf8))
            try store.write { txn in
                try txn.setSyncNote(names[0], [1])
                try txn.setSyncNote(names[1], nil)
            }
            #expect(try store.read { try $0.syncNote(names[0]) } == [1])
            #expect(try store.read { try $0.syncNote(names[1]) } == nil)
            var found: [String] = []
            try store.read { try $0.forEachSyncNote { name, _ in found.append(name) } }
            #expect(found == [names[0]])
        }
    }

    @Test("Notes are kept, replaced and removed") func notes() throws {
        try withStore { store throws in
            #expect(try store.read { try $0.syncNote("state") } == nil)
            try store.write { try $0.setSyncNote("state", [1, 2]) }
            try store.write { try $0.setSyncNote("other", [3]) }
            try store.write { try $0.setSyncNote("state", [4]) }
            #expect(try store.read { try $0.syncNote("state") } == [4])
            try store.write { try $0.setSyncNote("state", nil) }
            #expect(try store.read { try $0.syncNote("state") } == nil)
            #expect(try store.read { try $0.syncNote("other") } == [3])
        }
    }
}
