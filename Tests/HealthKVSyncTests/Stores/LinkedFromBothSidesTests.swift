import Synchronization
import SyncSupport
import TestSupport
import Testing

@testable import HealthKVSync

/// Two stores that sync from both sides under one pair of names (docs/PEERS.md, "Names"), with plans that differ.
/// How far the other one read our feed, and how far it was sent to it, are two marks.
@Suite("Links from both sides, whose plans differ")
struct LinkedFromBothSidesTests {
    /// Plans of the hub that do not send steps.
    private static let notSending = [
        SyncPlan.weightTracker,
        SyncPlan(types: [:], others: TypePlan(.pull)),
        SyncPlan(types: [.stepCount: TypePlan(.pull)], others: TypePlan(.both)),
    ]

    /// Plans of the hub that do not take steps.
    private static let notTaking = [
        SyncPlan.weightTracker,
        SyncPlan(types: [.stepCount: TypePlan(.push)], others: TypePlan(.both)),
    ]

    /// The hub's own engine, which knows the phone by the name that the phone gives itself there.
    private func hubEngine(_ pair: HubPair, _ plan: SyncPlan) async throws -> SyncEngine {
        let engine = Bench.makeEngine(
            pair.hub, [SyncPeer(StorePeer(pair.phone, id: "phone", as: "hub"), plan: plan)], pair.clock)
        try await engine.enable("phone")
        return engine
    }

    private func syncHub(_ engine: SyncEngine) async throws {
        #expect(try await engine.sync()["phone"]?.issue == nil)
    }

    private func syncBoth(_ pair: HubPair, _ hub: SyncEngine, _ rounds: Int) async throws {
        for _ in 0..<rounds {
            try await pair.sync()
            try await syncHub(hub)
        }
    }

    /// Two stores that have met from both sides.
    private func met(_ plan: SyncPlan) async throws -> (pair: HubPair, hub: SyncEngine) {
        let pair = try await HubPair()
        let hub = try await hubEngine(pair, plan)
        try await syncBoth(pair, hub, 2)
        return (pair, hub)
    }

    private func steps(_ pair: HubPair) -> Sample {
        Sample(.stepCount, 4_321, .count, at: Instant(nanoseconds: 799_000_000_000_000_000))
    }

    @Test("What the hub's engine does not send is still read by the phone's", arguments: notSending)
    func read(_ plan: SyncPlan) async throws {
        let (pair, hub) = try await met(plan)
        let sample = steps(pair)
        _ = try await pair.hub.write { try $0.save(sample) }
        // The hub sends nothing of it, but notes that the phone has seen the change.
        try await syncHub(hub)
        try await syncBoth(pair, hub, 3)
        #expect(try pair.phone.blockingRead { try $0.count(of: .stepCount) } == 1)
        #expect(try pair.isEqual)
        try pair.finish()
    }

    @Test("A deletion that the hub's engine does not send is still read by the phone's", arguments: notSending)
    func deletion(_ plan: SyncPlan) async throws {
        let pair = try await HubPair()
        let hub = try await hubEngine(pair, plan)
        let sample = steps(pair)
        _ = try await pair.phone.write { try $0.save(sample) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.hub.blockingRead { try $0.count(of: .stepCount) } == 1)
        _ = try await pair.hub.write { try $0.delete(id: sample.id) }
        try await syncHub(hub)
        try await syncBoth(pair, hub, 3)
        #expect(try pair.phone.blockingRead { try $0.count(of: .stepCount) } == 0)
        #expect(try pair.isEqual)
        try pair.finish()
    }

    @Test("What the hub's engine does not take is still sent by the phone's", arguments: notTaking)
    func sent(_ plan: SyncPlan) async throws {
        let (pair, hub) = try await met(plan)
        let sample = steps(pair)
        _ = try await pair.phone.write { try $0.save(sample) }
        // The hub reads past it, and acknowledges the phone's feed.
        try await syncHub(hub)
        for _ in 0..<3 { try await pair.sync() }
        #expect(try pair.hub.blockingRead { try $0.count(of: .stepCount) } == 1)
        #expect(try pair.isEqual)
        try pair.finish()
    }

