import Synchronization
import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("What is sent until it has arrived")
struct FeedTests {
    /// A store and another that answers as it is told.
    private struct Pair {
        let clock = ManualClock()
        let here: SampleStore
        let there: SampleStore
        let peer: OutcomePeer
        let engine: SyncEngine

        init() async throws {
            (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
            peer = OutcomePeer(StorePeer(there, id: "there", as: "here"))
            engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock) { options in
                (options.pageSize, options.pushSize) = (7, 5)
            }
            try await engine.enable("there")
            _ = try await engine.sync()
        }

        func save(_ kilograms: Double, id: SampleID = SampleID()) throws {
            let sample = Sample(.bodyMass, kilograms, .kilogram, at: clock.now, id: id)
            try here.write { _ = try $0.save(sample) }
        }

        var isEqual: Bool {
            get throws { try here.read { try $0.syncDigest() } == there.read { try $0.syncDigest() } }
        }

        func finish() throws { for store in [here, there] { try store.close() } }
    }

    @Test("C13: an edit that the other store takes replaces the operation that it refused") func replacedRefusal()
        async throws
    {
        let pair = try await Pair()
        let id = SampleID()
        pair.peer.set { _ in .refused(reason: "too heavy") }
        try pair.save(720, id: id)
        _ = try await pair.engine.sync()
        #expect(try pair.engine.status().quarantined == 1)
        pair.peer.set(nil)
        try pair.save(72, id: id)
        _ = try await pair.engine.sync()
        #expect(try pair.engine.status().quarantined == 0)
        #expect(try pair.isEqual)
        try pair.finish()
    }

    @Test("What is saved while a refused sample is tried again is sent as well")
    func savedDuringRetry() async throws {
        let pair = try await Pair()
        pair.peer.set { _ in .refused(reason: "too heavy") }
        try pair.save(720)
        _ = try await pair.engine.sync()
        let refused = try #require(try pair.here.blockingRead { try $0.pending(for: "there") }.first)
        #expect(try await pair.engine.retry(refused.id))
        let isSaved = Mutex(false)
        pair.clock.advance(seconds: 60)
        pair.peer.set { _ in
            if isSaved.withLock({ exchange(&$0, with: true) }) { return nil }
            // The app saves while the push is under way, after the feed was sent.
            do { try pair.save(73) } catch { Issue.record("the sample was not saved: \(error)") }
            return nil
        }
        for _ in 0..<2 { _ = try await pair.engine.sync() }
        #expect(isSaved.withLock { $0 })
        #expect(try pair.there.blockingRead { try $0.count(of: .bodyMass) } == 2)
        #expect(try pair.isEqual)
        try pair.finish()
    }

    @Test("C26: a comparison is not over while it is unknown whether something arrived, and keeps what is refused")
    func reconcileOutcomes() async throws {
        let pair = try await Pair()
        for _ in 0..<20 {
            pair.clock.advance(seconds: 60)
            try pair.save(72)
        }
        _ = try await pair.engine.sync()
        let ids = try pair.there.blockingRead { try $0.samples(of: .bodyMass) }.map(\.id)
        _ = try await pair.there.write { txn in for id in ids { try txn.purge(id: id) } }
        pair.peer.set { _ in .unknown(reason: "timed out") }
        await #expect(throws: SyncIssue.self) { try await pair.engine.reconcile("there") }
        let bad = ids[3]
        pair.peer.set { operation in
            if case .save(let sample) = operation.kind, sample.id == bad { .refused(reason: "no") } else { nil }
        }
        try await pair.engine.reconcile("there")
        #expect(try pair.there.blockingRead { try $0.count() } == 19)
        #expect(try pair.here.blockingRead { try $0.pending(for: "there") }.map(\.sample) == [bad])
        #expect(try pair.engine.status().quarantined == 1)
        try pair.finish()
    }

    @Test("An outcome that is unknown is tried again by itself") func unknownOutcome() async throws {
        let pair = try await Pair()
        pair.peer.set { _ in .unknown(reason: "timed out") }
        try pair.save(72)
        #expect(try await pair.engine.sync()["there"]?.issue?.code == .delayed)
        #expect(try #require(try pair.engine.session("there").schedule.nextDue()) > pair.clock.now)
        pair.peer.set(nil)
        _ = try await pair.engine.sync()
        #expect(try pair.isEqual && pair.engine.status().peers["there"]?.issue == nil)
        try pair.finish()
    }

    @Test("A mass deletion that is not carried out yet drops none of its operations") func massDeletion() async throws {
        let clock = ManualClock()
        let plan = SyncPlan(types: [.dietaryWater: TypePlan(.both)])
        let bench = try Bench(plan, health: MemoryHealth(), clock: clock, store: Bench.makeSlowStore(clock)) {
            $0.upkeepBudget = .zero
        }
        try await bench.engine.enable(bench.peer)
        let samples = (0..<30).map { Sample(.dietaryWater, 200, .milliliter, at: bench.time($0)) }
        try bench.write { _ = try $0.save(samples) }
        try await bench.sync()
        #expect(bench.health.live.count == 30)
        // What was sent comes back once.
        try await bench.sync()
        try bench.write { _ = try $0.delete(.range(of: .dietaryWater)) }
        #expect(try bench.store.blockingRead { $0.hasUnfinishedRemovals })
        try await bench.sync()
        let again = try bench.restarted(plan)
        try await again.sync()
        #expect(bench.health.live.isEmpty)
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }
}
