import SyncSupport
import Testing

@testable import HealthKVSync

/// A phone's store, whose engine syncs with a hub that has no engine.
struct HubPair {
    let clock = ManualClock()
    let phone: SampleStore
    let hub: SampleStore
    let peer: OutcomePeer
    let engine: SyncEngine

    init(_ plan: SyncPlan = .everything) async throws {
        (phone, hub) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        peer = OutcomePeer(StorePeer(hub, id: "hub", as: "phone"))
        engine = Bench.makeEngine(phone, [SyncPeer(peer, plan: plan)], clock)
        try await engine.enable("hub")
    }

    func weight(_ kilograms: Double, days: Int, id: SampleID = SampleID()) -> Sample {
        Sample(
            .bodyMass, kilograms, .kilogram, at: Instant(nanoseconds: 799_000_000_000_000_000) - .days(days), id: id
        )
    }

    func sync() async throws { try await sync(engine) }

    func sync(_ engine: SyncEngine) async throws { #expect(try await engine.sync()["hub"]?.issue == nil) }

    /// The app starts with another plan.
    func restarted(_ plan: SyncPlan) -> SyncEngine { Bench.makeEngine(phone, [SyncPeer(peer, plan: plan)], clock) }

    /// The hub no longer keeps tombstones for the phone, and forgets those it has.
    func forgetAtHub() async throws {
        try await retire("phone", at: hub)
        try await forget(at: hub)
    }

    /// The phone takes the hub for silent, changes something that the hub is not told of, and forgets its tombstones.
    func forgetAtPhone(_ change: @escaping @Sendable (inout WriteTransaction) throws -> Void) async throws {
        try await retire("hub", at: phone)
        try await phone.write(change)
        try await forget(at: phone)
    }

    func retire(_ name: PeerID, at store: SampleStore) async throws {
        try await store.write { txn in
            guard var peer = try txn.peer(name) else { return }
            peer.isRetired = true
            try txn.setPeer(peer)
        }
    }

    private func forget(at store: SampleStore) async throws {
        clock.advance(seconds: 502 * 86_400)
        // Tombstones are pruned by a clock that something was written by and that is believed thirty days at a time.
        let id = SampleID()
        for day in 0..<18 {
            let sample = weight(99 + Double(day), days: 0, id: id)
            _ = try await store.write { try $0.save(sample) }
            while try store.maintain(budget: .seconds(1)) {}
            clock.advance(seconds: 2 * 86_400)
        }
    }

    var isEqual: Bool {
        get throws { try phone.read { try $0.syncDigest() } == hub.read { try $0.syncDigest() } }
    }

    func finish() throws {
        for store in [phone, hub] {
            let report = try store.check()
            #expect(report.findings.isEmpty, "\(report.findings)")
            try store.close()
        }
    }
}
