import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("What proves which database a peer is, and what is gone there") struct ProofTests {
    private static let plan = SyncPlan(types: [.bodyMass: TypePlan(.both), .leanBodyMass: TypePlan(.both)])

    @Test("A doubt that a comparison began is not ended by that same comparison: the same database is recognised")
    func doubtEndedByItsCause() async throws {
        let (bench, _) = try await Bench.withOneWeight()
        for hour in 1...20 { _ = try bench.save(60 + Double(hour), hour: hour) }
        for _ in 0..<2 { try await bench.sync() }
        // The user has deleted 13 of 21 in Health, and Health has forgotten the deletions.
        let entries = bench.health.live.sorted { $0.sample.start < $1.sample.start }
        for entry in entries.prefix(13) { bench.health.forget(entry.sample.id) }
        try await bench.engine.reconcile(bench.peer)
        let session = try bench.engine.session(bench.peer)
        #expect(try session.state().isDoubted)
        #expect(try session.state()[.bodyMass].doubt.isOpen)
        for _ in 0..<3 {
            try await bench.sync()
            bench.clock.advance(seconds: 4_000)
        }
        // It shows eight samples by the ids that the links name: it is the database of the links. What the user deleted
        // there does not come back there.
        #expect(bench.held.count == 8)
        #expect(try bench.weights.count == 21)
        try bench.finish()
    }

    @Test("A foreign sample that the feed shows again during the second comparison is not taken for deleted")
    func shownDuringComparison() async throws {
        let bench = try Bench()
        func engine() -> SyncEngine {
            Bench.makeEngine(
                bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock
            ) { options in (options.pageSize, options.checkPages) = (3, 1) }
        }
        try await engine().enable(bench.peer)
        let ids = (0..<10).map { bench.health.save(bench.scale(60 + Double($0), hour: $0)) }
        try await engine().sync()
        let entry = try #require(bench.health.live.first { $0.sample.id == ids[8] })
        bench.health.forget(ids[8])
        bench.clock.advance(seconds: 31 * 86_400)
        for _ in 0..<9 { try await engine().sync() }
        #expect(try bench.store.blockingRead { try $0.checkNote("health", .bodyMass) }.missing == [ids[8]])
        bench.clock.advance(seconds: 3_600)
        // The second comparison passes the place of the sample; then a cloud brings the sample again, under its id.
        try await engine().sync()
        #expect(try bench.store.blockingRead { try $0.checkNote("health", .bodyMass) }.check?.missing == [ids[8]])
        bench.health.bringBack(entry)
        for _ in 0..<4 { try await engine().sync() }
        #expect(try bench.store.blockingRead { try $0.sample(id: ids[8]) } != nil)
        #expect(try bench.store.blockingRead { try $0.conflicts() }.isEmpty)
        #expect(try bench.weights.count == 10)
        try bench.finish()
    }

    /// A peer that forgot an own sample, which two comparisons then missed, and that was disconnected.
    private func presumedGoneAndDisconnected() async throws -> (bench: Bench, entry: MemoryHealth.Entry) {
        let (bench, _) = try await Bench.withOneWeight()
        try await bench.sync()
        let entry = try #require(bench.health.live.first)
        bench.health.forget(entry.sample.id)
        for _ in 0..<2 { try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights.isEmpty)
        try await bench.engine.disconnect(bench.peer)
        return (bench, entry)
    }

    @Test("An own sample that was presumed gone lives again after the peer was disconnected and enabled again")
    func ownPresumedGoneAndReconnected() async throws {
        let (bench, entry) = try await presumedGoneAndDisconnected()
        bench.health.bringBack(entry)
        try await bench.engine.enable(bench.peer)
        for _ in 0..<2 { try await bench.sync() }
        // Nobody has deleted it.
        #expect(bench.held == [72])
        #expect(try bench.weights == [72])
        try bench.finish()
    }

    @Test(
        "An own sample that was presumed gone, and that the user restored while the peer was disconnected, goes to it")
    func restoredWhileDisconnected() async throws {
        let (bench, _) = try await presumedGoneAndDisconnected()
        try bench.write { txn in
            let conflict = try #require(try txn.conflicts().first { $0.event == .presumedGone })
            _ = try txn.restore(conflict)
        }
        try await bench.engine.enable(bench.peer)
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights == [72])
        #expect(bench.held == [72])
        try bench.finish()
    }

    @Test("A foreign sample that was presumed gone lives again after the peer was disconnected and enabled again")
    func foreignPresumedGoneAndReconnected() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(60, hour: 0))
        let id = bench.health.save(bench.scale(80, hour: 5))
        try await bench.sync()
        let entry = try #require(bench.health.live.first { $0.sample.id == id })
        bench.health.forget(id)
        for _ in 0..<2 { try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights == [60])
        try await bench.engine.disconnect(bench.peer)
        bench.health.bringBack(entry)
        try await bench.engine.enable(bench.peer)
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights.sorted() == [60, 80])
        try bench.finish()
    }

    @Test(
        "An entry that goes out while the peer is doubted confirms no links, whatever the clock was when the doubt began",
        arguments: [90_000, -365 * 86_400])
    func echoInDoubt(seconds: Int) async throws {
        let pair = try await OtherHealth(Self.plan)
        // The copy is opened beside the locked new database: doubt begins, and nothing can be read.
        pair.new.set(availability: .locked)
        _ = try await pair.engine.sync()
        pair.clock.advance(seconds: seconds)
        pair.new.set(availability: .available)
        try pair.save(75, day: 3)
        pair.new.set(failure: { $0 == .leanBodyMass ? PeerError(.transient, "busy") : nil })
        _ = try await pair.engine.sync()
        pair.new.set(failure: nil)
        for _ in 0..<4 {
            pair.clock.advance(seconds: 3_700)
            _ = try await pair.engine.sync()
        }
        #expect(try pair.engine.session("health").state().isDoubted == false)
        #expect(pair.held == [70, 71, 75])
        try pair.store.close()
    }

    @Test("One feed that can never be read keeps no doubt open for the other types")
    func feedThatNeverAnswers() async throws {
        let pair = try await OtherHealth(Self.plan)
        pair.new.set(failure: { $0 == .leanBodyMass ? PeerError(.invalid, "this type is not known here") : nil })
        for _ in 0..<5 {
            _ = try await pair.engine.sync()
            pair.clock.advance(seconds: 90_000)
        }
        #expect(try pair.engine.session("health").state().isDoubted == false)
        #expect(pair.held == [70, 71])
        try pair.store.close()
    }
}

/// A store with the own weights 70 and 71, whose links were made for another database, beside an empty one.
private struct OtherHealth {
    let clock = ManualClock()
    let store: SampleStore
    let new = MemoryHealth(seed: 2)
    let engine: SyncEngine

    init(_ plan: SyncPlan) async throws {
        store = try Bench.makeStore(clock)
        let old = MemoryHealth()
        let first = Bench.makeEngine(store, [SyncPeer(MemoryHealthPeer(old), plan: plan)], clock)
        engine = Bench.makeEngine(store, [SyncPeer(MemoryHealthPeer(new), plan: plan)], clock)
        try await first.enable("health")
        try save(70, day: 1)
        try save(71, day: 2)
        for _ in 0..<2 { _ = try await first.sync() }
        // As on a new phone.
        try await engine.session("health").update { _, state in state.epoch += 1 }
    }

    func save(_ kilograms: Double, day: Int) throws {
        let start = Instant(nanoseconds: 767_000_000_000_000_000) + .days(day)
        let sample = Sample(.bodyMass, kilograms, .kilogram, at: start)
        try store.write { _ = try $0.save(sample) }
    }

    var held: [Double] { new.live.map(\.sample.quantity.value).sorted() }
}
