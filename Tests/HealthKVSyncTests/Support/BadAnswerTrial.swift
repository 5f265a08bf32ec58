import SyncSupport
import Testing

@testable import HealthKVSync

/// A store between which and a peer somebody alters the answers; deadlines have a clock of their own.
struct BadAnswerTrial {
    let bench: Bench
    let peer: BadPeer<MemoryHealthPeer>
    let engine: SyncEngine
    let calls = ManualClock()

    init(_ plan: SyncPlan = .weightTracker, limits: PeerLimits = PeerLimits()) throws {
        bench = try Bench(plan)
        peer = BadPeer(MemoryHealthPeer(bench.health), limits: limits)
        let calls = calls
        engine = Bench.makeEngine(bench.store, [SyncPeer(peer, plan: plan)], bench.clock) {
            $0.callClock = calls.sync
            $0.callGrace = .milliseconds(20)
        }
    }

    @discardableResult
    func sync() async throws -> SyncReport { try await engine.sync()[bench.peer]! }

    /// Syncs while a call hangs, until the engine leaves it behind. It goes on with ``BadPeer/release()``.
    func leaveBehind(_ call: String) async throws {
        peer.set { $0.hanging = [call] }
        let work = Task { try await sync() }
        try await endOfHanging()
        #expect(try await work.value.issue?.code == .delayed)
        peer.set { $0.hanging = [] }
    }

    /// Expects that a sample is neither held at the peer nor here, and that nothing waits for the peer.
    func expectGone(_ sample: Sample) throws {
        #expect(bench.held.isEmpty)
        #expect(try bench.store.read { try $0.sample(id: sample.id) } == nil)
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    /// Lets the deadline of the call that hangs come.
    func endOfHanging(after seconds: Int = 61) async throws {
        let peer = peer
        try await until("the call that hangs") { peer.hung > 0 && !calls.sleepers.isEmpty }
        calls.advance(seconds: seconds)
    }
}
