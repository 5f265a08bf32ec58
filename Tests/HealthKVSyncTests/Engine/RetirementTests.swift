import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("Peers that come and go")
struct RetirementTests {
    @Test(
        "C27: a peer silent for half a year is retired; on its return it keeps what it wrote, and loses what was deleted meanwhile",
        arguments: [false, true])
    func retirement(isComparedFirst: Bool) async throws {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            here, [SyncPeer(StorePeer(there, id: "there", as: "here"), plan: .everything)], clock)
        try await engine.enable("there")
        let samples = (0..<4).map { Sample(.bodyMass, 70 + Double($0), .kilogram, at: clock.now - .days($0)) }
        _ = try await here.write { try $0.save(samples) }
        _ = try await engine.sync()
        #expect(try there.blockingRead { try $0.count() } == 4)
        let gone = samples[1].id
        _ = try await here.write { try $0.delete(id: gone) }
        _ = try await there.write { try $0.save(Sample(.bodyMass, 90, .kilogram, at: clock.now)) }
        clock.advance(seconds: 500 * 86_400)
        // Another engine of this store notices the silence, and tombstones are pruned.
        let other = Bench.makeEngine(
            here, [SyncPeer(MemoryHealthPeer(MemoryHealth()), plan: .weightTracker)], clock)
        try await other.enable("health")
        _ = try await other.sync()
        #expect(try here.blockingRead { try $0.peer("there") }?.isRetired == false)
        clock.advance(seconds: 86_400)
        _ = try await other.sync()
        #expect(try here.blockingRead { try $0.peer("there") }?.isRetired == true)
        _ = try await here.write { txn in
            guard let health = try txn.peer("health") else { return }
            try txn.acknowledge(peer: health.id, txn.currentToken)
        }
        // Tombstones are pruned once a day, by a clock that something has been written by and that is believed thirty
        // days at a time.
        let last = Sample(.bodyMass, 91, .kilogram, at: clock.now)
        for value in 0..<16 {
            clock.advance(seconds: 2 * 86_400)
            var last = last
            last.quantity.value += Double(value)
            _ = try await here.write { [last] in try $0.save(last) }
            while try here.maintain(budget: .seconds(1)) {}
        }
        #expect(try here.blockingRead { try $0.deletedSample(id: gone) } == nil)
        if isComparedFirst { try await engine.reconcile("there") }
        for _ in 0..<2 { _ = try await engine.sync() }
        #expect(try here.blockingRead { try $0.peer("there") }?.isRetired == false)
        #expect(try there.blockingRead { try $0.sample(id: gone) } == nil)
        #expect(try here.blockingRead { try $0.syncDigest() } == there.blockingRead { try $0.syncDigest() })
        #expect(try here.blockingRead { try $0.count() } == 5)
        for store in [here, there] { try store.close() }
    }

    @Test("C27: a store's only peer is retired, whether it never answers or is switched off", arguments: [false, true])
    func onlyPeer(isDisabled: Bool) async throws {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let service = PeerService(StorePeer(there, id: "there", as: "here"))
        let isGone = Mutex(false)
        let peer = RemotePeer(id: "there") { call, body in
            if isGone.withLock({ $0 }) { throw PeerError(.transient, "no route") }
            return await service.answer(call, body)
        }
        let engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock)
        try await engine.enable("there")
        let samples = (0..<4).map { Sample(.bodyMass, 70 + Double($0), .kilogram, at: clock.now - .days($0)) }
        _ = try await here.write { try $0.save(samples) }
        #expect(try await engine.sync()["there"]?.issue == nil)
        let gone = samples[1].id
        _ = try await here.write { try $0.delete(id: gone) }
        isGone.withLock { $0 = true }
        if isDisabled { try await engine.disable("there") }
        // Half a year less a day is no silence yet.
        clock.advance(seconds: 179 * 86_400)
        for _ in 0..<2 { _ = try await engine.sync() }
        clock.advance(seconds: 330 * 86_400)
        for _ in 0..<2 {
            #expect(try here.blockingRead { try $0.peer("there") }?.isRetired == false)
            _ = try await engine.sync()
            clock.advance(seconds: 86_401)
        }
        #expect(try here.blockingRead { try $0.peer("there") }?.isRetired == true)
        for _ in 0..<16 {
            clock.advance(seconds: 2 * 86_400)
            let last = Sample(.bodyMass, 91, .kilogram, at: clock.now)
            _ = try await here.write { try $0.save(last) }
            while try here.maintain(budget: .seconds(1)) {}
        }
        #expect(try here.blockingRead { try $0.deletedSample(id: gone) } == nil)
        // What comes back is brought in line.
        isGone.withLock { $0 = false }
        if isDisabled { try await engine.enable("there") }
        for _ in 0..<2 { _ = try await engine.sync() }
        #expect(try here.blockingRead { try $0.peer("there") }?.isRetired == false)
        #expect(try there.blockingRead { try $0.sample(id: gone) } == nil)
        #expect(try here.blockingRead { try $0.syncDigest() } == there.blockingRead { try $0.syncDigest() })
        for store in [here, there] { try store.close() }
    }

    @Test("C27: a clock that is a year ahead for a while retires nobody") func wrongClock() async throws {
        let (clock, health) = (ManualClock(), MemoryHealth())
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let hub = StorePeer(there, id: "there", as: "here")
        let engine = Bench.makeEngine(
            here, [SyncPeer(MemoryHealthPeer(health), plan: .weightTracker), SyncPeer(hub, plan: .everything)], clock)
        for peer in engine.peers { try await engine.enable(peer) }
        func sync(_ name: PeerID) async throws {
            _ = try await engine.sync(name)
            #expect(try here.blockingRead { try $0.peer("there") }?.isRetired == false)
            #expect(try engine.status().peers["there"]?.notices.isEmpty == true)
        }
        func sleep(days: Int) { clock.advance(seconds: days * 86_400) }
        for peer: PeerID in ["health", "there"] { try await sync(peer) }
        for _ in 0..<3 {
            sleep(days: 366)
            // What is written by that clock says nothing for it.
            _ = try await here.write { _ = try $0.save(Sample(.bodyMass, 70, .kilogram, at: clock.now)) }
            try await sync("health")
            // The clock is set right, and is wrong again a month later.
            sleep(days: -366)
            try await sync("health")
            sleep(days: 30)
            try await sync("health")
        }
        sleep(days: 366)
        for peer: PeerID in ["health", "there"] { try await sync(peer) }
        sleep(days: 2)
        try await sync("health")
        for store in [here, there] { try store.close() }
    }

    @Test("C10: a cache gives samples away once every other store has acknowledged them, and fetches nothing again")
    func cache() async throws {
        let clock = ManualClock()
        let health = MemoryHealth()
        var plan = SyncPlan.walkingApp
        plan.types[.stepCount]?.retention = .cache
        let (here, backend) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            here,
            [
                SyncPeer(StorePeer(backend, id: "backend", as: "phone"), plan: .everything),
                SyncPeer(MemoryHealthPeer(health), plan: plan),
            ], clock)
        for peer in engine.peers { try await engine.enable(peer) }
        for hour in 0..<5 {
            let start = clock.now - .seconds(hour * 3_600)
            health.save(
                Sample(
                    .stepCount, 100, .count, from: start, to: start, source: Source(name: "Phone"), origin: .imported))
        }
        _ = try await engine.sync("health")
        #expect(try here.blockingRead { try $0.count(of: .stepCount) } == 5)
        _ = try await engine.sync("backend")
        _ = try await engine.sync("health")
        #expect(try here.blockingRead { try $0.count(of: .stepCount) } == 0)
        _ = try await engine.sync()
        #expect(try backend.blockingRead { try $0.count(of: .stepCount) } == 5)
        #expect(try here.blockingRead { try $0.count(of: .stepCount) } == 0)
        for store in [here, backend] { try store.close() }
    }
}
