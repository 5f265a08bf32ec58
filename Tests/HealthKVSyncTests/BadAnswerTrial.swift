import SyncSupport
import Testing

@testable import HealthKVSync

/// A store between which and a peer somebody alters the answers; deadlines have a clock of their own.
struct BadAnswerTrial {
    let bench: Bench
    let peer: BadPeer
    let engine: SyncEngine
    let calls = ManualClock()

    init(_ plan: SyncPlan = .weightTracker) throws {
        bench = try Bench(plan)
        peer = BadPeer(MemoryHealthPeer(bench.health))
        let calls = calls
        engine = Bench.makeEngine(bench.store, [SyncPeer(peer, plan: plan)], bench.clock) {
            $0.callClock = calls.sync
            $0.callGrace = .milliseconds(20)
        }
    }

    @discardableResult
    func sync() async throws -> SyncReport { try await engine.sync()[bench.peer]! }

    /// Lets the deadline of the call that hangs come.
    func endOfHanging() async throws {
        let peer = peer
        try await until("the call that hangs") { peer.hung > 0 && !calls.sleepers.isEmpty }
        calls.advance(seconds: 61)
    }
}