    @Test("C27: a returning hub does not lose what the phone was never told", arguments: notSending)
    func welcomedBack(_ plan: SyncPlan) async throws {
        let (pair, hub) = try await met(plan)
        let sample = steps(pair)
        _ = try await pair.hub.write { try $0.save(sample) }
        try await syncHub(hub)
        try await pair.retire("hub", at: pair.phone)
        for _ in 0..<2 { try await pair.sync() }
        // Nobody has deleted it.
        #expect(try pair.hub.blockingRead { try $0.sample(id: sample.id) } != nil)
        try pair.finish()
    }

    @Test("C27: a returning phone does not lose what the hub was never given", arguments: notTaking)
    func neverGiven(_ plan: SyncPlan) async throws {
        let pair = try await HubPair()
        let hub = try await hubEngine(pair, plan)
        let weight = pair.weight(70, days: 1)
        _ = try await pair.phone.write { try $0.save(weight) }
        for _ in 0..<2 {
            try await pair.sync()
            try await syncHub(hub)
        }
        let sample = steps(pair)
        _ = try await pair.phone.write { try $0.save(sample) }
        try await syncHub(hub)
        // A deletion that the hub forgets, so that the phone's place expires.
        _ = try await pair.hub.write { try $0.delete(id: weight.id) }
        try await pair.forgetAtHub()
        for _ in 0..<2 { try await pair.sync() }
        // Nobody has deleted it.
        #expect(try pair.phone.blockingRead { try $0.sample(id: sample.id) } != nil)
        try pair.finish()
    }
}

/// Holds the hub that is open.
private final class OpenHub: Sendable {
    private let store: Mutex<SampleStore>
    init(_ store: SampleStore) { self.store = Mutex(store) }
    var value: SampleStore {
        get { store.withLock { $0 } }
        set { store.withLock { $0 = newValue } }
    }
}

@Suite("A hub that is put back between the meeting and the push of one pass")
struct PutBackInAPassTests {
    @Test("C28: what a hub lost reaches it again, though it was put back after both had met", arguments: [false, true])
    func betweenMeetingAndPush(isBeforePass: Bool) async throws {
        let (clock, folder) = (ManualClock(), TemporaryFolder())
        let path = folder.path + "/hub"
        let phone = try Bench.makeStore(clock)
        let hub = OpenHub(try Bench.makeStore(clock, app: "hub", at: path))
        let peer = InterruptedPeer(StorePeer(hub.value, id: "hub", as: "phone"))
        let engine = Bench.makeEngine(phone, [SyncPeer(peer, plan: .everything)], clock)
        try await engine.enable("hub")
        func save(_ value: Double) throws -> SampleID {
            let sample = Sample(.bodyMass, value, .kilogram, at: clock.now)
            clock.advance(seconds: 60)
            try phone.write { _ = try $0.save(sample) }
            return sample.id
        }
        let first = try save(70)
        for _ in 0..<3 { _ = try await engine.sync() }

        // The state to which the hub is put back.
        try hub.value.close()
        let copy = try FileCopy(of: path + "/data.mdb")
        hub.value = try Bench.makeStore(clock, app: "hub", at: path)
        let second = try save(71)
        // As the app starts again, on the hub that is open now.
        let ready = InterruptedPeer(StorePeer(hub.value, id: "hub", as: "phone"))
        let next = Bench.makeEngine(phone, [SyncPeer(ready, plan: .everything)], clock)
        #expect(try await next.sync()["hub"]?.issue == nil)
        #expect(try hub.value.blockingRead { try $0.sample(id: second) } != nil)

        let third = try save(72)
        let putBack: @Sendable () throws -> StorePeer = {
            try hub.value.close()
            try copy.write(over: path + "/data.mdb", keepsAttribute: false)
            hub.value = try Bench.makeStore(clock, app: "hub", at: path)
            return StorePeer(hub.value, id: "hub", as: "phone")
        }
        var last = next
        if isBeforePass {
            // The control: the same, but noticed, because both meet afterwards.
            let after = InterruptedPeer(try putBack())
            last = Bench.makeEngine(phone, [SyncPeer(after, plan: .everything)], clock)
        } else {
            ready.beforePush(putBack)
        }
        for _ in 0..<4 { _ = try await last.sync() }
        for id in [first, second, third] {
            #expect(try hub.value.blockingRead { try $0.sample(id: id) } != nil)
            #expect(try phone.blockingRead { try $0.sample(id: id) } != nil)
        }
        #expect(try phone.blockingRead { try $0.syncDigest() } == hub.value.blockingRead { try $0.syncDigest() })
        try hub.value.close()
        try phone.close()
    }
}
