import SyncSupport
import Synchronization
import TestSupport
import Testing

@testable import HealthKVSync

@Suite("What an earlier life of the store or a wrong clock leaves behind") struct EarlierLivesTests {
    private static let steps = SyncPlan(types: [.stepCount: TypePlan(.pull)])

    private static func step(_ count: Double, _ minutes: Range<Int>, _ bench: Bench) -> Sample {
        let minute = 60 * Instant.nanosecondsPerSecond
        return Sample(
            .stepCount, count, .count, from: bench.time(0) + Int64(minutes.lowerBound) * minute,
            to: bench.time(0) + Int64(minutes.upperBound) * minute, source: Source(name: "Phone"), origin: .imported)
    }

    /// A bench that holds twelve samples of steps, has read that all of them are gone, and was ended before it read
    /// the page with the one sample that they were condensed into.
    private static func midway(_ block: Int) async throws -> Bench {
        let pages = PageCountdown()
        let bench = try Bench(steps, health: MemoryHealth(), clock: ManualClock()) { options in
            (options.pageSize, options.deferredBlock) = (4, block)
            options.atStep = { try pages.reach($0) }
        }
        let ids = (0..<12).map { bench.health.save(step(10, $0..<$0 + 1, bench)) }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        for id in ids { bench.health.delete(id) }
        bench.health.save(step(120, 0..<12, bench))
        pages.end(after: 3)
        await #expect(throws: CancellationError.self) { try await bench.sync() }
        #expect(try bench.store.blockingRead { try !$0.state(of: bench.peer)[.stepCount].waiting.isEmpty })
        return bench
    }

    private static func total(_ store: SampleStore) throws -> Double {
        try store.blockingRead { try $0.samples(SampleQuery(.stepCount, includeShadowed: true)) }
            .map(\.quantity.value).reduce(0, +)
    }

    @Test(
        "A27, C28: deletions that waited for the old HealthKit's feed are not carried out beside another HealthKit",
        arguments: [3, 1_000])
    func waitingBesideAnother(block: Int) async throws {
        let old = try await Self.midway(block)
        let folder = TemporaryFolder()
        try old.store.backup(to: folder.path + "/copy")
        let copy = try Bench.makeStore(old.clock, at: folder.path + "/copy")
        let new = try Bench(Self.steps, health: MemoryHealth(seed: 2), clock: old.clock, store: copy)
        try await new.engine.enable(new.peer)
        for _ in 0..<3 {
            try await new.sync()
            new.clock.advance(seconds: 3_700)
        }
        // The new HealthKit knows neither the twelve nor the one that they became: what the store holds stays.
        #expect(try Self.total(copy) == 120)
        #expect(try copy.blockingRead { try $0.state(of: new.peer)[.stepCount].waiting.isEmpty })
        #expect(try copy.blockingRead { try $0.syncNote(EngineNotes.deferred(new.peer, .stepCount, 0)) } == nil)
        try new.finish()
        try old.finish()
        withExtendedLifetime(folder) {}
    }

    @Test(
        "A27: deletions that waited for the feed of a database are not carried out after it was rebuilt",
        arguments: [3, 1_000])
    func waitingAndRebuilt(block: Int) async throws {
        let bench = try await Self.midway(block)
        bench.health.rebuild()
        bench.health.invalidateAnchors()
        let again = try bench.restarted(Self.steps)
        for _ in 0..<3 {
            try await again.sync()
            again.clock.advance(seconds: 3_700)
        }
        #expect(try Self.total(again.store) == 120)
        try again.finish()
    }

