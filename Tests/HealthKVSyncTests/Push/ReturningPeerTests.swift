import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Stores that meet again after a long time")
struct ReturningPeerTests {
    @Test(
        "C27: what a hub deleted and forgot does not live there again when a phone that was silent for long comes back")
    func forgottenAtHub() async throws {
        let pair = try await HubPair()
        let samples = (0..<5).map { pair.weight(70 + Double($0), days: $0) }
        _ = try await pair.phone.write { try $0.save(samples) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.hub.blockingRead { try $0.count() } == 5)
        let (gone, edited) = (samples[1].id, samples[2].id)
        _ = try await pair.hub.write { txn in for id in [gone, edited] { try txn.delete(id: id) } }
        try await pair.forgetAtHub()
        #expect(try pair.hub.blockingRead { try $0.deletedSample(id: gone) } == nil)
        // What was written on the phone meanwhile is the phone's to tell.
        let (edit, new) = (pair.weight(60, days: 2, id: edited), pair.weight(61, days: 30))
        _ = try await pair.phone.write { try $0.save([edit, new]) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.phone.blockingRead { try $0.sample(id: gone) } == nil)
        #expect(try pair.hub.blockingRead { try $0.sample(id: gone) } == nil)
        for id in [edited, new.id] { #expect(try pair.hub.blockingRead { try $0.sample(id: id) } != nil) }
        #expect(try pair.isEqual)
        #expect(try pair.phone.blockingRead { try $0.count() } == 6)
        #expect(try pair.phone.blockingRead { try $0.conflicts() }.map(\.displaced.id) == [gone])
        #expect(try pair.hub.blockingRead { try $0.peer("phone") }?.isRetired == false)
        try pair.finish()
    }

    @Test("C27: what left a hub without being deleted stays on the phone") func purgedAtHub() async throws {
        let pair = try await HubPair()
        var scale = pair.weight(72, days: 1)
        (scale.source, scale.origin) = (Source(name: "Scale"), .imported)
        let (imported, own) = (scale, pair.weight(70, days: 2))
        _ = try await pair.phone.write { _ = try $0.save([imported, own]) }
        for _ in 0..<2 { try await pair.sync() }
        _ = try await pair.hub.write { txn in
            try txn.purge(id: imported.id)
            try txn.delete(id: own.id)
        }
        try await pair.forgetAtHub()
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.phone.blockingRead { try $0.sample(id: imported.id) } != nil)
        #expect(try pair.phone.blockingRead { try $0.sample(id: own.id) } == nil)
        try pair.finish()
    }

    @Test("Another store in the hub's place is asked for nothing that was deleted") func otherHub() async throws {
        let pair = try await HubPair()
        let other = try Bench.makeStore(pair.clock)
        let (peer, sample) = (StorePeer(other, id: "hub", as: "phone"), pair.weight(70, days: 1))
        let token = try pair.hub.blockingRead { $0.currentToken }
        #expect(try await peer.forgotten(among: [sample], since: PeerPlace(token: token).bytes) == nil)
        let own = try other.blockingRead { $0.currentToken }
        #expect(try await peer.forgotten(among: [sample], since: PeerPlace(token: own).bytes) == [sample.id])
        try other.close()
        try pair.finish()
    }

    @Test("C27: who reads is not silent, though there is nothing new") func quietReader() async throws {
        let pair = try await HubPair()
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
        let known = try #require(try pair.hub.blockingRead { try $0.peer("phone") })
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
        let pair = try await HubPair()
        let samples = (0..<3).map { pair.weight(70 + Double($0), days: $0) }
        _ = try await pair.phone.write { try $0.save(samples) }
        for _ in 0..<2 { try await pair.sync() }
        let gone = samples[1].id
        try await pair.forgetAtPhone { try $0.delete(id: gone) }
        let (late, hub) = (pair.weight(80, days: 9), pair.hub)
        pair.peer.beforeEnumeration { try hub.write { _ = try $0.save(late) } }
        for _ in 0..<2 { try await pair.sync() }
        for store in [pair.phone, pair.hub] {
            #expect(try store.blockingRead { try $0.sample(id: late.id) } != nil)
            #expect(try store.blockingRead { try $0.sample(id: gone) } == nil)
        }
        #expect(try pair.phone.blockingRead { try $0.peer("hub") }?.isRetired == false)
        #expect(try pair.isEqual)
        try pair.finish()
    }

    @Test("C27: a hub that cannot name its types is asked for those of the store, and does not keep what was deleted")
    func namelessTypes() async throws {
        let pair = try await HubPair()
        let gone = pair.weight(70, days: 1)
        _ = try await pair.phone.write { try $0.save([gone, pair.weight(71, days: 2)]) }
        for _ in 0..<2 { try await pair.sync() }
        pair.peer.forgetTypes()
        try await pair.forgetAtPhone { try $0.delete(id: gone.id) }
        for _ in 0..<2 { try await pair.sync() }
        for store in [pair.phone, pair.hub] { #expect(try store.blockingRead { try $0.sample(id: gone.id) } == nil) }
        #expect(try pair.phone.blockingRead { try $0.peer("hub") }?.isRetired == false)
        #expect(try pair.isEqual)
        try pair.finish()
    }
}
