import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Whose a sample is decides what may be done with it")
struct OwnershipTests {
    @Test("A4, C22: a deletion by sync identifier is about its own type, and about what this app wrote")
    func deletions()
        async throws
    {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.both), .dietaryWater: TypePlan(.both)])
        let bench = try Bench(plan)
        bench.health.set(writing: .denied, of: .bodyMass)
        bench.health.set(writing: .denied, of: .dietaryWater)
        try await bench.engine.enable(bench.peer)
        var other = Sample(.bodyMass, 80, .kilogram, at: bench.time(1), syncIdentifier: "x")
        (other.source, other.version) = (Source(bundle: "other", name: "Other"), 1)
        other.modified = ChangeClock(time: bench.time(1), replica: 9)
        let theirs = other
        try bench.write { txn in
            _ = try txn.save(Sample(.dietaryWater, 200, .milliliter, at: bench.time(2), syncIdentifier: "x"))
            _ = try txn.merge(theirs)
        }
        try await bench.sync()
        // It came and went before anybody looked.
        bench.health.delete(bench.health.save(bench.scale(60, hour: 3, sync: "x", version: 9)))
        let report = try await bench.sync()
        #expect(report.pulled.deleted == 0 && report.pulled.superseded == 1)
        #expect(try bench.store.blockingRead { try $0.count() } == 2)
        try bench.finish()
    }

    @Test("C25: what another app wrote, and another store brought, is not sent as this app's own") func otherApps()
        async throws
    {
        let bench = try Bench()
        func entry(_ hour: Int) -> Sample {
            var sample = Sample(.bodyMass, 80, .kilogram, at: bench.time(hour))
            (sample.source, sample.version) = (Source(bundle: "other", name: "Other"), 1)
            sample.modified = ChangeClock(time: bench.time(hour), replica: 9)
            return sample
        }
        let (before, after) = (entry(1), entry(2))
        try bench.write { _ = try $0.merge(before) }
        try await bench.engine.enable(bench.peer)
        try bench.write { _ = try $0.merge(after) }
        try await bench.sync()
        #expect(try bench.pending.isEmpty)
        #expect(bench.health.live.isEmpty)
        try bench.finish()
    }

    @Test(
        "C6, C21: an entry from before there were sync identifiers can be edited and deleted, and is never there twice")
    func unnamed() async throws {
        let bench = try Bench()
        for hour in 1...2 {
            bench.health.save(
                Sample(.bodyMass, 70 + Double(hour), .kilogram, at: bench.time(hour), source: Source(name: "app")),
                app: "app")
        }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let held = try bench.store.blockingRead { try $0.samples(of: .bodyMass) }
        #expect(held.count == 2)
        _ = try bench.save(60, id: held[0].id, hour: 1)
        try bench.write { _ = try $0.delete(id: held[1].id) }
        try await bench.sync()
        #expect(bench.held == [60])
        try await bench.sync()
        #expect(try bench.weights == [60])
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    @Test("C20: what is deleted here goes there too, though it was sent with a greater version") func raisedVersion()
        async throws
    {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(72)
        try bench.write { txn in
            _ = try txn.enqueue(PendingOperation(peer: "health", kind: .save, sample: sample.id, version: 7))
        }
        try await bench.sync()
        #expect(bench.health.live.first?.sample.version == 7)
        try bench.write { _ = try $0.delete(id: sample.id) }
        try await bench.sync()
        #expect(bench.held.isEmpty)
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        try bench.finish()
    }

    /// A store between a health database and another store, which both bring samples of one scale.
    private struct Between {
        let clock = ManualClock()
        let health = MemoryHealth()
        let here: SampleStore
        let there: SampleStore
        let engine: SyncEngine

        init(_ plan: SyncPlan = .weightTracker, _ followed: SyncPlan = .everything) throws {
            (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
            engine = Bench.makeEngine(
                here,
                [
                    SyncPeer(MemoryHealthPeer(health), plan: plan),
                    SyncPeer(StorePeer(there, id: "there", as: "here"), plan: followed),
                ], clock)
        }

        func scale(_ kilograms: Double, days: Int) -> Sample {
            let time = clock.now - .days(days)
            return Sample(
                .bodyMass, kilograms, .kilogram, from: time, to: time, source: Source(bundle: "scale", name: "Scale"),
                origin: .imported)
        }

        func enable() async throws { for peer in engine.peers { try await engine.enable(peer) } }

        var weights: [Double] {
            get throws {
                try here.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.map(\.quantity.value)
                    .sorted()
            }
        }

        func finish() throws {
            for store in [here, there] {
                #expect(try store.check().findings.isEmpty)
                try store.close()
            }
        }
    }

    @Test(
        "C11, C26: what another store brought of the same source is neither taken for deleted nor purged",
        arguments: [false, true])
    func twoProviders(isLater: Bool) async throws {
        let bench = try Between()
        let theirs = bench.scale(90, days: 2)
        bench.health.save(bench.scale(60, days: 5))
        try await bench.enable()
        if isLater { _ = try await bench.engine.sync("health") }
        _ = try await bench.there.write { txn in
            var batch = SampleBatch()
            batch.append(theirs)
            return try txn.importBatch(batch)
        }
        _ = try await bench.engine.sync("there")
        _ = try await bench.engine.sync("health")
        #expect(try bench.weights == [60, 90])
        for _ in 0..<2 { #expect(try await bench.engine.reconcile("health").deleted == 0) }
        #expect(try bench.weights == [60, 90])
        #expect(try await bench.engine.disconnect("health", purge: true) == 1)
        #expect(try bench.weights == [90])
        try bench.finish()
    }

    @Test(
        "C10: a cache keeps what no other store takes",
        arguments: [
            SyncPlan(types: [.dietaryWater: TypePlan(.both)]),
            SyncPlan(types: [.bodyMass: TypePlan(.pull)], others: TypePlan(.both)),
        ])
    func cacheWithoutTakers(_ taker: SyncPlan) async throws {
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass] = TypePlan(.pull, retention: .cache)
        let bench = try Between(plan, taker)
        bench.health.save(bench.scale(60, days: 5))
        try await bench.enable()
        for _ in 0..<3 { _ = try await bench.engine.sync() }
        #expect(try bench.weights == [60])
        try bench.finish()
    }

    @Test("C10: a cache keeps what another store refused") func cacheRefused() async throws {
        let clock = ManualClock()
        let (health, here, there) = (MemoryHealth(), try Bench.makeStore(clock), try Bench.makeStore(clock))
        let answers = OutcomePeer(StorePeer(there, id: "there", as: "here"))
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass] = TypePlan(.pull, retention: .cache)
        let engine = Bench.makeEngine(
            here, [SyncPeer(MemoryHealthPeer(health), plan: plan), SyncPeer(answers, plan: .everything)], clock)
        for peer in engine.peers { try await engine.enable(peer) }
        _ = try await engine.sync()
        health.save(
            Sample(
                .bodyMass, 60, .kilogram, from: clock.now - 5, to: clock.now - 5, source: Source(name: "Scale"),
                origin: .imported))
        _ = try await engine.sync("health")
        answers.set { _ in .refused(reason: "too heavy") }
        for _ in 0..<2 { _ = try await engine.sync() }
        #expect(try here.blockingRead { try $0.count() } == 1)
        #expect(try engine.status().peers["there"]?.quarantined == 1)
        for store in [here, there] { try store.close() }
    }

    @Test("C27: who returns after half a year loses nothing that only he holds, or that left without being deleted")
    func returned() async throws {
        for followed in [SyncPlan(types: [:], others: TypePlan(.push)), .everything] {
            let bench = try Between(.weightTracker, followed)
            for days in 1...2 { bench.health.save(bench.scale(60, days: days)) }
            try await bench.enable()
            for _ in 0..<2 { _ = try await bench.engine.sync() }
            #expect(try bench.there.blockingRead { try $0.count() } == 2)
            _ = try await bench.there.write { try $0.save(Sample(.bodyMass, 90, .kilogram, at: bench.clock.now)) }
            _ = try await bench.engine.disconnect("health", purge: true)
            _ = try await bench.here.write { txn in
                guard var there = try txn.peer("there") else { return }
                there.isRetired = true
                try txn.setPeer(there)
            }
            for _ in 0..<2 { _ = try await bench.engine.sync("there") }
            #expect(try bench.there.blockingRead { try $0.count() } == 3)
            #expect(try bench.here.blockingRead { try $0.peer("there") }?.isRetired == false)
            try bench.finish()
        }
    }
}
