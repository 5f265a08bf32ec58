import SyncSupport
import Testing

@testable import HealthKVSync

/// What one side has forgotten, undone or not been told, while the other side goes on.
@Suite("Stores as peers: forgotten deletions, undone ones, names that were lost")
struct StoreHazardTests {
    /// Nothing of the plan is pulled in the foreground, so the peer cannot be brought in line in that pass.
    @Test("C27: a pass that pulls nothing does not bring back what was deleted while a hub was retired")
    func retiredAndPushOnly() async throws {
        let pair = try await HubPair(SyncPlan(types: [:], others: TypePlan(.both, triggers: [.onChange])))
        let samples = (0..<3).map { pair.weight(70 + Double($0), days: $0) }
        _ = try await pair.phone.write { try $0.save(samples) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.hub.blockingRead { try $0.count() } == 3)
        let gone = samples[1].id
        try await pair.forgetAtPhone { try $0.delete(id: gone) }
        #expect(try pair.phone.blockingRead { try $0.deletedSample(id: gone) } == nil)
        // The app comes to the foreground, and the hub is there again.
        _ = try await pair.engine.enterForeground()
        #expect(try pair.phone.blockingRead { try $0.sample(id: gone) } == nil)
        for _ in 0..<2 { try await pair.sync() }
        for store in [pair.phone, pair.hub] {
            #expect(try store.blockingRead { try $0.sample(id: gone) } == nil)
        }
        #expect(try pair.isEqual)
        try pair.finish()
    }

