import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("The engine while it runs, and what it waits for")
struct RunningTests {
    private func nextDue(_ engine: SyncEngine) throws -> Instant? { try engine.session("health").schedule.nextDue() }

    private let both = SyncPlan(types: [.bodyMass: TypePlan(.both), .dietaryWater: TypePlan(.both)])

    @Test("C13: a peer that is not there is asked again slowly, and what cannot be sent meanwhile causes no commits")
    func unavailable() async throws {
        let bench = try Bench.withUpkeep()
        try await bench.engine.enable(bench.peer)
        bench.health.set(availability: .unavailable)
        bench.engine.start()
        _ = try bench.save(72)
        try await until("the issue") { try bench.status().issue?.code == .unavailable }
        try await until("the timer") { !bench.clock.sleepers.isEmpty }
        let commit = try await bench.restingCommit()
        try await Task.sleep(for: .milliseconds(200))
        #expect(try bench.store.info().commit == commit)
        #expect(bench.clock.sleepers.allSatisfy { $0 > bench.clock.now + .seconds(1_000) })
        bench.health.set(availability: .available)
        bench.clock.advance(seconds: 3_601)
        try await until("the push") { bench.held == [72] }
        try await until("the end of the issue") { try bench.status().issue == nil }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test(
        "A running engine goes on when its suspended store is back, and one that was started meanwhile begins",
        arguments: [false, true])
    func suspended(isStartedMeanwhile: Bool) async throws {
        let bench = try Bench.withUpkeep()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        if !isStartedMeanwhile {
            bench.engine.start()
            try await until("the observer") { bench.health.watchers > 0 }
            _ = try await bench.restingCommit()
        }
        try bench.store.suspend()
        if isStartedMeanwhile { bench.engine.start() }
        // Where the engine listens, it hears of this while it can store nothing.
        bench.health.save(bench.scale(80, hour: 3))
        try await Task.sleep(for: .milliseconds(100))
        try bench.store.resume()
        try await until("what came meanwhile") { try bench.weights.contains(80) }
        _ = try bench.save(72, hour: 5)
        try await until("the push") { bench.held.contains(72) }
        bench.health.save(bench.scale(81, hour: 6))
        try await until("what comes now") { try bench.weights.contains(81) }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("A plan that only sends says when it last synced") func lastSyncOfSending() async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.push)]))
        try await bench.engine.enable(bench.peer)
        for _ in 0..<2 { try await bench.sync() }
        bench.clock.advance(seconds: 10 * 86_400)
        try await bench.sync()
        #expect(try bench.status().lastSync == bench.clock.now)
        try bench.finish()
    }

    @Test("A failure that is known and not due yet is not committed again") func unchangedIssue() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.set(availability: .restricted)
        try await bench.sync()
        let commit = try bench.store.info().commit
        try await bench.sync()
        #expect(try bench.store.info().commit == commit + Bench.commitsOfLease)
        try bench.finish()
    }

    @Test("An hourly type waits as long as a peer that fails; nothing is ever due in the past") func hourlyBackoff()
        async throws
    {
        let bench = try Bench(.dietApp)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.clock.advance(seconds: 7_200)
        bench.health.set(availability: .unavailable)
        try await bench.sync()
        #expect(try nextDue(bench.engine) == bench.clock.now + .seconds(3_600))
        bench.health.set(availability: .locked)
        bench.clock.advance(seconds: 7_200)
        try await bench.sync()
        #expect(try #require(try nextDue(bench.engine)) > bench.clock.now)
        try bench.finish()
    }

    @Test("An engine that is refused because another process syncs waits for the end of its lease") func busyElsewhere()
        async throws
    {
        let bench = try Bench(.dietApp) { $0.holder = "app" }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.clock.advance(seconds: 3_590)
        try await bench.engine.session("health").holdLease()
        bench.clock.advance(seconds: 20)
        let widget = Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .dietApp)], bench.clock
        ) { $0.holder = "widget" }
        #expect(try await widget.sync()["health"]?.issue?.code == .busyElsewhere)
        let lease = try bench.store.blockingRead { try $0.lease(of: "health") }
        guard case .held(_, let end) = lease.state else {
            Issue.record("nobody holds the lease")
            return
        }
        #expect(try #require(try nextDue(widget)) >= end)
        try bench.finish()
    }

    @Test(
        "What could not be read while another engine held the lease is read when that ends, though nothing calls again",
        arguments: [false, true])
    func refusedPull(expires: Bool) async throws {
        let bench = try Bench { $0.holder = "app" }
        try await bench.engine.enable(bench.peer)
        let widget = Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock
        ) { $0.holder = "widget" }
        try await widget.session("health").holdLease()
        bench.engine.start()
        try await until("the listening") { bench.health.watchers == 1 }
        bench.health.save(bench.scale(80, hour: 2))
        try await until("the call back") { bench.health.completed == 1 }
        try await until("the timer") { !bench.clock.sleepers.isEmpty }
        #expect(try bench.weights.isEmpty)
        if expires {
            bench.clock.advance(seconds: 61)
        } else {
            try await widget.session("health").releaseLease()
        }
        try await until("the pull") { try bench.weights == [80] }
        try await until("the rest") { bench.clock.sleepers.isEmpty }
        await bench.engine.stop()
        withExtendedLifetime(widget) {}
        try bench.finish()
    }

    @Test(
        "An error that neither the peer nor the engine made stands in the status, and what it ended is tried again",
        arguments: [StoreError.Code.full, .damaged])
    func otherError(_ code: StoreError.Code) async throws {
        let (expected, delay): (SyncIssue.Code, Int) = code == .full ? (.delayed, 2) : (.invalid, 3_600)
        let fails = Mutex(true)
        let bench = try Bench { options in
            options.atStep = { _ in
                if fails.withLock({ $0 }) { throw StoreError(code, path: "", "as planned") }
            }
        }
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(80, hour: 2))
        #expect(try await bench.sync().issue?.code == expected)
        #expect(try bench.status().issue?.code == expected)
        #expect(try nextDue(bench.engine) == bench.clock.now + .seconds(delay))
        fails.withLock { $0 = false }
        bench.clock.advance(seconds: delay)
        _ = try await bench.engine.session("health").inTurn { try await $0.pass(PassRequest(types: [])) }
        #expect(try bench.weights == [80] && bench.status().issue == nil)
        try bench.finish()
    }

    @Test(
        "A type that cannot be read keeps neither the others nor the push, is tried again, and its issue stays until then"
    )
    func failedPull() async throws {
        let bench = try Bench(both)
        try await bench.engine.enable(bench.peer)
        bench.health.set(failure: { $0 == .bodyMass ? PeerError(.transient, "busy") : nil })
        bench.health.save(bench.scale(80, hour: 1))
        bench.health.save(
            Sample(
                .dietaryWater, 200, .milliliter, from: bench.time(1), to: bench.time(1), source: Source(name: "Cup"),
                origin: .imported))
        try bench.write { _ = try $0.save(Sample(.dietaryWater, 300, .milliliter, at: bench.time(3))) }
        let report = try await bench.sync()
        #expect(report.issue?.code == .delayed)
        #expect(try bench.store.blockingRead { try $0.count(of: .dietaryWater) } == 2)
        #expect(bench.health.live.count { $0.app == "app" } == 1)
        #expect(try bench.status().lastSync == nil)
        // What is sent meanwhile says nothing of what is to be read.
        try bench.write { _ = try $0.save(Sample(.dietaryWater, 100, .milliliter, at: bench.time(4))) }
        let session = try bench.engine.session("health")
        let sent = try await session.inTurn { try await $0.pass(PassRequest(pulls: false)) }
        #expect(sent.pushed.done == 1)
        #expect(try bench.status().issue?.code == .delayed && bench.status().lastSync == nil)
        #expect(try nextDue(bench.engine) == bench.clock.now + .seconds(2))
        bench.health.set(failure: nil)
        bench.clock.advance(seconds: 2)
        _ = try await session.inTurn { try await $0.pass(PassRequest(types: [])) }
        #expect(try bench.weights == [80])
        #expect(try bench.status().issue == nil && bench.status().lastSync == bench.clock.now)
        try bench.finish()
    }

    @Test("C18: coming to the foreground brings what changed at once, whatever waits for its next time")
    func foreground()
        async throws
    {
        let bench = try Bench(both)
        try await bench.engine.enable(bench.peer)
        bench.health.set(failure: { $0 == .bodyMass ? PeerError(.transient, "busy") : nil })
        bench.health.set(refusal: { _ in .failed(reason: "busy") })
        bench.health.save(bench.scale(80, hour: 1))
        try bench.write { _ = try $0.save(Sample(.dietaryWater, 300, .milliliter, at: bench.time(3))) }
        #expect(try await bench.sync().issue?.code == .delayed)
        bench.health.set(failure: nil)
        bench.health.set(refusal: nil)
        let report = try #require(try await bench.engine.enterForeground()["health"])
        #expect(report.issue == nil)
        #expect(try bench.weights == [80] && bench.pending.isEmpty)
        try bench.finish()
    }

    @Test("C19: a lock that falls during a pass ends the reading and not the sending") func lockedMeanwhile()
        async throws
    {
        let bench = try Bench(both)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.health.set(failure: { _ in PeerError(.locked, "locked") })
        _ = try bench.save(72)
        let report = try await bench.sync()
        #expect(report.issue?.code == .locked && bench.held == [72])
        try bench.finish()
    }

    @Test("Started before the peer is enabled, the engine does all of its work once it is: it reads, sends and listens")
    func enabledLater() async throws {
        let bench = try Bench(.dietApp)
        let meal = Sample(.dietaryProtein, 20, .gram, at: bench.time(1))
        try bench.write { _ = try $0.save(meal) }
        bench.engine.start()
        try await Task.sleep(for: .milliseconds(20))
        #expect(bench.health.watchers == 0)
        try await bench.engine.enable(bench.peer)
        try await until("the push of what is only sent") { bench.held == [20] }
        try await until("the listening") { bench.health.watchers == 1 }
        bench.health.save(bench.scale(80, hour: 2))
        try await until("the pull") { try bench.weights == [80] }
        try await bench.engine.disconnect(bench.peer)
        try await until("the end of the listening") { bench.health.watchers == 0 }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("An operation that is held back hides the next time of no other") func heldOperation() async throws {
        let bench = try Bench(both)
        try await bench.engine.enable(bench.peer)
        bench.health.set(failure: { $0 == .dietaryWater ? PeerError(.invalid, "unknown") : nil })
        bench.health.set(refusal: { _ in .failed(reason: "busy") })
        try bench.write { _ = try $0.save(Sample(.dietaryWater, 300, .milliliter, at: bench.time(3))) }
        _ = try bench.save(72)
        try await bench.sync()
        #expect(try bench.pending.map(\.attempts).sorted() == [0, 1])
        #expect(try nextDue(bench.engine) == bench.clock.now + .seconds(2))
        try bench.finish()
    }

    @Test("What has no trigger waits until a sync is asked for") func noTriggers() async throws {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.both), .dietaryWater: TypePlan(.push, triggers: [])])
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        try bench.write { _ = try $0.save(Sample(.dietaryWater, 300, .milliliter, at: bench.time(3))) }
        _ = try bench.save(72)
        _ = try await bench.engine.session("health").inTurn { session in
            try await session.pass(PassRequest(pulls: false, isOfCommit: true))
        }
        #expect(bench.held == [72])
        try await bench.sync()
        #expect(bench.health.live.count == 2)
        try bench.finish()
    }

    @Test("An engine that lost its lease takes another as soon as it may, whatever it is asked for") func lostLease()
        async throws
    {
        let bench = try Bench { $0.holder = "app" }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.clock.advance(seconds: 61)
        let widget = Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock
        ) { $0.holder = "widget" }
        _ = try await widget.sync()
        bench.clock.advance(seconds: 61)
        try await bench.engine.enable(bench.peer)
        try await bench.engine.authorize(bench.peer)
        #expect(try await bench.sync().issue == nil)
        bench.clock.advance(seconds: 61)
        _ = try await widget.sync()
        try await widget.session("health").holdLease()
        await #expect(throws: SyncIssue.self) { try await bench.engine.authorize(bench.peer) }
        // Switching off is done at once, whichever engine holds it.
        try await bench.engine.disable(bench.peer)
        #expect(try !bench.status().isEnabled)
        withExtendedLifetime(widget) {}
        try bench.finish()
    }
}
