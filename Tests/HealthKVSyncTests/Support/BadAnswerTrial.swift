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
        try await peer.leaveBehind(call, calls) { try await sync().issue }
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
        try await peer.endOfHanging(calls, after: seconds)
    }
}

extension BadPeer {
    /// Does something while a call hangs, until the engine leaves the call behind. It must end with the issue that says
    /// so.
    ///
    /// - Parameter calls: The clock of deadlines.
    func leaveBehind(
        _ call: String, _ calls: ManualClock, _ body: @escaping @Sendable () async throws -> SyncIssue?
    ) async throws {
        set { $0.hanging = [call] }
        let work = Task { try await body() }
        try await endOfHanging(calls)
        #expect(try await work.value?.code == .delayed, "\(call)")
        set { $0.hanging = [] }
    }

    /// Lets the deadline of the call that hangs come, on the clock of deadlines.
    func endOfHanging(_ calls: ManualClock, after seconds: Int = 61) async throws {
        try await until("the call that hangs") { hung > 0 && !calls.sleepers.isEmpty }
        calls.advance(seconds: seconds)
    }
}
