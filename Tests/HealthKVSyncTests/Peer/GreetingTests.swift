import SyncSupport
import TestSupport
import Testing

@testable import HealthKVSync

@Suite("Who reads a store says who it is")
struct GreetingTests {
    /// A device with an engine that syncs with a hub.
    private struct Device {
        let store: SampleStore
        let peer: BadPeer<StorePeer>
        let engine: SyncEngine

        init(_ hub: SampleStore, _ clock: ManualClock, as name: PeerID? = nil, store: SampleStore? = nil) throws {
            self.store = try store ?? Bench.makeStore(clock)
            peer = BadPeer(StorePeer(hub, id: "hub", as: name))
            engine = Bench.makeEngine(self.store, [SyncPeer(peer, plan: .everything)], clock)
        }

        @discardableResult
        func sync() async throws -> SyncReport { try await engine.sync()["hub"]! }

        func save(_ value: Double, _ clock: ManualClock) throws -> Sample {
            let sample = Sample(.bodyMass, value, .kilogram, at: clock.now - .seconds(Int(value)))
            try store.write { _ = try $0.save(sample) }
            return sample
        }

        var notices: [SyncNotice.Code] { get throws { try engine.status().peers["hub"]!.notices.map(\.code) } }
    }

    @Test("Two devices without names at a hub have names of their own, and each has what the other wrote")
    func unnamed()
        async throws
    {
        let clock = ManualClock()
        let hub = try Bench.makeStore(clock)
        let devices = [try Device(hub, clock), try Device(hub, clock)]
        for device in devices { try await device.engine.enable("hub") }
        for round in 0..<3 {
            for (index, device) in devices.enumerated() {
                _ = try device.save(Double(70 + 2 * round + index), clock)
                #expect(try await device.sync().issue == nil)
            }
        }
        for device in devices { try await device.sync() }
        for store in devices.map(\.store) + [hub] {
            #expect(try store.blockingRead { try $0.count(of: .bodyMass) } == 6)
        }
        #expect(Set(try hub.blockingRead { try $0.peers() }.map(\.id)).count == 2)
        for device in devices { #expect(try device.notices == []) }
    }

    @Test("Of two devices with one name at a hub one is refused and told, and with a name of its own it has all")
    func oneName() async throws {
        let clock = ManualClock()
        let hub = try Bench.makeStore(clock)
        let (first, second) = (try Device(hub, clock, as: "phone"), try Device(hub, clock, as: "phone"))
        for device in [first, second] { try await device.engine.enable("hub") }
        _ = try first.save(70, clock)
        #expect(try await first.sync().issue == nil)
        _ = try second.save(71, clock)
        // It may be the first one, installed again: it is told, and reads from the beginning.
        #expect(try await second.sync().issue == nil)
        #expect(try second.notices == [.nameTakenOver])
        #expect(try second.store.blockingRead { try $0.count(of: .bodyMass) } == 2)
        // It is not, for that one is still there.
        let issue = try #require(try await first.sync().issue)
        #expect(issue.code == .nameTaken && issue.recovery == .reportBug)
        #expect(issue.detail.contains("name of its own"))
        #expect(try first.engine.status().peers["hub"]?.issue?.code == .nameTaken)
        #expect(try await second.sync().issue == nil)
        #expect(try await first.sync().issue?.code == .nameTaken)
        let renamed = try Device(hub, clock, as: "other phone", store: first.store)
        _ = try renamed.save(72, clock)
        #expect(try await renamed.sync().issue == nil)
        try await second.sync()
        try await renamed.sync()
        for store in [renamed.store, second.store, hub] {
            #expect(try store.blockingRead { try $0.count(of: .bodyMass) } == 3)
        }
        withExtendedLifetime(first) {}
    }

    @Test(
        "Two devices with copies of one store and one name take turns at most three times a week, and the other is told"
    )
    func copiesWithOneName() async throws {
        let clock = ManualClock()
        let (hub, folder) = (try Bench.makeStore(clock), TemporaryFolder())
        let first = try Device(hub, clock, as: "phone")
        try await first.engine.enable("hub")
        _ = try first.save(70, clock)
        #expect(try await first.sync().issue == nil)
        try first.store.backup(to: folder.path + "/copy")
        let second = try Device(
            hub, clock, as: "phone",
            store: Bench.makeStore(clock, at: folder.path + "/copy"))
        try await second.engine.enable("hub")
        var refusals = 0
        for round in 0..<24 {
            let device = round.isMultiple(of: 2) ? second : first
            _ = try device.save(Double(71 + round), clock)
            let issue = try await device.sync().issue
            #expect(issue == nil || issue?.code == .nameTaken)
            if issue != nil { refusals += 1 }
            clock.advance(seconds: 3_600)
        }
        // Each becomes another replica three times, and then the second one has the name.
        #expect(refusals == 12 - 3)
        clock.advance(seconds: 8 * 86_400)
        for device in [first, second, first, second] { #expect(try await device.sync().issue == nil) }
        for store in [first.store, second.store, hub] {
            #expect(try store.blockingRead { try $0.count(of: .bodyMass) } == 25)
        }
        try second.store.close()
    }

    @Test("A device that is installed again gets its name, and its samples, as often as that happens")
    func reinstalled()
        async throws
    {
        let clock = ManualClock()
        let hub = try Bench.makeStore(clock)
        for number in 1...5 {
            let device = try Device(hub, clock, as: "phone")
            try await device.engine.enable("hub")
            _ = try device.save(Double(70 + number), clock)
            #expect(try await device.sync().issue == nil)
            #expect(try device.store.blockingRead { try $0.count(of: .bodyMass) } == number)
            #expect(try await device.sync().issue == nil)
        }
        #expect(try hub.blockingRead { try $0.peers() }.map(\.id) == ["phone"])
        // Whose registration the app has removed is known no more.
        try await hub.write { try $0.removePeer("phone") }
        #expect(try hub.blockingRead { try $0.reader("phone") } == KnownReader())
    }

    @Test(
        "A reader with the name of the hub's own peer loses the name, and what it wrote reaches that peer all the same")
    func nameOfAPeer() async throws {
        let clock = ManualClock()
        let (hub, archive) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            hub, [SyncPeer(StorePeer(archive, id: "archive"), plan: .everything)], clock)
        try await engine.enable("archive")
        #expect(try await engine.sync()["archive"]?.issue == nil)
        let phone = try Device(hub, clock, as: "archive")
        try await phone.engine.enable("hub")
        let sample = try phone.save(70, clock)
        #expect(try await phone.sync().issue == nil)
        #expect(try await engine.sync()["archive"]?.issue == nil)
        #expect(try archive.blockingRead { try $0.sample(id: sample.id) }?.quantity.value == 70)
        #expect(try await phone.sync().issue?.code == .nameTaken)
        let renamed = try Device(hub, clock, store: phone.store)
        let later = try renamed.save(71, clock)
        for _ in 0..<2 {
            #expect(try await renamed.sync().issue == nil)
            #expect(try await engine.sync()["archive"]?.issue == nil)
        }
        #expect(try archive.blockingRead { try $0.sample(id: later.id) }?.quantity.value == 71)
        // The archive itself may read the hub under its name.
        let archiving = Bench.makeEngine(
            archive, [SyncPeer(StorePeer(hub, id: "hub", as: "archive"), plan: .everything)], clock)
        try await archiving.enable("hub")
        for _ in 0..<2 {
            #expect(try await archiving.sync()["hub"]?.issue == nil)
            #expect(try await engine.sync()["archive"]?.issue == nil)
        }
        withExtendedLifetime(phone) {}
    }

    @Test("A reader with the name of a health database is refused: what it brings would never be sent there")
    func nameOfHealth() async throws {
        let bench = try Bench(.weightTracker)
        try await bench.engine.enable(bench.peer)
        let phone = try Device(bench.store, bench.clock, as: bench.peer)
        try await phone.engine.enable("hub")
        let sample = try phone.save(70, bench.clock)
        let issue = try #require(try await phone.sync().issue)
        #expect(issue.code == .nameTaken && issue.detail.contains("choose another"))
        let renamed = try Device(bench.store, bench.clock, store: phone.store)
        #expect(try await renamed.sync().issue == nil)
        try await bench.sync()
        #expect(bench.health.live.map(\.sample.quantity.value) == [70])
        #expect(try bench.store.blockingRead { try $0.sample(id: sample.id) } != nil)
        withExtendedLifetime(phone) {}
    }

    @Test("A store is no peer of itself") func itself() async throws {
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        let device = try Device(store, clock, store: store)
        try await device.engine.enable("hub")
        #expect(try await device.sync().issue?.code == .invalid)
    }

    @Test("A peer that speaks another protocol is not synced with, and a greeting that is none is ignored")
    func versions() async throws {
        let clock = ManualClock()
        let hub = try Bench.makeStore(clock)
        let device = try Device(hub, clock)
        try await device.engine.enable("hub")
        device.peer.set {
            $0.greeting = { answer in
                var answer = answer
                answer?.version = 9
                answer?.oldest = 7
                return answer
            }
        }
        #expect(try await device.sync().issue?.code == .invalid)
        #expect(device.peer.count("pull") == 0)
        device.peer.set {
            $0.greeting = { answer in
                var answer = answer
                answer?.oldest = 0
                return answer
            }
        }
        #expect(try await device.sync().issue?.code == .badAnswer)
        // A newer one that still speaks ours is fine.
        device.peer.set {
            $0.greeting = { answer in
                var answer = answer
                answer?.version = 9
                return answer
            }
        }
        #expect(try await device.sync().issue == nil)
    }

    @Test("Two running stores that follow each other and cannot sync do not wake each other without end")
    func standingIssue() async throws {
        let clock = ManualClock()
        let stores = [try Bench.makeStore(clock), try Bench.makeStore(clock)]
        let devices = [try Device(stores[1], clock, store: stores[0]), try Device(stores[0], clock, store: stores[1])]
        for device in devices {
            try await device.engine.enable("hub")
            device.peer.set {
                $0.greeting = { answer in
                    // Time passes, as it does outside tests.
                    clock.advance(seconds: 1)
                    var answer = answer
                    answer?.version = 9
                    answer?.oldest = 7
                    return answer
                }
            }
        }
        for device in devices { device.engine.start() }
        try await until("both have the issue") {
            (try? devices.allSatisfy { try $0.engine.status().peers["hub"]?.issue?.code == .invalid }) ?? false
        }
        _ = try devices[0].save(70, clock)
        let before = try stores.map { try $0.info().commit }
        try await Task.sleep(for: .seconds(1))
        let commits = try zip(stores, before).map { try $0.info().commit - $1 }
        #expect(commits.allSatisfy { $0 < 12 }, "\(commits)")
        for device in devices { await device.engine.stop() }
    }

    @Test("Another store in the place of a peer's is told") func replaced() async throws {
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        for number in 0..<2 {
            let device = try Device(try Bench.makeStore(clock), clock, store: store)
            if number == 0 { try await device.engine.enable("hub") }
            #expect(try await device.sync().issue == nil)
            #expect(try device.notices == (number == 0 ? [] : [.peerReplaced]))
            let commit = try store.info().commit
            try await device.sync()
            #expect(try store.info().commit == commit + Bench.commitsOfLease)
        }
    }

    @Test("A reader that comes with less than it has acknowledged is told that it was restored") func olderToken()
        async throws
    {
        let clock = ManualClock()
        let hub = try Bench.makeStore(clock)
        let peer = StorePeer(hub, id: "hub", as: "phone")
        func save(_ value: Double) async throws {
            let sample = Sample(.bodyMass, value, .kilogram, at: clock.now - .seconds(Int(value)))
            try await hub.write { _ = try $0.save(sample) }
        }
        try await save(70)
        let first = try #require(try await peer.pull(PullRequest(type: .every)).token)
        try await peer.acknowledge(first, of: .every)
        try await save(71)
        let second = try #require(try await peer.pull(PullRequest(type: .every, token: first)).token)
        try await peer.acknowledge(second, of: .every)
        let error = await #expect(throws: PeerError.self) {
            try await peer.pull(PullRequest(type: .every, token: first))
        }
        #expect(error?.code == .readerWentBackwards)
    }
}
