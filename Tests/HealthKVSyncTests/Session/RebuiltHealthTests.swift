import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("A health database that is new, and whose anchors are ahead of it")
struct RebuiltHealthTests {
    private func filled(_ plan: SyncPlan = .weightTracker) async throws -> Bench {
        let bench = try Bench(plan)
        for number in 0..<20 { bench.health.save(bench.scale(70, hour: number)) }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.weights.count == 20)
        return bench
    }

    @Test("What other apps write into it comes with the next foreground, and not with the monthly rescan")
    func comes() async throws {
        let bench = try await filled()
        bench.health.rebuild()
        for number in 0..<10 { bench.health.save(bench.scale(80 + Double(number), hour: 100 + number)) }
        // It was looked at within the hour.
        try await bench.sync()
        bench.clock.advance(seconds: 3_601)
        _ = try await bench.engine.enterForeground()
        let weights = try bench.weights
        for number in 0..<10 { #expect(weights.contains(80 + Double(number))) }
        #expect(try bench.status().notices.map(\.code).contains(.peerRestored))
        // From now on its feed is followed again.
        bench.health.save(bench.scale(95, hour: 200))
        try await bench.sync()
        #expect(try bench.weights.contains(95))
        try bench.finish()
    }

    @Test("What this app wrote into the old one is not doubled in the new one, and what it writes goes there")
    func own() async throws {
        let bench = try await filled()
        let sample = try bench.save(60, hour: 50)
        try await bench.sync()
        bench.health.rebuild()
        bench.health.save(bench.scale(80, hour: 100))
        bench.clock.advance(seconds: 3_601)
        try await bench.sync()
        #expect(try bench.weights.contains(80))
        _ = try bench.save(61, id: sample.id, hour: 50)
        try await bench.sync()
        #expect(bench.held == [61, 80])
        try bench.finish()
    }

    @Test("C22: the end of a version is no deletion where the feed passed over the version that took its place")
    func replacedUnheard() async throws {
        let (bench, sample) = try await Bench.withOneWeight()
        try await bench.sync()
        var edited = try #require(bench.health.live.first?.sample)
        edited.quantity = Quantity(73, .kilogram)
        edited.version += 1 << 11
        bench.health.countFirst(bench.health.save(edited, app: "app"))
        try await bench.sync()
        #expect(try bench.weights == [73])
        #expect(bench.held == [73])
        // What the user deletes goes nevertheless.
        bench.health.delete(try #require(bench.health.live.first?.sample.id))
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        #expect(try bench.store.blockingRead { try $0.deletedSample(id: sample.id) } != nil)
        try bench.finish()
    }

    @Test(
        "A sample that is written while it is looked at, and one that is left out for good, cause no reading from the beginning"
    )
    func noAlarm() async throws {
        let bench = try await filled()
        let session = try bench.engine.session(bench.peer)
        let rescan = try session.state()[.bodyMass].lastRescan
        // Deleted here, and hidden: the peer goes on showing it.
        let shown = try #require(try bench.store.blockingRead { try $0.samples(of: .bodyMass, limit: 1) }.first)
        try bench.write { _ = try $0.delete(id: shown.id) }
        for _ in 0..<3 {
            bench.clock.advance(seconds: 3_601)
            bench.health.save(bench.scale(90, hour: 300))
            try await bench.sync()
        }
        #expect(try session.state()[.bodyMass].lastRescan == rescan)
        #expect(try bench.status().notices.isEmpty)
        // A look that finds nothing commits nothing.
        let commit = try bench.store.info().commit
        bench.clock.advance(seconds: 3_601)
        _ = try await bench.engine.enterForeground()
        #expect(try bench.store.info().commit <= commit + Bench.commitsOfLease + 1)
        try bench.finish()
    }

    @Test(
        "What the app purged here does not make Health a rebuilt one, and what is written there after a rebuild is found nevertheless",
        arguments: [false, true])
    func purged(isAll: Bool) async throws {
        let bench = try await filled()
        let session = try bench.engine.session(bench.peer)
        let rescan = try session.state()[.bodyMass].lastRescan
        try bench.write { txn in
            for sample in try txn.samples(of: .bodyMass).prefix(isAll ? 20 : 15) { try txn.purge(id: sample.id) }
        }
        for _ in 0..<3 {
            bench.clock.advance(seconds: 3_601)
            try await bench.restarted().sync()
        }
        #expect(try session.state()[.bodyMass].lastRescan == rescan)
        #expect(try bench.status().notices.isEmpty)
        #expect(try bench.weights.count == (isAll ? 0 : 5))
        bench.health.save(bench.scale(79, hour: 99))
        try await bench.sync()
        bench.health.rebuild()
        bench.health.save(bench.scale(80, hour: 100))
        bench.clock.advance(seconds: 3_601)
        try await bench.sync()
        #expect(try bench.weights.contains(80))
        try bench.finish()
    }

    @Test("C10: a cache that gave everything away finds what is new after a rebuild, and reads nothing again before it")
    func cache() async throws {
        let clock = ManualClock()
        let health = MemoryHealth()
        var plan = SyncPlan.walkingApp
        plan.types[.stepCount]?.retention = .cache
        let (here, hub) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            here,
            [
                SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything),
                SyncPeer(MemoryHealthPeer(health), plan: plan),
            ], clock)
        func walk(_ steps: Double, hour: Int) {
            let start = clock.now - .seconds((100 - hour) * 3_600)
            health.save(
                Sample(
                    .stepCount, steps, .count, from: start, to: start, source: Source(name: "Phone"),
                    origin: .imported))
        }
        func sync() async throws {
            for peer: PeerID in ["health", "hub", "health"] { _ = try await engine.sync(peer) }
        }
        func notices() throws -> [SyncNotice.Code] {
            try engine.status().peers["health"]?.notices.map(\.code) ?? []
        }
        for peer in engine.peers { try await engine.enable(peer) }
        for hour in 0..<5 { walk(Double(hour), hour: hour) }
        try await sync()
        #expect(try here.blockingRead { try $0.count(of: .stepCount) } == 0)
        #expect(try hub.blockingRead { try $0.count(of: .stepCount) } == 5)
        // What was given away is still the latest that Health shows.
        for _ in 0..<3 {
            clock.advance(seconds: 3_601)
            let commit = try hub.info().commit
            try await sync()
            #expect(try notices().isEmpty && hub.info().commit <= commit + 2)
        }
        health.rebuild()
        walk(80, hour: 60)
        clock.advance(seconds: 3_601)
        try await sync()
        #expect(try notices().contains(.peerRestored))
        try await sync()
        let held = try hub.blockingRead { try $0.samples(of: .stepCount) }.map(\.quantity.value).sorted()
        #expect(held == [0, 1, 2, 3, 4, 80])
        #expect(try here.blockingRead { try $0.count(of: .stepCount) } == 0)
        for store in [here, hub] {
            #expect(try store.check().findings.isEmpty)
            try store.close()
        }
    }
}
