import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("Deletions that wait for the end of a feed")
struct DeferredDeletionTests {
    private static let plan = SyncPlan(types: [.stepCount: TypePlan(.pull)])

    private func steps(_ count: Double, _ minutes: Range<Int>, _ bench: Bench) -> Sample {
        let minute = 60 * Instant.nanosecondsPerSecond
        return Sample(
            .stepCount, count, .count, from: bench.time(0) + Int64(minutes.lowerBound) * minute,
            to: bench.time(0) + Int64(minutes.upperBound) * minute, source: Source(name: "Phone"), origin: .imported)
    }

    /// The system condenses what is there into one sample that counts as much.
    private func condense(_ ids: [SampleID], _ bench: Bench) {
        for id in ids { bench.health.delete(id) }
        bench.health.save(steps(Double(ids.count) * 10, 0..<ids.count, bench))
    }

    @Test("A27: however many they are, they are applied block by block once the feed is read, also across crashes")
    func blocks() async throws {
        let seen = Mutex<(steps: Int, sums: [Double])>((0, []))
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        let bench = try Bench(Self.plan, health: MemoryHealth(), clock: clock, store: store) { options in
            (options.pageSize, options.deferredBlock) = (4, 3)
            options.atStep = { reached in
                guard reached == .pageCommitted else { return }
                let sum = try store.read { try $0.samples(of: .stepCount).map(\.quantity.value).reduce(0, +) }
                let isCrash = seen.withLock { seen in
                    seen.sums.append(sum)
                    seen.steps += 1
                    return seen.steps % 3 == 0
                }
                if isCrash { throw CancellationError() }
            }
        }
        let ids = (0..<22).map { bench.health.save(steps(10, $0..<$0 + 1, bench)) }
        try await bench.engine.enable(bench.peer)
        func syncToTheEnd() async throws -> Int {
            for crashes in 0..<100 {
                do {
                    try await bench.sync()
                    return crashes
                } catch is CancellationError {}
            }
            return 100
        }
        _ = try await syncToTheEnd()
        seen.withLock { $0 = (0, []) }
        condense(ids, bench)
        let crashes = try await syncToTheEnd()
        let sums = seen.withLock { $0.sums }
        // Six pages, of which the last has the sample and two deletions, and seven blocks of the other twenty
        // deletions.
        let course = sums.reduce(into: [Double]()) { if $0.last != $1 { $0.append($1) } }
        #expect(crashes >= 4)
        #expect(course == [220, 420, 390, 360, 330, 300, 270, 240, 220])
        let state = try store.blockingRead { try $0.state(of: bench.peer)[.stepCount] }
        #expect(state.phase == .drained && state.waiting.isEmpty)
        for block in 0..<7 {
            let name = EngineNotes.deferred(bench.peer, .stepCount, block)
            #expect(try store.blockingRead { try $0.syncNote(name) } == nil)
        }
        try bench.finish()
    }

    @Test(
        "C22: a deletion that waits is void once a later page shows the sample again, be it this app's or another's",
        arguments: [1, 1_000], [true, false])
    func broughtBack(block: Int, isOwn: Bool) async throws {
        let health = MemoryHealth()
        let gone = Mutex<MemoryHealth.Entry?>(nil)
        let plan = SyncPlan(types: [.stepCount: TypePlan(.both)])
        let bench = try Bench(plan, health: health, clock: ManualClock()) { options in
            (options.pageSize, options.deferredBlock) = (2, block)
            options.atStep = { reached in
                // Two devices save one version, and their clouds settle on the one that was there first.
                guard reached == .pageCommitted, let entry = gone.withLock({ $0.take() }) else { return }
                health.bringBack(entry)
            }
        }
        try await bench.engine.enable(bench.peer)
        var sample = steps(10, 0..<1, bench)
        if isOwn {
            (sample.origin, sample.source) = (.authored, .thisApp)
            let own = sample
            try bench.write { _ = try $0.save(own) }
        } else {
            health.save(sample)
        }
        for _ in 0..<2 { try await bench.sync() }
        let entry = try #require(health.live.first)
        health.delete(entry.sample.id)
        // The page behind the first is asked for before that is committed.
        for minute in 1..<6 { health.save(steps(10, minute..<minute + 1, bench)) }
        gone.withLock { $0 = entry }
        for _ in 0..<2 { try await bench.sync() }
        #expect(gone.withLock { $0 == nil })
        #expect(try bench.store.blockingRead { try $0.samples(of: .stepCount).count } == 6)
        #expect(health.live.count == 6)
        // It goes when it is deleted at last.
        health.delete(entry.sample.id)
        try await bench.sync()
        #expect(try bench.store.blockingRead { try $0.samples(of: .stepCount).count } == 5)
        try bench.finish()
    }

    @Test("Until all of them are applied the type is held back, and disconnecting forgets them") func heldBack()
        async throws
    {
        let pages = PageCountdown()
        let bench = try Bench(Self.plan) { options in
            (options.pageSize, options.deferredBlock) = (4, 3)
            options.atStep = { try pages.reach($0) }
        }
        let ids = (0..<12).map { bench.health.save(steps(10, $0..<$0 + 1, bench)) }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        condense(ids, bench)
        // Four pages, and the first of four blocks.
        pages.end(after: 5)
        await #expect(throws: CancellationError.self) { try await bench.sync() }
        let held = try bench.store.blockingRead { try $0.state(of: bench.peer)[.stepCount] }
        #expect(held.phase.arrivingSince != nil && held.phase.isAdopted)
        #expect(held.waiting.blocks == DeferredBlocks(first: 1, next: 4))
        try await bench.engine.disconnect(bench.peer)
        for block in 0..<(held.waiting.blocks?.next ?? 0) {
            let name = EngineNotes.deferred(bench.peer, .stepCount, block)
            #expect(try bench.store.blockingRead { try $0.syncNote(name) } == nil)
        }
        try bench.finish()
    }

    @Test("Any number of deletions make the engine's note of a peer no longer than a block") func many() async throws {
        let longest = Mutex(0)
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        let bench = try Bench(Self.plan, health: MemoryHealth(), clock: clock, store: store) { options in
            (options.pageSize, options.deferredBlock) = (50, 25)
            options.atStep = { reached in
                guard reached == .pageCommitted else { return }
                let length = try store.read { try $0.syncNote(EngineNotes.state("health"))?.count ?? 0 }
                longest.withLock { $0 = max($0, length) }
            }
        }
        let ids = (0..<600).map { bench.health.save(steps(10, $0..<$0 + 1, bench)) }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        condense(ids, bench)
        try await bench.sync()
        let held = try store.blockingRead { try $0.samples(of: .stepCount).map(\.quantity.value) }
        #expect(held == [6_000])
        #expect(longest.withLock { $0 } < 4_000, "\(longest.withLock { $0 }) bytes")
        try bench.finish()
    }
}
