import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("Engines that are busy, stopped, switched off elsewhere, or whose clock was ahead")
struct EngineHazardTests {
    @Test("C13: a peer that is busy for hours is asked again after an hour, not at once")
    func busyForHours() async throws {
        let trial = try BadAnswerTrial()
        let bench = trial.bench
        try await trial.engine.enable(bench.peer)
        try await trial.sync()
        _ = try bench.save(72)
        trial.peer.set { $0.outcomes = { $0.map { _ in .busy(retryAfter: .seconds(21_600)) } } }
        let session = try trial.engine.session(bench.peer)
        let first = try await session.inTurn { try await $0.pass(PassRequest(pulls: false, isOfCommit: true)) }
        #expect(first.pushed.parked == 1)
        let pushes = trial.peer.count("push")
        #expect(try !session.schedule.isPushDue())
        _ = try await session.inTurn { try await $0.pass(PassRequest(pulls: false, isOfCommit: true)) }
        #expect(trial.peer.count("push") == pushes)
        let next = try #require(try session.schedule.nextDue())
        #expect(next >= bench.clock.now + .seconds(3_600))
        try bench.finish()
    }

    @Test("C13: a feed whose peer says to come again in six hours is pulled after an hour, not every second")
    func feedBusyForHours() async throws {
        let trial = try BadAnswerTrial()
        let bench = trial.bench
        try await trial.engine.enable(bench.peer)
        try await trial.sync()
        trial.peer.set { $0.pullFailure = PeerError(.transient, "busy", retryAfter: .seconds(21_600)) }
        #expect(try await trial.sync().issue?.code == .delayed)
        let session = try trial.engine.session(bench.peer)
        let next = try #require(try session.schedule.nextDue())
        #expect(next >= bench.clock.now + .seconds(3_600))
        let pulls = trial.peer.count("pull")
        _ = try await session.inTurn { try await $0.pass(PassRequest(types: [])) }
        #expect(trial.peer.count("pull") == pulls)
        try bench.finish()
    }

    @Test("A failed look at the feed of a type that is only sent is made up for, and does not stay due for ever")
    func failedLookOfSentType() async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.push)]))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let sample = try bench.save(72)
        bench.health.set(refusal: { _ in .unknown(reason: "the answer was lost") })
        try await bench.sync()
        bench.health.set(refusal: nil)
        bench.health.set(failure: { _ in PeerError(.transient, "busy") })
        try await bench.sync()
        #expect(try bench.status().issue?.code == .delayed)
        bench.health.set(failure: nil)
        try bench.write { _ = try $0.delete(id: sample.id) }
        bench.clock.advance(seconds: 10)
        try await bench.sync()
        #expect(try bench.pending.isEmpty)
        bench.clock.advance(seconds: 7_200)
        let session = try bench.engine.session(bench.peer)
        _ = try await session.inTurn { try await $0.pass(PassRequest(types: [])) }
        try await bench.sync()
        #expect(try bench.status().issue == nil)
        let due = try session.schedule.nextDue()
        #expect(due.map { $0 > bench.clock.now } ?? true)
        try bench.finish()
    }

    @Test("An engine that runs listens to a peer that an import has enabled")
    func importedWhileRunning() async throws {
        let bench = try Bench()
        let session = try bench.engine.session(bench.peer)
        bench.engine.start()
        try await until("the start") { await session.signals != nil }
        try await Task.sleep(for: .milliseconds(50))
        #expect(bench.health.watchers == 0)
        for try await _ in bench.engine.importHistory(bench.peer, .all) {}
        #expect(try bench.status().isEnabled)
        try await until("the listening") { bench.health.watchers == 1 }
        bench.health.save(bench.scale(80, hour: 2))
        try await until("the weight of the peer") { try bench.weights == [80] }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("An engine that is started while it is being stopped hears what the app changes afterwards")
    func startedWhileStopping() async throws {
        let bench = try Bench()
        let peer = BadPeer(MemoryHealthPeer(bench.health))
        let engine = Bench.makeEngine(bench.store, [SyncPeer(peer, plan: .weightTracker)], bench.clock) {
            $0.callGrace = .seconds(2)
        }
        try await engine.enable(bench.peer)
        peer.set { $0.hanging = ["pull"] }
        engine.start()
        try await until("the call that hangs") { peer.hung > 0 }
        peer.set { $0.hanging = [] }
        let stopping = Task { await engine.stop() }
        try await until("the order to stop") { engine.runner.withLock { $0 == nil } }
        engine.start()
        await stopping.value
        peer.release()
        let session = try engine.session(bench.peer)
        let signals = await session.signals
        #expect(signals != nil)
        try await until("the listening") { bench.health.watchers == 1 }
        try await engine.disable(bench.peer)
        try await until("the end of the listening") { bench.health.watchers == 0 }
        await engine.stop()
        try bench.finish()
    }

    @Test("A pass of one engine ends when another engine has switched the sync off")
    func disabledElsewhere() async throws {
        let trial = try BadAnswerTrial()
        let bench = trial.bench
        try await trial.engine.enable(bench.peer)
        try await trial.sync()
        _ = try bench.save(72)
        bench.health.save(bench.scale(80, hour: 2))
        trial.peer.set { $0.hanging = ["pull"] }
        let work = Task { try await trial.sync() }
        try await until("the call that hangs") { trial.peer.hung > 0 }
        let widget = Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock
        ) { $0.holder = "widget" }
        try await widget.disable(bench.peer)
        trial.peer.set { $0.hanging = [] }
        trial.peer.release()
        _ = try? await work.value
        #expect(bench.held == [80])
        #expect(try bench.weights == [72])
        withExtendedLifetime(widget) {}
        try bench.finish()
    }

    @Test("C15: a total that was read while the clock was ahead is replaced once the clock is right")
    func totalFromTheFuture() async throws {
        let plan = SyncPlan(types: [.stepCount: TypePlan(.pull, keepsDailyTotals: true)])
        let bench = try Bench(plan) { $0.zone = "UTC" }
        let day = try #require(LocalDays.names(from: bench.clock.now, to: bench.clock.now, zone: "UTC", limit: 1).first)
        func walk(_ count: Double) {
            bench.health.save(
                Sample(
                    .stepCount, count, .count, from: bench.clock.now, to: bench.clock.now,
                    source: Source(name: "Watch"), origin: .imported))
        }
        walk(500)
        bench.health.set(total: Quantity(500, .count), of: .stepCount, day)
        let year = 365 * 86_400
        bench.clock.advance(seconds: year)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.clock.advance(seconds: 8 * 3_600 - year)
        walk(8_500)
        bench.health.set(total: Quantity(9_000, .count), of: .stepCount, day)
        for _ in 0..<3 {
            try await bench.sync()
            bench.clock.advance(seconds: 86_400)
        }
        let totals = try bench.store.blockingRead { try $0.totals(of: .stepCount, peer: "health") }
        #expect(totals.first { $0.day == day }?.value == 9_000)
        try bench.finish()
    }
}
