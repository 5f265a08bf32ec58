import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Comparing with a peer that forgets deletions")
struct CheckTests {
    private func engine(_ bench: Bench, _ plan: SyncPlan = .weightTracker) -> SyncEngine {
        Bench.makeEngine(bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: plan)], bench.clock) { options in
            (options.pageSize, options.checkPages) = (3, 1)
        }
    }

    private func isHeld(_ id: SampleID, _ bench: Bench) throws -> Bool {
        try bench.store.read { try $0.sample(id: id) } != nil
    }

    @Test(
        "C23, C26, D: a ghost of a deletion that was purged is found by itself, some pages a sync, and goes when it is missed again"
    )
    func ghosts() async throws {
        let bench = try Bench()
        try await engine(bench).enable(bench.peer)
        let ids = (0..<10).map { bench.health.save(bench.scale(60 + Double($0), hour: $0)) }
        try await engine(bench).sync()
        bench.health.forget(ids[4])
        for _ in 0..<9 { try await engine(bench).sync() }
        // Until the month is over nothing is compared, and nothing waits for it.
        #expect(try bench.store.blockingRead { try $0.state(of: bench.peer) }[.bodyMass].checkDue == nil)
        #expect(try engine(bench).session(bench.peer).schedule.nextDue() == nil)
        bench.clock.advance(seconds: 31 * 86_400)
        try await engine(bench).sync()
        // One pass took one page, and the next pass goes on there.
        #expect(try bench.store.blockingRead { try $0.checkNote(bench.peer, .bodyMass) }.check?.cursor != nil)
        #expect(try #require(try engine(bench).session(bench.peer).schedule.nextDue()) <= bench.clock.now)
        for _ in 0..<9 { try await engine(bench).sync() }
        #expect(try isHeld(ids[4], bench))
        let again = try #require(try engine(bench).session(bench.peer).schedule.nextDue())
        #expect(again == bench.clock.now + .seconds(3_600))
        bench.clock.advance(seconds: 3_600)
        let running = engine(bench)
        running.start()
        try await until("the second comparison") {
            bench.clock.advance(seconds: 1)
            return try !isHeld(ids[4], bench)
        }
        await running.stop()
        #expect(try bench.weights.count == 9)
        #expect(try bench.store.blockingRead { try $0.conflicts() }.map(\.event) == [.presumedGone])
        #expect(try engine(bench).session(bench.peer).schedule.nextDue() == nil)
        try bench.finish()
    }

    @Test("C26: own samples that a comparison missed stay where the peer shows them when it is asked by name")
    func missedPage() async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        let sample = try trial.bench.save(72)
        for _ in 0..<2 { try await trial.sync() }
        trial.peer.set {
            $0.enumeration = { $1.syncIdentifiers == nil ? EnumerationPage(samples: [], cursor: nil) : $0 }
        }
        _ = try await trial.engine.reconcile(trial.bench.peer)
        #expect(try isHeld(sample.id, trial.bench))
        // What is gone is not shown by name either.
        trial.bench.health.forget(try #require(trial.bench.health.live.first).sample.id)
        for _ in 0..<2 { _ = try await trial.engine.reconcile(trial.bench.peer) }
        #expect(try !isHeld(sample.id, trial.bench))
        try trial.bench.finish()
    }

    @Test("C26: a comparison that fails midway takes no own sample away, however often it fails")
    func failedMidway() async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        let sample = try trial.bench.save(72)
        for _ in 0..<2 { try await trial.sync() }
        let health = trial.bench.health
        health.forget(try #require(health.live.first).sample.id)
        trial.peer.set {
            $0.enumeration = { page, request in
                if request.syncIdentifiers != nil { return page }
                // The device is locked before the second page.
                health.set(availability: .locked)
                return EnumerationPage(samples: [], cursor: [1])
            }
        }
        for _ in 0..<3 {
            _ = try? await trial.engine.reconcile(trial.bench.peer)
            #expect(health.availability == .locked)
            #expect(try isHeld(sample.id, trial.bench))
            health.set(availability: .available)
            try await trial.sync()
            #expect(try isHeld(sample.id, trial.bench))
        }
        trial.peer.set { $0.enumeration = nil }
        for _ in 0..<3 { _ = try await trial.engine.reconcile(trial.bench.peer) }
        #expect(try !isHeld(sample.id, trial.bench))
        try trial.bench.finish()
    }

    @Test("C26: a comparison that cannot be made waits, and keeps neither the pass nor the engine busy") func locked()
        async throws
    {
        let bench = try Bench()
        try await engine(bench).enable(bench.peer)
        bench.health.save(bench.scale(60, hour: 1))
        try await engine(bench).sync()
        let now = bench.clock.now
        try await bench.engine.session(bench.peer).update { _, state in state[.bodyMass].checkDue = now }
        bench.health.set(availability: .locked)
        _ = try bench.save(72)
        #expect(try await engine(bench).sync()["health"]?.issue?.code == .locked)
        #expect(bench.held == [60, 72])
        #expect(try engine(bench).session(bench.peer).schedule.nextDue() == now + .seconds(3_600))
        bench.health.set(availability: .available)
        try await engine(bench).sync()
        try bench.finish()
    }

    @Test("C26: of very many that are missing some are remembered at a time, and in the end all are gone")
    func bounded()
        async throws
    {
        let bench = try Bench { options in (options.pageSize, options.missingLimit) = (4, 3) }
        try await bench.engine.enable(bench.peer)
        let ids = (0..<12).map { bench.health.save(bench.scale(60 + Double($0), hour: $0)) }
        try await bench.sync()
        for id in ids[1...8] { bench.health.forget(id) }
        var reports: [ReconcileReport] = []
        for _ in 0..<5 {
            reports.append(try await bench.engine.reconcile(bench.peer))
            #expect(try bench.store.blockingRead { try $0.checkNote(bench.peer, .bodyMass) }.missing.count <= 3)
        }
        #expect(reports[0].missing == 3 && reports[0].deleted == 0)
        #expect(reports.map(\.deleted).reduce(0, +) == 8)
        #expect(try bench.weights.sorted() == [60, 69, 70, 71])
        try bench.finish()
    }

    @Test("C11: access is revoked by type: one type that vanishes is told, whatever the others show")
    func vanishedType()
        async throws
    {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.pull), .stepCount: TypePlan(.pull)])
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(72, hour: 1))
        bench.health.save(
            Sample(
                .stepCount, 9, .count, from: bench.time(2), to: bench.time(2), source: Source(name: "Phone"),
                origin: .imported))
        try await bench.sync()
        bench.health.set(unreadable: [.stepCount])
        try await bench.engine.reconcile(bench.peer)
        #expect(try bench.status().issue == nil)
        // It is looked at again by itself.
        bench.clock.advance(seconds: 3_601)
        try await bench.sync()
        #expect(try bench.status().notices.map(\.code).contains(.readingRevoked))
        #expect(try await bench.sync().issue?.code == .accessRevoked)
        #expect(try bench.store.blockingRead { try $0.count(of: .stepCount) } == 1)
        bench.health.set(unreadable: [])
        try await bench.engine.reconcile(bench.peer)
        #expect(try await bench.sync().issue == nil)
        try bench.finish()
    }
}
