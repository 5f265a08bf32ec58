import SyncSupport
import Testing

@testable import HealthKVSync

/// What is unknown on one side was deleted there and forgotten only if it cannot have left in another way (SEMANTICS
/// C27).
@Suite("What left a store without being deleted")
struct LeftWithoutDeletionTests {
    /// A phone that takes steps from Health and gives them to a hub.
    private struct Cache {
        let clock = ManualClock()
        let health = MemoryHealth()
        let (here, hub): (SampleStore, SampleStore)

        init() throws { (here, hub) = (try Bench.makeStore(clock), try Bench.makeStore(clock)) }

        func engine(_ retention: TypePlan.Retention) -> SyncEngine {
            let plan = SyncPlan(types: [.stepCount: TypePlan(.pull, retention: retention)])
            return Bench.makeEngine(
                here,
                [
                    SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything),
                    SyncPeer(MemoryHealthPeer(health), plan: plan),
                ], clock)
        }

        func steps(_ count: Double, hour: Int, sync: String? = nil, version: Int64 = 0) -> Sample {
            let start = clock.now - .seconds(hour * 3_600)
            return Sample(
                .stepCount, count, .count, from: start, to: start, source: Source(name: "Phone"),
                syncIdentifier: sync, version: version, origin: .imported)
        }
    }

    private func scale(_ pair: HubPair, days: Int) -> Sample {
        var sample = pair.weight(80 + Double(days), days: days)
        (sample.source, sample.origin) = (Source(name: "Scale"), .imported)
        return sample
    }

    @Test("C27: what the app purged here stays at a hub that returns", arguments: [true, false])
    func purgedHere(bySource: Bool) async throws {
        let pair = try await HubPair()
        let (imports, own) = ((1...3).map { scale(pair, days: $0) }, pair.weight(70, days: 9))
        _ = try await pair.phone.write { try $0.save(imports + [own]) }
        for _ in 0..<2 { try await pair.sync() }
        _ = try await pair.phone.write { txn in
            if bySource {
                try txn.purge(.source(Source(name: "Scale").identity))
            } else {
                for sample in imports + [own] { try txn.purge(id: sample.id) }
            }
        }
        try await pair.retire("hub", at: pair.phone)
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.hub.blockingRead { try $0.count() } == 4)
        #expect(try pair.phone.blockingRead { try $0.peer("hub") }?.isRetired == false)
        try pair.finish()
    }

    @Test("C27: what a hub purged stays on a phone that was silent for long", arguments: [true, false])
    func purgedAtHub(bySource: Bool) async throws {
        let pair = try await HubPair()
        let (purged, deleted) = ((1...3).map { pair.weight(70, days: $0) }, pair.weight(71, days: 9))
        _ = try await pair.phone.write { try $0.save(purged + [deleted]) }
        for _ in 0..<2 { try await pair.sync() }
        let own = try #require(try pair.phone.blockingRead { try $0.sample(id: purged[0].id) }).source.identity
        _ = try await pair.hub.write { txn in
            // The hub forgets this one, and no longer knows how far the phone had read.
            try txn.delete(id: deleted.id)
            if bySource {
                try txn.purge(.source(own))
            } else {
                for sample in purged { try txn.purge(id: sample.id) }
            }
        }
        try await pair.forgetAtHub()
        for _ in 0..<2 { try await pair.sync() }
        for sample in purged { #expect(try pair.phone.blockingRead { try $0.sample(id: sample.id) } != nil) }
        try pair.finish()
    }

    @Test(
        "C27: what a cache gave away stays at a hub that returns, whatever became of the cache",
        arguments: [true, false])
    func givenAway(isDisconnected: Bool) async throws {
        let trial = try Cache()
        let (here, hub, health) = (trial.here, trial.hub, trial.health)
        let cache = trial.engine(.cache)
        for peer in cache.peers { try await cache.enable(peer) }
        for hour in 1...3 { health.save(trial.steps(100, hour: hour)) }
        for peer: PeerID in ["health", "hub", "health"] { _ = try await cache.sync(peer) }
        #expect(try here.blockingRead { try $0.count() } == 0)
        #expect(try hub.blockingRead { try $0.count() } == 3)
        // They are nowhere else.
        for entry in health.live { health.forget(entry.sample.id) }
        let engine = isDisconnected ? cache : trial.engine(.mirror)
        if isDisconnected {
            _ = try await engine.disconnect("health", purge: false)
        } else {
            _ = try await engine.sync("health")
        }
        try await here.write { txn in
            guard var known = try txn.peer("hub") else { return }
            known.isRetired = true
            try txn.setPeer(known)
        }
        for _ in 0..<2 { _ = try await engine.sync("hub") }
        #expect(try hub.blockingRead { try $0.count() } == 3)
        #expect(try here.blockingRead { try $0.peer("hub") }?.isRetired == false)
        for store in [here, hub] { try store.close() }
    }

    @Test(
        "A27, C10: what Health condenses, or a person deletes, after a cache gave it away goes at the hub as well",
        arguments: ["at once", "as a mirror", "enabled again"])
    func deletedAfterGivenAway(_ way: String) async throws {
        let trial = try Cache()
        let (here, hub, health) = (trial.here, trial.hub, trial.health)
        var engine = trial.engine(.cache)
        for peer in engine.peers { try await engine.enable(peer) }
        func values() throws -> [Double] {
            try hub.read { try $0.samples(of: .stepCount) }.map(\.quantity.value).sorted()
        }
        let parts = (1...4).map { health.save(trial.steps(Double($0), hour: $0)) }
        health.save(trial.steps(50, hour: 9, sync: "walk", version: 1))
        for peer: PeerID in ["health", "hub", "health"] { _ = try await engine.sync(peer) }
        #expect(try here.blockingRead { try $0.count() } == 0)
        #expect(try values() == [1, 2, 3, 4, 50])
        if way == "as a mirror" { engine = trial.engine(.mirror) }
        if way == "enabled again" { _ = try await engine.disconnect("health", purge: false) }
        // Three become one, the person deletes the fourth, and an app replaces its own.
        health.save(trial.steps(6, hour: 1))
        for id in parts { health.delete(id) }
        health.save(trial.steps(60, hour: 9, sync: "walk", version: 2))
        if way == "enabled again" { try await engine.enable("health") }
        for _ in 0..<2 { for peer: PeerID in ["health", "hub", "health"] { _ = try await engine.sync(peer) } }
        #expect(try values() == [6, 60])
        #expect(try here.blockingRead { try $0.count() } == (way == "as a mirror" ? 2 : 0))
        for store in [here, hub] {
            #expect(try store.check().findings.isEmpty)
            try store.close()
        }
    }

    @Test("C27: what a hub refused, and the app gave up, was never given, and stays on the phone") func refused()
        async throws
    {
        let pair = try await HubPair()
        let (refused, given, deleted) = (pair.weight(70, days: 1), pair.weight(71, days: 2), pair.weight(72, days: 3))
        pair.peer.set { $0.sample == refused.id ? .refused(reason: "too heavy") : nil }
        _ = try await pair.phone.write { try $0.save([refused, given, deleted]) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.hub.blockingRead { try $0.count() } == 2)
        let waiting = try #require(try pair.phone.blockingRead { try $0.pending(for: "hub") }.first)
        #expect(try await pair.engine.discard(waiting.id))
        _ = try await pair.hub.write { try $0.delete(id: deleted.id) }
        try await pair.forgetAtHub()
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.phone.blockingRead { try $0.sample(id: refused.id) } != nil)
        #expect(try pair.phone.blockingRead { try $0.sample(id: deleted.id) } == nil)
        try pair.finish()
    }

    @Test("C27: what a hub took after it had refused it once was given") func takenLater() async throws {
        let pair = try await HubPair()
        let (sample, deleted) = (pair.weight(70, days: 1), pair.weight(72, days: 3))
        pair.peer.set { $0.sample == sample.id ? .refused(reason: "too heavy") : nil }
        _ = try await pair.phone.write { try $0.save([sample, deleted]) }
        try await pair.sync()
        let waiting = try #require(try pair.phone.blockingRead { try $0.pending(for: "hub") }.first)
        #expect(try await pair.engine.discard(waiting.id))
        pair.peer.set(nil)
        let edited = pair.weight(60, days: 1, id: sample.id)
        _ = try await pair.phone.write { try $0.save(edited) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.isEqual)
        _ = try await pair.hub.write { txn in for id in [sample.id, deleted.id] { try txn.delete(id: id) } }
        try await pair.forgetAtHub()
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.phone.blockingRead { try $0.sample(id: sample.id) } == nil)
        #expect(try pair.isEqual)
        try pair.finish()
    }
}
