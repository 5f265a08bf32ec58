import SyncSupport
import Testing

@testable import HealthKVSync

/// What becomes of a sample that another store holds in a greater version than it is sent.
@Suite("Samples that are overtaken at a store") struct OvertakenTests {
    /// A phone and a hub, where something happens at the hub between the phone's pull and its push.
    private struct Pair {
        let clock = ManualClock()
        let (phone, hub): (SampleStore, SampleStore)
        let peer: InterruptedPeer
        let engine: SyncEngine
        let id = SampleID()

        init() async throws {
            (phone, hub) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
            peer = InterruptedPeer(StorePeer(hub, id: "hub", as: "phone"))
            engine = Bench.makeEngine(phone, [SyncPeer(peer, plan: .everything)], clock)
            try await engine.enable("hub")
            try save(70, in: phone)
            try await sync()
            #expect(try weights(hub) == [70])
        }

        func save(_ kilograms: Double, in store: SampleStore) throws {
            clock.advance(seconds: 60)
            let sample = Sample(
                .bodyMass, kilograms, .kilogram, at: Instant(nanoseconds: 799_000_000_000_000_000), id: id)
            try store.write { _ = try $0.save(sample) }
        }

        func delete(in store: SampleStore) throws { try store.write { _ = try $0.delete(id: id) } }

        func sync() async throws { #expect(try await engine.sync()["hub"]?.issue == nil) }

        func weights(_ store: SampleStore) throws -> [Double] {
            try store.blockingRead { try $0.samples(SampleQuery(.bodyMass)) }.map(\.quantity.value)
        }

        func conflicts() throws -> [SyncConflict] { try phone.blockingRead { try $0.conflicts() } }

        func finish() throws {
            for store in [phone, hub] {
                #expect(try store.check().findings.isEmpty)
                try store.close()
            }
        }
    }

    @Test("An edit that was sent, and that an edit of the same version replaces at the hub, is kept in the audit")
    func replacedAtHub() async throws {
        let clock = ManualClock()
        let (hub, one, other) = (try Bench.makeStore(clock), try Bench.makeStore(clock), try Bench.makeStore(clock))
        func engine(_ store: SampleStore, _ name: PeerID) -> SyncEngine {
            Bench.makeEngine(store, [SyncPeer(StorePeer(hub, id: "hub", as: name), plan: .everything)], clock)
        }
        let (first, second) = (engine(one, "one"), engine(other, "other"))
        let id = SampleID()
        func save(_ kilograms: Double, in store: SampleStore) async throws {
            clock.advance(seconds: 60)
            let start = Instant(nanoseconds: 799_000_000_000_000_000)
            try await store.write { _ = try $0.save(Sample(.bodyMass, kilograms, .kilogram, at: start, id: id)) }
        }
        for engine in [first, second] { try await engine.enable("hub") }
        try await save(70, in: one)
        for engine in [first, second] { _ = try await engine.sync() }
        try await save(71, in: other)
        _ = try await second.sync()
        try await save(72, in: one)
        // As after a commit, where no wake-up tells of what the hub has.
        _ = try await first.session("hub").inTurn { try await $0.pass(PassRequest(pulls: false)) }
        for _ in 0..<2 { _ = try await second.sync() }
        #expect(try await other.read { try $0.sample(id: id) }?.quantity.value == 72)
        #expect(try await other.read { try $0.conflicts() }.map(\.displaced.quantity.value) == [71])
        for store in [hub, one, other] { try store.close() }
    }

    @Test("An edit that loses to a later one is kept in the audit, although it was sent before that one was pulled")
    func audited() async throws {
        let pair = try await Pair()
        try pair.save(71, in: pair.phone)
        pair.peer.beforePush {
            for kilograms in [72.0, 73] { try pair.save(kilograms, in: pair.hub) }
            return nil
        }
        for _ in 0..<3 { try await pair.sync() }
        #expect(try pair.weights(pair.phone) == [73])
        #expect(try pair.weights(pair.hub) == [73])
        #expect(try pair.conflicts().map(\.displaced.quantity.value) == [71])
        // Nothing of it is left: the next edit is no conflict.
        try pair.save(74, in: pair.hub)
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.weights(pair.phone) == [74])
        #expect(try pair.conflicts().count == 1)
        #expect(try pair.phone.blockingRead { try $0.links(of: "hub") }.isEmpty)
        try pair.finish()
    }

    @Test("An edit that loses to a deletion is kept in the audit, although it was sent before that one was pulled")
    func auditedDeletion() async throws {
        let pair = try await Pair()
        try pair.save(71, in: pair.phone)
        pair.peer.beforePush {
            for kilograms in [72.0, 73] { try pair.save(kilograms, in: pair.hub) }
            try pair.delete(in: pair.hub)
            return nil
        }
        for _ in 0..<3 { try await pair.sync() }
        #expect(try pair.weights(pair.phone).isEmpty)
        #expect(try pair.weights(pair.hub).isEmpty)
        #expect(try pair.conflicts().map(\.displaced.quantity.value) == [71])
        try pair.finish()
    }

    @Test("After a purge and a new connection to HealthKit an edit over an import comes back from the hub")
    func reconnected() async throws {
        let clock = ManualClock()
        let (health, phone, hub) = (MemoryHealth(), try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            phone,
            [
                SyncPeer(MemoryHealthPeer(health), plan: .weightTracker),
                SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything),
            ], clock)
        for days in 1...3 {
            let time = clock.now - .days(days)
            health.save(
                Sample(
                    .bodyMass, 60 + Double(days), .kilogram, from: time, to: time, source: Source(name: "Scale"),
                    origin: .imported))
        }
        for peer in engine.peers { try await engine.enable(peer) }
        for _ in 0..<2 { _ = try await engine.sync() }
        func weights(_ store: SampleStore) throws -> [Double] {
            try store.blockingRead { try $0.samples(SampleQuery(.bodyMass)) }.map(\.quantity.value).sorted()
        }
        let edited = try #require(try phone.blockingRead { try $0.samples(SampleQuery(.bodyMass)) }.first)
        clock.advance(seconds: 60)
        _ = try await phone.write { try $0.overlay(id: edited.id) { $0.quantity.value = 80 } }
        for _ in 0..<2 { _ = try await engine.sync() }
        #expect(try weights(hub) == [61, 62, 80])
        #expect(try await engine.disconnect("health", purge: true) == 3)
        clock.advance(seconds: 60)
        try await engine.enable("health")
        for _ in 0..<4 {
            clock.advance(seconds: 60)
            _ = try await engine.sync()
        }
        #expect(try weights(phone) == [61, 62, 80])
        #expect(try weights(hub) == [61, 62, 80])
        #expect(try phone.blockingRead { try $0.links(of: "hub") }.isEmpty)
        for store in [phone, hub] {
            #expect(try store.check().findings.isEmpty)
            try store.close()
        }
    }
}
