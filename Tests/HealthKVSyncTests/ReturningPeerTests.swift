import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Stores that meet again after a long time")
struct ReturningPeerTests {
    /// A phone's store, whose engine syncs with a hub that has no engine.
    private struct Pair {
        let clock = ManualClock()
        let phone: SampleStore
        let hub: SampleStore
        let peer: OutcomePeer
        let engine: SyncEngine

        init(_ plan: SyncPlan = .everything) async throws {
            (phone, hub) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
            peer = OutcomePeer(StorePeer(hub, name: "hub", as: "phone"))
            engine = Bench.makeEngine(phone, [SyncPeer(peer, plan: plan)], clock)
            try await engine.enable("hub")
        }

        func weight(_ kilograms: Double, days: Int, id: SampleID = SampleID()) -> Sample {
            Sample(
                .bodyMass, kilograms, .kilogram, at: Instant(nanoseconds: 799_000_000_000_000_000) - .days(days), id: id
            )
        }

        func sync() async throws { #expect(try await engine.sync()["hub"]?.issue == nil) }

        /// The hub no longer keeps tombstones for the phone, and forgets those it has.
        func forget() async throws {
            _ = try await hub.write { txn in
                guard var phone = try txn.peer("phone") else { return }
                phone.isRetired = true
                try txn.setPeer(phone)
            }
            clock.advance(seconds: 502 * 86_400)
            // Tombstones are pruned by a clock that something was written by.
            let sample = weight(99, days: 0)
            _ = try await hub.write { try $0.save(sample) }
            while try hub.maintain(budget: .seconds(1)) {}
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

    @Test(
        "C27: what a hub deleted and forgot does not live there again when a phone that was silent for long comes back")
    func forgottenAtHub() async throws {
        let pair = try await Pair()
        let samples = (0..<5).map { pair.weight(70 + Double($0), days: $0) }
        _ = try await pair.phone.write { try $0.save(samples) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.hub.read { try $0.count() } == 5)
        let (gone, edited) = (samples[1].id, samples[2].id)
        _ = try await pair.hub.write { txn in for id in [gone, edited] { try txn.delete(id: id) } }
        try await pair.forget()
        #expect(try pair.hub.read { try $0.deletedSample(id: gone) } == nil)
        // What was written on the phone meanwhile is the phone's to tell.
        let (edit, new) = (pair.weight(60, days: 2, id: edited), pair.weight(61, days: 30))
        _ = try await pair.phone.write { try $0.save([edit, new]) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.phone.read { try $0.sample(id: gone) } == nil)
        #expect(try pair.hub.read { try $0.sample(id: gone) } == nil)
        for id in [edited, new.id] { #expect(try pair.hub.read { try $0.sample(id: id) } != nil) }
        #expect(try pair.isEqual)
        #expect(try pair.phone.read { try $0.count() } == 6)
        #expect(try pair.phone.read { try $0.conflicts() }.map(\.displaced.id) == [gone])
        #expect(try pair.hub.read { try $0.peer("phone") }?.isRetired == false)
        try pair.finish()
    }

    @Test("C27: what left a hub without being deleted stays on the phone") func purgedAtHub() async throws {
        let pair = try await Pair()
        var scale = pair.weight(72, days: 1)
        (scale.source, scale.origin) = (Source(name: "Scale"), .imported)
        let (imported, own) = (scale, pair.weight(70, days: 2))
        _ = try await pair.phone.write { _ = try $0.save([imported, own]) }
        for _ in 0..<2 { try await pair.sync() }
        _ = try await pair.hub.write { txn in
            try txn.notePurged(.bodyMass, imported.source.identity)
            try txn.purge(id: imported.id)
            try txn.delete(id: own.id)
        }
        try await pair.forget()
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.phone.read { try $0.sample(id: imported.id) } != nil)
        #expect(try pair.phone.read { try $0.sample(id: own.id) } == nil)
        try pair.finish()
    }

    @Test("Another store in the hub's place is asked for nothing that was deleted") func otherHub() async throws {
        let pair = try await Pair()
        let other = try Bench.makeStore(pair.clock)
        let (peer, sample) = (StorePeer(other, name: "hub", as: "phone"), pair.weight(70, days: 1))
        let token = try pair.hub.read { $0.currentToken }
        #expect(try await peer.forgotten(among: [sample], since: FeedPlace(token: token).bytes) == nil)
        let own = try other.read { $0.currentToken }
        #expect(try await peer.forgotten(among: [sample], since: FeedPlace(token: own).bytes) == [sample.id])
        try other.close()
        try pair.finish()
    }

    @Test("C27: who reads is not silent, though there is nothing new") func quietReader() async throws {
        let pair = try await Pair()
        let sample = pair.weight(70, days: 1)
        _ = try await pair.hub.write { try $0.save(sample) }
        for _ in 0..<2 { try await pair.sync() }
        pair.clock.advance(seconds: 200 * 86_400)
        _ = try await pair.hub.write { txn in
            guard var phone = try txn.peer("phone") else { return }
            phone.isRetired = true
            try txn.setPeer(phone)
        }
        try await pair.sync()
        let known = try #require(try pair.hub.read { try $0.peer("phone") })
        #expect(!known.isRetired)
        #expect(known.lastSeen == pair.clock.now)
        // Upkeep would commit while it is quiet.
        while try pair.hub.maintain() {}
        let commit = try pair.hub.info().commit
        try await pair.sync()
        #expect(try pair.hub.info().commit == commit)
        try pair.finish()
    }

    @Test("C27: what was written at a returning peer while it is looked through is no deletion") func writtenMeanwhile()
        async throws
    {
        let pair = try await Pair()
        let samples = (0..<3).map { pair.weight(70 + Double($0), days: $0) }
        _ = try await pair.phone.write { try $0.save(samples) }
        for _ in 0..<2 { try await pair.sync() }
        // Gone here without a tombstone, as one that was pruned.
        let gone = samples[1].id
        _ = try await pair.phone.write { txn in
            try txn.purge(id: gone)
            guard var hub = try txn.peer("hub") else { return }
            hub.isRetired = true
            try txn.setPeer(hub)
        }
        let (late, hub) = (pair.weight(80, days: 9), pair.hub)
        pair.peer.beforeEnumeration { try hub.write { _ = try $0.save(late) } }
        for _ in 0..<2 { try await pair.sync() }
        for store in [pair.phone, pair.hub] {
            #expect(try store.read { try $0.sample(id: late.id) } != nil)
            #expect(try store.read { try $0.sample(id: gone) } == nil)
        }
        #expect(try pair.phone.read { try $0.peer("hub") }?.isRetired == false)
        #expect(try pair.isEqual)
        try pair.finish()
    }

    @Test("What a plan sends only later reaches another store, too") func widerPlan() async throws {
        let pair = try await Pair(SyncPlan(types: [.bodyMass: TypePlan(.both)]))
        let (weight, now) = (pair.weight(70, days: 1), pair.clock.now)
        _ = try await pair.phone.write { _ = try $0.save([weight, Sample(.stepCount, 9, .count, at: now)]) }
        try await pair.sync()
        #expect(try pair.hub.read { try $0.count() } == 1)
        let wider = Bench.makeEngine(pair.phone, [SyncPeer(pair.peer, plan: .everything)], pair.clock)
        _ = try await wider.sync()
        #expect(try pair.isEqual)
        #expect(try pair.hub.read { try $0.count() } == 2)
        try pair.finish()
    }
}
