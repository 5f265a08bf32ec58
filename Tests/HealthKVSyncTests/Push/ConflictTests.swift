import SyncSupport
import Testing

@testable import HealthKVSync

/// What simulations found, told one by one.
@Suite("Conflicts between devices")
struct ConflictTests {
    @Test(
        "C1: of one version that two devices made both keep the later, and the loser is kept",
        arguments: [(71.0, 73.0), (73.0, 71.0)])
    func tie(first: Double, second: Double) async throws {
        let (health, clock) = (MemoryHealth(), ManualClock())
        let benches = [
            try Bench(.weightTracker, health: health, clock: clock),
            try Bench(.weightTracker, health: health, clock: clock),
        ]
        for bench in benches { try await bench.engine.enable(bench.peer) }
        let sample = try benches[0].save(70)
        for bench in benches { try await bench.sync() }
        _ = try benches[0].save(first, id: sample.id)
        clock.advance(seconds: 1)
        _ = try benches[1].save(second, id: sample.id)
        for _ in 0..<4 { for bench in benches { try await bench.sync() } }
        for bench in benches {
            #expect(try bench.weights == [second])
            #expect(try bench.pending.isEmpty)
        }
        #expect(health.live.map(\.sample.quantity.value) == [second])
        let displaced = try benches.flatMap { bench in try bench.store.read { try $0.conflicts() } }
            .map(\.displaced.quantity.value)
        #expect(displaced.contains(first) && !displaced.contains(70))
        for bench in benches { try bench.finish() }
    }