    /// The hub is not silent, but what the phone sends stands still: the phone forgets deletions that it never sent.
    @Test("C27: what was deleted while only the hub's engine ran does not come back with the phone's own engine")
    func staleMark() async throws {
        let pair = try await HubPair()
        // The hub's own engine takes and sends weights only.
        let hub = Bench.makeEngine(
            pair.hub, [SyncPeer(StorePeer(pair.phone, id: "phone", as: "hub"), plan: .weightTracker)], pair.clock)
        try await hub.enable("phone")
        let steps = Sample(.stepCount, 4_321, .count, at: Instant(nanoseconds: 799_000_000_000_000_000))
        _ = try await pair.phone.write { try $0.save(steps) }
        for _ in 0..<2 {
            try await pair.sync()
            #expect(try await hub.sync()["phone"]?.issue == nil)
        }
        #expect(try pair.hub.blockingRead { try $0.sample(id: steps.id) } != nil)
        // From now on only the hub's engine runs. The deletion is not its business.
        _ = try await pair.phone.write { try $0.delete(id: steps.id) }
        pair.clock.advance(seconds: 502 * 86_400)
        let id = SampleID()
        for day in 0..<18 {
            let weight = pair.weight(99 + Double(day), days: 0, id: id)
            _ = try await pair.phone.write { try $0.save(weight) }
            #expect(try await hub.sync()["phone"]?.issue == nil)
            while try pair.phone.maintain(budget: .seconds(1)) {}
            pair.clock.advance(seconds: 2 * 86_400)
        }
        #expect(try pair.phone.blockingRead { try $0.peer("hub") }?.isRetired == false)
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.phone.blockingRead { try $0.sample(id: steps.id) } == nil)
        #expect(try pair.hub.blockingRead { try $0.sample(id: steps.id) } == nil)
        try pair.finish()
    }

    /// Reading ends the retirement of a reader, but what the hub's engine sends still lacks the deletion.
    @Test("C27: what a hub deleted while a phone was silent does not come back because the phone reads first")
    func retirementEndedByReader() async throws {
        let pair = try await HubPair(SyncPlan(types: [:], others: TypePlan(.pull)))
        let hub = Bench.makeEngine(
            pair.hub, [SyncPeer(StorePeer(pair.phone, id: "phone", as: "hub"), plan: .everything)], pair.clock)
        try await hub.enable("phone")
        let sample = pair.weight(70, days: 1)
        _ = try await pair.hub.write { try $0.save(sample) }
        for _ in 0..<2 {
            try await pair.sync()
            #expect(try await hub.sync()["phone"]?.issue == nil)
        }
        #expect(try pair.phone.blockingRead { try $0.sample(id: sample.id) } != nil)
        // The phone is silent; the hub deletes, retires the phone, and forgets.
        _ = try await pair.hub.write { try $0.delete(id: sample.id) }
        try await pair.forgetAtHub()
        #expect(try pair.hub.blockingRead { try $0.deletedSample(id: sample.id) } == nil)
        #expect(try pair.hub.blockingRead { try $0.peer("phone") }?.isRetired == true)
        try await pair.sync()
        for _ in 0..<2 { #expect(try await hub.sync()["phone"]?.issue == nil) }
        #expect(try pair.hub.blockingRead { try $0.sample(id: sample.id) } == nil)
        try pair.finish()
    }

    /// A place after a commit without changes outlasts the record of the commit before it.
    @Test("C28: a hub that nobody put back does not take itself for put back, after a deletion was forgotten")
    func falselyForked() async throws {
        let clock = ManualClock()
        let hub = try Bench.makeStore(clock, app: "hub") {
            $0.tombstoneDays = 0
            ($0.limits.changeRecords, $0.limits.changeRecordsPerStep) = (6, 64)
        }
        let (phone, tablet) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        func engine(_ store: SampleStore, _ name: PeerID) -> SyncEngine {
            Bench.makeEngine(store, [SyncPeer(StorePeer(hub, id: "hub", as: name), plan: .everything)], clock)
        }
        let (ofPhone, ofTablet) = (engine(phone, "phone"), engine(tablet, "tablet"))
        for engine in [ofPhone, ofTablet] { try await engine.enable("hub") }
        func save(_ store: SampleStore, _ value: Double) throws -> SampleID {
            let sample = Sample(.bodyMass, value, .kilogram, at: clock.now)
            clock.advance(seconds: 60)
            try store.write { _ = try $0.save(sample) }
            return sample.id
        }
        _ = try save(hub, 70)
        let gone = try save(hub, 71)
        for _ in 0..<2 { for engine in [ofPhone, ofTablet] { _ = try await engine.sync() } }
        #expect(try phone.blockingRead { try $0.count() } == 2)
        _ = try await hub.write { try $0.delete(id: gone) }
        // The tablet acknowledges it, in a commit without changes; the phone's place is after that commit.
        _ = try await ofTablet.sync()
        _ = try await ofPhone.sync()
        #expect(try phone.blockingRead { try $0.count() } == 1)
        // From now on the phone writes, and reads nothing new.
        for value in 0..<10 {
            _ = try save(phone, 80 + Double(value))
            _ = try await ofPhone.sync()
        }
        _ = try await ofTablet.sync()
        let replica = try hub.info().replica
        clock.advance(seconds: 2 * 86_400)
        while try hub.maintain() {}
        #expect(try hub.blockingRead { try $0.deletedSample(id: gone) } == nil)
        _ = try await ofPhone.sync()
        #expect(try hub.info().replica == replica)
        #expect(try ofPhone.status().peers["hub"]?.notices.isEmpty == true)
        _ = try await ofTablet.sync()
        #expect(try ofTablet.status().peers["hub"]?.notices.isEmpty == true)
        for store in [hub, phone, tablet] { try store.close() }
    }

    /// Hiding has the greatest version, so the hub's tombstone refuses the import for good. It is not told again.
    @Test("C34: an import whose deletion was undone here stays here, though the hub was told of the deletion")
    func undeletedImport() async throws {
        let pair = try await HubPair()
        var scale = pair.weight(72, days: 1)
        (scale.source, scale.origin) = (Source(name: "Scale"), .imported)
        let sample = scale
        _ = try await pair.phone.write { try $0.save(sample) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.hub.blockingRead { try $0.sample(id: sample.id) } != nil)
        _ = try await pair.phone.write { try $0.delete(id: sample.id) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.hub.blockingRead { try $0.sample(id: sample.id) } == nil)
        let back = try await pair.phone.write { try $0.undelete(id: sample.id) }
        #expect(back != nil)
        for _ in 0..<3 { try await pair.sync() }
        #expect(try pair.phone.blockingRead { try $0.sample(id: sample.id) } != nil)
        try pair.finish()
    }

    @Test("C10: a cache waits for a store that reads by itself, too")
    func cacheAndReader() async throws {
        let (clock, health) = (ManualClock(), MemoryHealth())
        var plan = SyncPlan.walkingApp
        plan.types[.stepCount]?.retention = .cache
        let (here, backend, tablet) = (
            try Bench.makeStore(clock), try Bench.makeStore(clock), try Bench.makeStore(clock)
        )
        let engine = Bench.makeEngine(
            here,
            [
                SyncPeer(StorePeer(backend, id: "backend", as: "phone"), plan: .everything),
                SyncPeer(MemoryHealthPeer(health), plan: plan),
            ], clock)
        for peer in engine.peers { try await engine.enable(peer) }
        let ofTablet = Bench.makeEngine(
            tablet, [SyncPeer(StorePeer(here, id: "phone", as: "tablet"), plan: .everything)], clock)
        try await ofTablet.enable("phone")
        // A sample of the app, so that the tablet has something to acknowledge.
        let weight = Sample(.bodyMass, 70, .kilogram, at: clock.now - .days(1))
        _ = try await here.write { try $0.save(weight) }
        for _ in 0..<2 { _ = try await ofTablet.sync() }
        #expect(try here.blockingRead { try $0.peer("tablet") } != nil)
        for hour in 0..<3 {
            let start = clock.now - .seconds(hour * 3_600)
            health.save(
                Sample(
                    .stepCount, 100, .count, from: start, to: start, source: Source(name: "Phone"), origin: .imported))
        }
        for peer: PeerID in ["health", "backend", "health"] { _ = try await engine.sync(peer) }
        #expect(try backend.blockingRead { try $0.count(of: .stepCount) } == 3)
        for _ in 0..<2 { _ = try await ofTablet.sync() }
        #expect(try tablet.blockingRead { try $0.count(of: .stepCount) } == 3)
        for store in [here, backend, tablet] { try store.close() }
    }

    @Test("C10: a cache without a store that takes its type keeps it, though another one reads the rest")
    func cacheWithoutTakers() async throws {
        let (clock, health) = (ManualClock(), MemoryHealth())
        var plan = SyncPlan.walkingApp
        plan.types[.stepCount]?.retention = .cache
        let (here, tablet) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(here, [SyncPeer(MemoryHealthPeer(health), plan: plan)], clock)
        try await engine.enable("health")
        let ofTablet = Bench.makeEngine(
            tablet,
            [
                SyncPeer(
                    StorePeer(here, id: "phone", as: "tablet"), plan: SyncPlan(types: [.bodyMass: TypePlan(.pull)]))
            ], clock)
        try await ofTablet.enable("phone")
        let start = clock.now - .seconds(3_600)
        health.save(
            Sample(.stepCount, 100, .count, from: start, to: start, source: Source(name: "Phone"), origin: .imported))
        _ = try await engine.sync()
        _ = try await here.write { try $0.save(Sample(.bodyMass, 70, .kilogram, at: start)) }
        for _ in 0..<2 { _ = try await ofTablet.sync() }
        for _ in 0..<2 { _ = try await engine.sync() }
        #expect(try tablet.blockingRead { try $0.count(of: .bodyMass) } == 1)
        #expect(try here.blockingRead { try $0.count(of: .stepCount) } == 1)
        for store in [here, tablet] { try store.close() }
    }

    @Test("A device that has just lost its name does not make the hub begin an epoch")
    func lostName() async throws {
        let clock = ManualClock()
        let hub = try Bench.makeStore(clock, app: "hub")
        let (first, second) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let peer = InterruptedPeer(StorePeer(hub, id: "hub", as: "phone"))
        let ofFirst = Bench.makeEngine(first, [SyncPeer(peer, plan: .everything)], clock)
        let ofSecond = Bench.makeEngine(
            second, [SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything)], clock)
        try await ofFirst.enable("hub")
        try await ofSecond.enable("hub")
        func save(_ store: SampleStore, _ value: Double) throws {
            let sample = Sample(.bodyMass, value, .kilogram, at: clock.now)
            clock.advance(seconds: 60)
            try store.write { _ = try $0.save(sample) }
        }
        try save(first, 70)
        try save(second, 80)
        for _ in 0..<2 { _ = try await ofFirst.sync() }
        #expect(try hub.blockingRead { try $0.count() } == 1)
        let replica = try hub.info().replica
        try save(first, 71)
        peer.beforePush {
            _ = try await ofSecond.sync()
            return nil
        }
        _ = try await ofFirst.sync()
        #expect(try hub.blockingRead { try $0.count() } >= 2)
        #expect(try hub.info().replica == replica)
        _ = try await ofSecond.sync()
        #expect(try hub.info().replica == replica)
        #expect(try ofSecond.status().peers["hub"]?.notices.contains(where: { $0.code == .peerRestored }) == false)
        for store in [hub, first, second] { try store.close() }
    }
}
