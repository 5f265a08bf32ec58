import Foundation
import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Who may sync a store with a peer")
struct LeaseTests {
    private func engine(_ bench: Bench) -> SyncEngine {
        Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock
        ) { $0.holder = nil }
    }

    @Test(
        "Two engines with the usual options do not take the lease from each other, and one that is gone is not waited for"
    )
    func usualOptions() async throws {
        let bench = try Bench { $0.holder = nil }
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(72)
        try await bench.engine.session("health").holdLease()
        do {
            let first = engine(bench)
            await #expect(throws: SyncIssue.self) { try await first.enable(bench.peer) }
            #expect(try await first.sync()["health"]?.issue?.code == .busyElsewhere)
            #expect(try await bench.sync().issue == nil)
            #expect(bench.held == [72])
            await bench.engine.stop()
            #expect(try await first.sync()["health"]?.issue == nil)
            try await first.session("health").holdLease()
            #expect(try await bench.sync().issue?.code == .busyElsewhere)
            withExtendedLifetime(first) {}
        }
        // Its last task may hold it for a moment longer.
        try await until("the end of the engine") { try await bench.sync().issue == nil }
        try bench.finish()
    }

    @Test("A pass ends if another engine has had the lease meanwhile, and the next one takes it again")
    func lostLease() async throws {
        let bench = try Bench { $0.holder = nil }
        try await bench.engine.enable(bench.peer)
        let session = try bench.engine.session("health")
        try await session.holdLease()
        // Its call of the peer takes long.
        bench.clock.advance(seconds: 86_400)
        let other = engine(bench)
        #expect(try await other.sync()["health"]?.issue == nil)
        let token = try bench.store.blockingRead { try $0.lease(of: "health") }.token
        await #expect(throws: SyncIssue.self) { try await session.holdLease() }
        #expect(try bench.store.blockingRead { try $0.lease(of: "health") }.token == token)
        try await session.holdLease()
        #expect(try bench.store.blockingRead { try $0.lease(of: "health") }.token == token + 1)
        withExtendedLifetime(other) {}
        try bench.finish()
    }

    @Test("Work that begins after another engine has had the lease takes it, and loses nothing")
    func leaseLostWhileIdle() async throws {
        let bench = try Bench { $0.holder = nil }
        try await bench.engine.enable(bench.peer)
        let session = try bench.engine.session("health")
        // A running engine keeps its lease while it rests.
        try await session.holdLease()
        bench.clock.advance(seconds: 86_400)
        let widget = engine(bench)
        #expect(try await widget.sync()["health"]?.issue == nil)
        _ = try bench.save(72)
        let report = try await session.inTurn { try await $0.pass(PassRequest(pulls: false, isOfCommit: true)) }
        #expect(report.issue == nil)
        #expect(bench.held == [72])
        withExtendedLifetime(widget) {}
        try bench.finish()
    }

    @Test("An engine that does not run gives the lease back with its last work, and one that runs keeps it")
    func idleEngine() async throws {
        let bench = try Bench { $0.holder = nil }
        try await bench.engine.enable(bench.peer)
        let widget = engine(bench)
        #expect(try await widget.sync()["health"]?.issue == nil)
        #expect(try await bench.sync().issue == nil)
        #expect(try await widget.sync()["health"]?.issue == nil)
        bench.engine.start()
        _ = try bench.save(72)
        try await until("the push") { try bench.held == [72] && bench.pending.isEmpty }
        try await bench.sync()
        #expect(try await widget.sync()["health"]?.issue?.code == .busyElsewhere)
        await bench.engine.stop()
        #expect(try await widget.sync()["health"]?.issue == nil)
        try bench.finish()
    }

    @Test("The lease of another process holds until it expires or the process is dead", arguments: [false, true])
    func anotherProcess(expires: Bool) async throws {
        let bench = try Bench { $0.holder = nil }
        try await bench.engine.enable(bench.peer)
        await bench.engine.stop()
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/bin/sleep")
        other.arguments = ["600"]
        other.standardOutput = FileHandle.nullDevice
        other.standardError = FileHandle.nullDevice
        try other.run()
        // A thread of the tests may hold back the gentler signals, and its children with it.
        defer { kill(other.processIdentifier, SIGKILL) }
        let mark = EngineMark(space: EngineMark.ownSpace, process: other.processIdentifier, start: 1, engine: 1)
        let owner = Lease.Owner(name: "other", mark: mark)
        let end = bench.clock.now + .seconds(60)
        let token = try await bench.store.write { txn in
            var lease = try txn.lease(of: "health")
            lease.take(by: owner, with: nil, until: end)
            try txn.setLease(lease, of: "health")
            return lease.token
        }
        #expect(try await bench.sync().issue?.code == .busyElsewhere)
        if expires {
            bench.clock.advance(seconds: 61)
        } else {
            kill(other.processIdentifier, SIGKILL)
            try await until("the end of the process") { !other.isRunning }
        }
        #expect(try await bench.sync().issue == nil)
        #expect(try bench.store.blockingRead { try $0.lease(of: "health") }.token == token + 1)
        try bench.finish()
    }
}