    @Test("C22: an edit at the source of a sample that the store holds from before the horizon is no deletion")
    func editedBeforeTheHorizon() async throws {
        let bench = try Bench()
        // Fifty days before the clock of the tests.
        let hour = -24 * 40
        bench.health.save(bench.scale(80, hour: hour, sync: "s", version: 1))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.weights == [80])
        // An update of the app imports less. What the store holds stays.
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass]?.horizon = .days(30)
        let less = try bench.restarted(plan)
        try await less.sync()
        #expect(try less.weights == [80])
        less.health.save(less.scale(81, hour: hour, sync: "s", version: 2))
        try await less.sync()
        #expect(try less.weights == [81])
        // It goes when it is deleted at last.
        less.health.delete(try #require(less.health.live.first?.sample.id))
        try await less.sync()
        #expect(try less.weights.isEmpty)
        try less.finish()
    }

    @Test(
        "C26: a sample that Health brought does not become another store's because that store brings it, too",
        arguments: [false, true])
    func heldAndBroughtAgain(withNews: Bool) async throws {
        let bench = try Bench()
        bench.health.save(bench.scale(79, hour: 0))
        let id = bench.health.save(bench.scale(80, hour: 1))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let hub = try Bench.makeStore(bench.clock, app: "hub")
        let known = try #require(try bench.store.blockingRead { try $0.sample(id: id) })
        let news = Sample(.bodyMass, 60, .kilogram, at: bench.time(3))
        _ = try await hub.write { txn in
            try txn.merge(known)
            if withNews { _ = try txn.save(news) }
        }
        let both = Bench.makeEngine(
            bench.store, [SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything)], bench.clock)
        try await both.enable("hub")
        for _ in 0..<2 { try await both.sync() }
        #expect(try bench.weights.contains(60) == withNews)
        #expect(try bench.store.blockingRead { try $0.link(peer: "health", sample: id) } == nil)
        // Health has deleted it, and its feed no longer tells.
        bench.health.forget(id)
        for _ in 0..<3 {
            try await bench.engine.reconcile(bench.peer)
            bench.clock.advance(seconds: 3_700)
        }
        #expect(try !bench.weights.contains(80))
        try hub.close()
        try bench.finish()
    }

    @Test(
        "C9: what comes after a skipped import is kept whatever its date, though the import was skipped by a wrong clock",
        arguments: [365 * 86_400, -(800_000_000 + 978_307_200)])
    func skippedByWrongClock(offset: Int) async throws {
        var plan = SyncPlan.weightTracker
        plan.types[.bodyMass]?.horizon = .fromNowOn
        let bench = try Bench(plan)
        bench.health.save(bench.scale(70, hour: 0))
        bench.clock.advance(seconds: offset)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        // The place in the feed is past what was skipped. The next sample comes before the clock is put right.
        bench.health.save(bench.scale(60, hour: 1))
        bench.clock.advance(seconds: -offset)
        try await bench.sync()
        #expect(try bench.weights == [60])
        // Also later, and when the feed is read again, only what was skipped stays out.
        bench.clock.advance(seconds: 3_700)
        bench.health.save(bench.scale(61, hour: 2))
        try await bench.sync()
        try await bench.engine.authorize(bench.peer)
        try await bench.sync()
        #expect(try bench.weights.sorted() == [60, 61])
        try bench.finish()
    }

    @Test(
        "C2: beside another HealthKit an old import does not win over an entry because the old HealthKit was looked at")
    func lookOfAnEarlierLife() async throws {
        let old = try Bench()
        try await old.engine.enable(old.peer)
        _ = try old.save(72, hour: 1)
        try await old.sync()
        old.clock.advance(seconds: 86_400)
        // A page that commits its look, a day after the entry.
        old.health.save(old.scale(90, hour: 200))
        try await old.sync()
        let folder = TemporaryFolder()
        try old.store.backup(to: folder.path + "/copy")
        let copy = try Bench.makeStore(old.clock, at: folder.path + "/copy")
        let health = MemoryHealth(seed: 2)
        health.save(old.scale(75, hour: 1))
        let new = try Bench(.weightTracker, health: health, clock: old.clock, store: copy)
        try await new.engine.enable(new.peer)
        for _ in 0..<2 { try await new.sync() }
        #expect(try new.weights.sorted() == [72, 75, 90])
        let shown = try copy.blockingRead { try $0.samples(SampleQuery(.bodyMass)) }.map(\.quantity.value).sorted()
        #expect(shown == [72, 90])
        try new.finish()
        try old.finish()
        withExtendedLifetime(folder) {}
    }
}
