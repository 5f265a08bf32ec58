import SyncSupport
import TestSupport
import Testing

@testable import HealthKVSync

/// A hub, and what devices know of it that it has forgotten.
@Suite("C28: a hub that knows less than its devices")
struct RolledBackHubTests {
    @Test(
        "C22: what a restored device brings back after the deletion was forgotten at the hub goes again, as soon as a device knows of the deletion",
        arguments: [true, false])
    func forgottenAtTheHub(pulls: Bool) async throws {
        let (clock, folder) = (ManualClock(), TemporaryFolder())
        let (hub, knowing, lost) = (
            try Bench.makeStore(clock, app: "hub") { $0.tombstoneDays = 0 }, try Bench.makeStore(clock),
            try Bench.makeStore(clock)
        )
        // The device that knows of the deletion reads from the hub, or the hub gives it what it has.
        func engines(_ device: SampleStore) -> [SyncEngine] {
            let own = Bench.makeEngine(
                device, [SyncPeer(StorePeer(hub, id: "hub", as: "device"), plan: .everything)], clock)
            let ofHub = Bench.makeEngine(
                hub, [SyncPeer(StorePeer(knowing, id: "knowing", as: "hub"), plan: .everything)], clock)
            return [own, ofHub]
        }
        let device = engines(lost)[0]
        try await device.enable("hub")
        let link: SyncEngine
        if pulls {
            let peer = StorePeer(hub, id: "hub", as: "knowing")
            link = Bench.makeEngine(knowing, [SyncPeer(peer, plan: .everything)], clock)
            try await link.enable("hub")
        } else {
            link = engines(lost)[1]
            try await link.enable("knowing")
        }
        let id = SampleID()
        _ = try await lost.write { try $0.save(Sample(.bodyMass, 72, .kilogram, at: clock.now, id: id)) }
        for _ in 0..<2 { for engine in [device, link] { try await engine.sync() } }
        try lost.backup(to: folder.path + "/copy")
        _ = try await knowing.write { try $0.delete(id: id) }
        for _ in 0..<2 { for engine in [link, device] { try await engine.sync() } }
        clock.advance(seconds: 2 * 86_400)
        _ = try await hub.write { try $0.save(Sample(.bodyMass, 73, .kilogram, at: clock.now)) }
        for _ in 0..<2 { for engine in [link, device] { try await engine.sync() } }
        while try hub.maintain() {}
        #expect(try hub.blockingRead { try $0.deletedSample(id: id) } == nil)
        #expect(try knowing.blockingRead { try $0.deletedSample(id: id) } != nil)

        let restored = try Bench.makeStore(clock, at: folder.path + "/copy")
        let back = engines(restored)[0]
        _ = try await back.sync()
        #expect(try hub.blockingRead { try $0.sample(id: id) } != nil)
        for _ in 0..<2 { for engine in [link, back] { try await engine.sync() } }
        for store in [hub, knowing, restored] { #expect(try store.blockingRead { try $0.sample(id: id) } == nil) }
        let commits = try [hub, knowing, restored].map { try $0.info().commit }
        for engine in [link, back] { try await engine.sync() }
        let rest = try [hub, knowing, restored].map { try $0.info().commit }
        #expect(zip(commits, rest).allSatisfy { $1 - $0 <= Bench.commitsOfLease })
        for store in [hub, knowing, lost, restored] { try store.close() }
    }

    @Test(
        "A store whose readers know more of it than it does notices, though its new commits share their records by the time it is read"
    )
    func sharedRecords() async throws {
        let (clock, folder) = (ManualClock(), TemporaryFolder())
        let path = folder.path + "/hub"
        func open() throws -> SampleStore {
            try Bench.makeStore(clock, app: "hub", at: path) {
                ($0.limits.changeRecords, $0.limits.changeRecordsPerStep) = (6, 4)
            }
        }
        let phone = try Bench.makeStore(clock)
        func engines(_ hub: SampleStore) -> (hub: SyncEngine, phone: SyncEngine) {
            (
                Bench.makeEngine(
                    hub, [SyncPeer(StorePeer(phone, id: "phone", as: "hub"), plan: .everything)], clock),
                Bench.makeEngine(
                    phone, [SyncPeer(StorePeer(hub, id: "hub", as: "phone"), plan: .everything)], clock)
            )
        }
        var hub = try open()
        var (ofHub, ofPhone) = engines(hub)
        try await ofHub.enable("phone")
        try await ofPhone.enable("hub")
        func save(_ value: Double) throws -> SampleID {
            let sample = Sample(.bodyMass, value, .kilogram, at: clock.now)
            clock.advance(seconds: 60)
            try hub.write { _ = try $0.save(sample) }
            return sample.id
        }
        _ = try save(70)
        for _ in 0..<2 { for engine in [ofHub, ofPhone] { try await engine.sync() } }
        try hub.close()
        let copy = try FileCopy(of: path + "/data.mdb")
        hub = try open()
        (ofHub, ofPhone) = engines(hub)
        let lost = try save(71)
        try await ofPhone.sync()
        #expect(try phone.blockingRead { try $0.sample(id: lost) } != nil)

        try hub.close()
        try copy.write(over: path + "/data.mdb", keepsAttribute: false)
        hub = try open()
        let replica = try hub.info().replica
        (ofHub, ofPhone) = engines(hub)
        for value in 0..<30 {
            _ = try save(80 + Double(value))
            try await ofHub.sync()
        }
        while try hub.maintain() {}
        for _ in 0..<2 { for engine in [ofPhone, ofHub] { try await engine.sync() } }
        #expect(try hub.info().replica != replica)
        for store in [hub, phone] {
            #expect(try store.blockingRead { try $0.sample(id: lost) } != nil)
            #expect(try store.blockingRead { try $0.count(of: .bodyMass) } == 32)
            try store.close()
        }
    }
}