    @Test("A deletion reaches what was sent under a raised number, and keeps the version that it deleted")
    func deletionOfRaised() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        // The peer got the first version under the number of a fifth.
        let peer = bench.peer
        let number = PeerNumber.next(version: 5, sample.clock, above: 0)
        try bench.write { txn in
            var link = try #require(try txn.link(peer: peer, sample: sample.id))
            link.version = number
            try txn.setLink(link)
        }
        try bench.write { _ = try $0.delete(id: sample.id) }
        #expect(try bench.store.blockingRead { try $0.deletedSample(id: sample.id)?.version } == 1)
        #expect(try bench.pending.map(\.version) == [number])
        try await bench.sync()
        #expect(bench.held.isEmpty)
        try bench.finish()
    }

    @Test("C22: a deletion of a version that we never heard of removes what stands beneath it")
    func deletionOfUnknown() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        // Another device made the second version, which was deleted; that it replaced the first was forgotten.
        let first = try #require(bench.health.live.first?.sample)
        bench.health.forget(first.id)
        var second = first
        second.version = PeerNumber.next(version: 2, sample.clock, above: 0)
        bench.health.delete(bench.health.save(second, app: "app"))
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        #expect(bench.held.isEmpty)
        #expect(try bench.store.blockingRead { try $0.deletedSample(id: sample.id)?.version } == 2)
        try bench.finish()
    }

    @Test(
        "C22: a restored store learns the deletion of a version that it forgot, and another store that has it loses it too"
    )
    func deletionAfterRestore() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        let other = try Bench.makeStore(bench.clock, app: "other")
        let link = Bench.makeEngine(
            bench.store, [SyncPeer(StorePeer(other, id: "other", as: "ours"), plan: .everything)], bench.clock)
        // The second version went to the peer and to the other store; ours was then put back to the first.
        var second = try #require(try bench.store.blockingRead { try $0.sample(id: sample.id) })
        (second.version, second.quantity.value) = (2, 73)
        second.modified = second.modified.map { ChangeClock(time: $0.time + 1, replica: 7) }
        let newer = second
        try await other.write { _ = try $0.merge(newer) }
        let number = PeerNumber.next(version: 2, newer.clock, above: 0)
        let there = bench.health.save(newer.numbered(number), app: "app")
        bench.clock.advance(seconds: 1)
        bench.health.delete(there)
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        #expect(try bench.store.blockingRead { try $0.deletedSample(id: sample.id)?.version } == 2)
        try await link.enable("other")
        for _ in 0..<2 { _ = try await link.sync("other") }
        #expect(try bench.weights.isEmpty && bench.held.isEmpty)
        #expect(try other.blockingRead { try $0.count(of: .bodyMass) } == 0)
        try bench.finish()
    }

    @Test("C22: a store that forgot a sample learns its deletion all the same, and tells the one that still has it")
    func deletionOfForgotten() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        let held = try #require(try bench.store.blockingRead { try $0.sample(id: sample.id) })
        // A new store in the place of ours, on the same database, and another one that has what ours had.
        let fresh = try Bench(.weightTracker, health: bench.health, clock: bench.clock)
        let other = try Bench.makeStore(bench.clock, app: "other")
        try await other.write { _ = try $0.merge(held) }
        let there = try #require(bench.health.live.first?.sample.id)
        // It is deleted after it was written.
        bench.clock.advance(seconds: 1)
        bench.health.delete(there)
        try await fresh.engine.enable(fresh.peer)
        try await fresh.sync()
        // Another app may have written it: only the store that has the sample tells whose it was.
        #expect(try fresh.store.blockingRead { try $0.deletedSample(id: sample.id) } == nil)
        let link = Bench.makeEngine(
            fresh.store, [SyncPeer(StorePeer(other, id: "other", as: "ours"), plan: .everything)], fresh.clock)
        try await link.enable("other")
        for _ in 0..<2 { _ = try await link.sync("other") }
        #expect(try fresh.weights.isEmpty)
        #expect(try fresh.store.blockingRead { try $0.deletedSample(id: sample.id)?.version } == held.version)
        #expect(try other.blockingRead { try $0.count(of: .bodyMass) } == 0)
        #expect(fresh.held.isEmpty)
        try fresh.finish()
    }

    @Test("A merge that changes no content queues nothing for a peer that holds it") func sameContent() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        try bench.write { txn in
            var later = try #require(try txn.sample(id: sample.id))
            later.modified = ChangeClock(time: bench.clock.now + 1_000_000_000, replica: 9)
            try txn.receiving(from: "tablet") { txn in
                let outcome = try txn.merge(later)
                #expect(outcome == .replaced)
            }
        }
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    @Test("A store in the place of one that was removed is told everything, deletions too") func replacedStore()
        async throws
    {
        let clock = ManualClock()
        let (ours, theirs) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        func engine(_ other: SampleStore) -> SyncEngine {
            let peer = SyncPeer(StorePeer(other, id: "other", as: "ours"), plan: .everything)
            return Bench.makeEngine(ours, [peer], clock) { $0.pushSize = 2 }
        }
        let first = engine(theirs)
        try await first.enable("other")
        let samples = (0..<5).map { hour in
            Sample(.bodyMass, 70 + Double(hour), .kilogram, at: clock.now + Int64(hour) * 3_600_000_000_000)
        }
        try await ours.write { txn in for sample in samples { try txn.save(sample) } }
        try await ours.write { _ = try $0.delete(id: samples[0].id) }
        try await first.sync()
        #expect(try theirs.blockingRead { try $0.count() } == 4)
        try theirs.close()

        let again = try Bench.makeStore(clock)
        let second = engine(again)
        try await second.sync()
        let digests = try [ours, again].map { try $0.read { try $0.syncDigest() } }
        #expect(digests[0] == digests[1])
        #expect(try again.blockingRead { try $0.deletedSample(id: samples[0].id) } != nil)
        for store in [ours, again] { try store.close() }
    }

    @Test(
        "Where two stores hold the same at first, deletions are told all the same: an older version may come from elsewhere"
    )
    func deletionsOfEqual() async throws {
        let clock = ManualClock()
        let (ours, theirs) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let peer = SyncPeer(StorePeer(theirs, id: "other", as: "ours"), plan: .everything)
        let engine = Bench.makeEngine(ours, [peer], clock)
        try await engine.enable("other")
        let sample = Sample(.bodyMass, 70, .kilogram, at: clock.now)
        try await ours.write { _ = try $0.save(sample) }
        let first = try #require(try ours.blockingRead { try $0.sample(id: sample.id) })
        try await ours.write { _ = try $0.delete(id: sample.id) }
        try await engine.sync()
        #expect(try theirs.blockingRead { try $0.deletedSample(id: sample.id) } != nil)
        // As a third store would bring it that has not heard of the deletion.
        try await theirs.write { txn in
            let outcome = try txn.merge(first)
            #expect(outcome == .vetoed)
        }
        try await engine.sync()
        #expect(try ours.blockingRead { try $0.count() } == 0 && theirs.blockingRead { try $0.count() } == 0)
        for store in [ours, theirs] { try store.close() }
    }
}
