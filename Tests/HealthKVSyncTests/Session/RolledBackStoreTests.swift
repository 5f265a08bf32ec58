import Foundation
import LMDB
import SyncSupport
import TestSupport
import Testing

@testable import HealthKVSync

/// A phone and a hub as files that are closed, copied and written back over themselves, as `cp` does it.
private final class RolledBackPair {
    /// Whether the file system keeps beside the file how far it was written; else only the other side can tell.
    let keepsAttribute: Bool
    let clock = ManualClock()
    private let folder = TemporaryFolder()
    private(set) var phone: SampleStore
    private(set) var hub: SampleStore
    private(set) var engine: SyncEngine
    private(set) var peer: OutcomePeer
    private let remembers: Bool
    private var day = 0

    init(keepsAttribute: Bool, remembers: Bool = true) async throws {
        (self.keepsAttribute, self.remembers) = (keepsAttribute, remembers)
        phone = try Self.open(folder.path + "/phone", clock)
        hub = try Self.open(folder.path + "/hub", clock)
        (engine, peer) = Self.makeEngine(phone, hub, clock, remembers)
        try await engine.enable("hub")
    }

    private static func open(_ path: String, _ clock: ManualClock) throws -> SampleStore {
        var options = SampleStore.Options()
        options.clock = { clock.now }
        options.source = Source(bundle: "app", name: "App")
        options.limits.skipsSync = true
        options.maintainsWhenIdle = false
        return try SampleStore.open(at: path, options: options)
    }

    private static func makeEngine(
        _ phone: SampleStore, _ hub: SampleStore, _ clock: ManualClock, _ remembers: Bool
    ) -> (SyncEngine, OutcomePeer) {
        let peer = OutcomePeer(StorePeer(hub, id: "hub", as: "phone"), remembers: remembers)
        return (Bench.makeEngine(phone, [SyncPeer(peer, plan: .everything)], clock), peer)
    }

    enum Side: String { case phone, hub }

    private func path(_ side: Side) -> String { folder.path + "/" + side.rawValue + "/data.mdb" }

    private func reopen(_ side: Side, _ whileClosed: () throws -> Void) throws {
        switch side {
        case .phone:
            try phone.close()
            try whileClosed()
            phone = try Self.open(folder.path + "/phone", clock)
        case .hub:
            try hub.close()
            try whileClosed()
            hub = try Self.open(folder.path + "/hub", clock)
        }
        (engine, peer) = Self.makeEngine(phone, hub, clock, remembers)
    }

    func copy(_ side: Side) throws -> FileCopy {
        var copy: FileCopy?
        let path = path(side)
        try reopen(side) { copy = try FileCopy(of: path) }
        return try #require(copy)
    }

    func restore(_ side: Side, _ copy: FileCopy) throws {
        let (path, keepsAttribute) = (path(side), keepsAttribute)
        try reopen(side) {
            let file = FileSystem.identity(of: path)
            try copy.write(over: path, keepsAttribute: keepsAttribute)
            #expect(FileSystem.identity(of: path) == file)
        }
    }

    @discardableResult
    func write(_ side: Side, _ kilograms: Double, id: SampleID = SampleID()) async throws -> SampleID {
        day += 1
        let sample = Sample(
            .bodyMass, kilograms, .kilogram, at: Instant(nanoseconds: 700_000_000_000_000_000) + .days(day), id: id)
        _ = try await (side == .phone ? phone : hub).write { try $0.save(sample) }
        return sample.id
    }

    func sync(_ times: Int = 1) async throws {
        for _ in 0..<times { #expect(try await engine.sync()["hub"]?.issue == nil) }
    }

    /// Days on which both sides write and sync.
    func live(days: Int, step: Int = 1) async throws {
        for day in stride(from: 0, to: days, by: step) {
            clock.advance(seconds: step * 86_400)
            try await write(.phone, 60 + Double(day) / 8)
            try await write(.hub, 90 + Double(day) / 8)
            try await sync()
        }
    }

    var ids: Set<SampleID> {
        get throws {
            let ids = try [phone, hub].map { store in
                Set(try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.map(\.id))
            }
            #expect(ids[0] == ids[1])
            #expect(try phone.read { try $0.syncDigest() } == hub.read { try $0.syncDigest() })
            return ids[0]
        }
    }

    var held: Set<SampleID> {
        get throws { Set(try hub.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.map(\.id)) }
    }

    var notices: [SyncNotice.Code] { get throws { try engine.status().peers["hub"]!.notices.map(\.code) } }

    func finish() async throws {
        // At rest nothing goes on.
        try await sync(2)
        let (phones, hubs) = try (phone.info(), hub.info())
        try await sync()
        #expect(try hub.info().commit == hubs.commit)
        #expect(try phone.info().commit <= phones.commit + Bench.commitsOfLease)
        #expect(try phone.info().epoch == phones.epoch && hub.info().epoch == hubs.epoch)
        for store in [phone, hub] {
            let report = try store.check()
            #expect(report.findings.isEmpty, "\(report.findings)")
            try store.close()
        }
    }
}

@Suite("C28: stores that are rolled back by copying an older state over their file")
struct RolledBackStoreTests {
    @Test(
        "A phone that is rolled back by forty days notices, gets everything back, and undoes nothing",
        arguments: [true, false])
    func fortyDays(keepsAttribute: Bool) async throws {
        let pair = try await RolledBackPair(keepsAttribute: keepsAttribute)
        var early: [SampleID] = []
        for number in 0..<5 { early.append(try await pair.write(.phone, 70 + Double(number))) }
        try await pair.sync(2)
        let copy = try pair.copy(.phone)
        try await pair.live(days: 20)
        let (gone, edited) = (early[0], early[1])
        _ = try await pair.phone.write { try $0.delete(id: gone) }
        try await pair.write(.phone, 50, id: edited)
        try await pair.live(days: 20)
        let (before, replica) = try (pair.held, pair.phone.info().replica)
        #expect(before.count == 84)

        try pair.restore(.phone, copy)
        try await pair.sync(2)
        #expect(try pair.ids == before)
        #expect(try pair.phone.blockingRead { try $0.sample(id: edited) }?.quantity.value == 50)
        #expect(try pair.phone.info().replica != replica)
        #expect(try pair.notices.contains(.restored))
        let new = try await pair.write(.phone, 80)
        try await pair.sync(2)
        #expect(try pair.ids == before.union([new]))
        try await pair.finish()
    }

    @Test("A phone that is rolled back to one copy again and again becomes another replica each time, and goes on")
    func oneCopyTwice() async throws {
        let pair = try await RolledBackPair(keepsAttribute: false)
        try await pair.write(.phone, 70)
        try await pair.sync(2)
        let copy = try pair.copy(.phone)
        var replicas: Set<UInt32> = []
        for number in 0..<3 {
            try await pair.live(days: 4)
            let before = try pair.held
            try pair.restore(.phone, copy)
            let new = try await pair.write(.phone, 80 + Double(number))
            try await pair.sync(2)
            #expect(try pair.ids == before.union([new]))
            #expect(try pair.hub.blockingRead { try $0.samples(of: .bodyMass) }.count == before.count + 1)
            replicas.insert(try pair.phone.info().replica)
        }
        #expect(replicas.count == 3)
        try await pair.finish()
    }

    @Test("A phone that only lost what it had written itself gets it back", arguments: [true, false])
    func ownWritesOnly(keepsAttribute: Bool) async throws {
        let pair = try await RolledBackPair(keepsAttribute: keepsAttribute)
        try await pair.write(.phone, 70)
        try await pair.sync(2)
        let copy = try pair.copy(.phone)
        for number in 0..<5 { try await pair.write(.phone, 71 + Double(number)) }
        try await pair.sync(2)
        let before = try pair.held
        try pair.restore(.phone, copy)
        try await pair.sync(2)
        #expect(before.count == 6)
        #expect(try pair.ids == before)
        #expect(try pair.notices.contains(.restored))
        try await pair.finish()
    }

    @Test(
        "C27: a phone that returns with a copy of half a year ago deletes nothing at the hub that it no longer knows",
        arguments: [true, false])
    func halfAYear(keepsAttribute: Bool) async throws {
        let pair = try await RolledBackPair(keepsAttribute: keepsAttribute)
        for number in 0..<5 { try await pair.write(.phone, 70 + Double(number)) }
        try await pair.sync(2)
        let copy = try pair.copy(.phone)
        try await pair.live(days: 200, step: 10)
        let before = try pair.held
        try pair.restore(.phone, copy)
        // The sync with another peer finds that the hub was silent for long, as far as this file knows.
        let other = Bench.makeEngine(
            pair.phone, [SyncPeer(MemoryHealthPeer(MemoryHealth()), plan: .weightTracker)], pair.clock)
        try await other.enable("health")
        _ = try await other.sync()
        pair.clock.advance(seconds: 86_400)
        _ = try await other.sync()
        #expect(try pair.phone.blockingRead { try $0.peer("hub") }?.isRetired == true)
        try await pair.sync(2)
        #expect(before.count == 45)
        #expect(try pair.held == before)
        #expect(try pair.ids == before)
        #expect(try pair.notices.contains(.restored))
        #expect(try pair.phone.blockingRead { try $0.peer("hub") }?.isRetired == false)
        _ = try await pair.phone.write { txn in
            guard let health = try txn.peer("health") else { return }
            try txn.acknowledge(peer: health.id, txn.currentToken)
        }
        try await pair.finish()
    }

    @Test(
        "C27: at a peer that remembers nothing of us, nothing is deleted on its return, and what it holds is taken in")
    func withoutMemory() async throws {
        let pair = try await RolledBackPair(keepsAttribute: false, remembers: false)
        try await pair.write(.phone, 70)
        try await pair.sync(2)
        let copy = try pair.copy(.phone)
        for number in 0..<3 { try await pair.write(.phone, 71 + Double(number)) }
        try await pair.sync(2)
        let before = try pair.held
        try pair.restore(.phone, copy)
        _ = try await pair.phone.write { txn in
            guard var hub = try txn.peer("hub") else { return }
            hub.isRetired = true
            try txn.setPeer(hub)
        }
        try await pair.sync(3)
        #expect(before.count == 4)
        #expect(try pair.ids == before)
        try await pair.finish()
    }

    @Test("A hub that is rolled back is given back what it lost, by whomever it had it", arguments: [true, false])
    func hub(keepsAttribute: Bool) async throws {
        let pair = try await RolledBackPair(keepsAttribute: keepsAttribute)
        for number in 0..<5 { try await pair.write(.phone, 70 + Double(number)) }
        try await pair.write(.hub, 99)
        try await pair.sync(2)
        let copy = try pair.copy(.hub)
        try await pair.live(days: 40)
        let (before, replica) = try (pair.ids, pair.hub.info().replica)
        try pair.restore(.hub, copy)
        let new = try await pair.write(.hub, 98)
        try await pair.sync(2)
        #expect(before.count == 86)
        #expect(try pair.ids == before.union([new]))
        #expect(try pair.hub.info().replica != replica)
        #expect(try pair.notices.contains(.peerRestored))
        try await pair.finish()
    }

    @Test(
        "A hub that only lost what it was given since it was last read is given that again, and it is not taken for deleted",
        arguments: [true, false])
    func hubLosesPushes(keepsAttribute: Bool) async throws {
        let pair = try await RolledBackPair(keepsAttribute: keepsAttribute)
        try await pair.write(.hub, 70)
        try await pair.write(.phone, 71)
        try await pair.sync(2)
        let copy = try pair.copy(.hub)
        for number in 0..<5 { try await pair.write(.phone, 72 + Double(number)) }
        try await pair.sync(2)
        let before = try pair.ids
        try pair.restore(.hub, copy)
        // Commits of its own hide that it is behind.
        for number in 0..<20 { try await pair.write(.hub, 90 + Double(number)) }
        try await pair.sync(2)
        #expect(before.count == 7)
        let ids = try pair.ids
        #expect(ids.isSuperset(of: before) && ids.count == 27)
        try await pair.finish()
    }

    /// Of a hub that lost what a comparison had given it, in a pass that did not come to its end.
    private func hubLosesCompared(_ pair: RolledBackPair, meanwhile: () async throws -> Void) async throws {
        try await pair.write(.hub, 70)
        try await pair.write(.phone, 71)
        try await pair.sync(2)
        // Another replica compares instead of following its feed.
        try await pair.phone.write { try $0.beginEpoch() }
        let given = try await pair.write(.phone, 72)
        let time = Instant(nanoseconds: 700_000_000_000_000_000)
        let steps = Sample(
            .stepCount, 9, .count, from: time, to: time, source: Source(name: "Watch"), syncIdentifier: "steps",
            version: 1)
        _ = try await pair.phone.write { try $0.merge(steps) }
        // The first pass reads the hub's feed and sends nothing.
        pair.peer.set { _ in .failed(reason: "not now") }
        #expect(try await pair.engine.sync()["hub"]?.issue != nil)
        let copy = try pair.copy(.hub)
        pair.peer.lose { if case .save(let sample) = $0.kind { sample.type == .stepCount } else { false } }
        #expect(try await pair.engine.sync()["hub"]?.issue != nil)
        #expect(try pair.held.contains(given))
        pair.peer.lose(nil)
        try await meanwhile()
        // Now both are equal, and nothing is left to give.
        try await pair.sync()
        let before = try pair.ids
        try pair.restore(.hub, copy)
        for number in 0..<20 { try await pair.write(.hub, 90 + Double(number)) }
        try await pair.sync(2)
        let ids = try pair.ids
        #expect(ids.isSuperset(of: before) && ids.count == before.count + 20)
        try await pair.finish()
    }

    @Test("A hub that lost what a comparison gave it, which was then interrupted, is given that again")
    func hubLosesCompared() async throws {
        try await hubLosesCompared(RolledBackPair(keepsAttribute: false)) {}
    }

    @Test("A store that has lost what it told a hub learns it from the hub")
    func toldIsLearned() async throws {
        let pair = try await RolledBackPair(keepsAttribute: false)
        try await hubLosesCompared(pair) {
            // As if the process had ended between the answer of the hub and the commit.
            _ = try await pair.phone.write { txn in
                let name = EngineNotes.state("hub")
                var state = PeerNote(decoding: try txn.syncNote(name) ?? []).state
                state.told = nil
                try txn.setSyncNote(name, try PeerNote(state, after: nil).bytes)
            }
        }
    }

    @Test("Two histories that both went on from one copy are brought together", arguments: [true, false])
    func forks(keepsAttribute: Bool) async throws {
        let pair = try await RolledBackPair(keepsAttribute: keepsAttribute)
        let edited = try await pair.write(.phone, 70)
        try await pair.sync(2)
        let copy = try pair.copy(.phone)
        try await pair.live(days: 10)
        try await pair.write(.phone, 60, id: edited)
        try await pair.sync(2)
        let before = try pair.held
        let commit = try pair.phone.info().commit
        try pair.restore(.phone, copy)
        var others: Set<SampleID> = []
        while try pair.phone.info().commit <= commit + 5 {
            others.insert(try await pair.write(.phone, 100 + Double(others.count)))
        }
        try await pair.sync(2)
        #expect(try pair.ids == before.union(others))
        #expect(try pair.phone.blockingRead { try $0.sample(id: edited) }?.quantity.value == 60)
        #expect(try pair.notices.contains(.restored))
        try await pair.finish()
    }

    @Test("A place that another engine has moved meanwhile is no sign of a restoration") func lostLease() async throws {
        let pair = try await RolledBackPair(keepsAttribute: false)
        try await pair.write(.hub, 70)
        try await pair.sync(2)
        let epoch = try pair.phone.info().epoch
        let session = try pair.engine.session("hub")
        let old = try #require(try pair.phone.blockingRead { try $0.anchor(peer: "hub", type: .every) })
        let hub = pair.hub
        try await pair.write(.hub, 71)
        try await pair.sync()
        // What an engine that was cut off asks with the place that it had read before.
        let peer = StorePeer(hub, id: "hub", as: "phone")
        let error = await #expect(throws: PeerError.self) {
            _ = try await peer.pull(PullRequest(type: .every, token: old.token))
        }
        #expect(error?.code == .readerWentBackwards)
        try await session.inTurn { try await $0.introduction.becomeRestored(.every, readFrom: old.token) }
        #expect(try pair.phone.info().epoch == epoch)
        try await pair.finish()
    }

    enum SecondEdit: CaseIterable { case waits, wasSent, precedesPull }

    /// The clock was a year ahead once, so each change is given the next nanosecond.
    @Test(
        "C28: an edit that a rolled back store makes a second time, as the same version, is not taken for the first",
        arguments: SecondEdit.allCases)
    func sameVersionTwice(edit second: SecondEdit) async throws {
        let folder = TemporaryFolder()
        let clock = ManualClock()
        clock.advance(seconds: 365 * 86_400)
        let first = try Bench(.weightTracker, health: MemoryHealth(), clock: clock, store: try open(folder, clock))
        try await first.engine.enable(first.peer)
        let sample = try first.save(72)
        try await first.sync()
        try first.store.close()
        let copy = try FileCopy(of: folder.path + "/store/data.mdb")
        clock.advance(seconds: -365 * 86_400)
        let lost = try Bench(.weightTracker, health: first.health, clock: clock, store: try open(folder, clock))
        let edit = try lost.save(74, id: sample.id)
        try await lost.sync()
        #expect(lost.held == [74])
        let version = try lost.store.blockingRead { try $0.sample(id: edit.id) }
        try lost.store.close()
        try copy.write(over: folder.path + "/store/data.mdb", keepsAttribute: false)
        let bench = try Bench(.weightTracker, health: first.health, clock: clock, store: try open(folder, clock))
        _ = try bench.save(75, id: sample.id)
        let again = try bench.store.blockingRead { try $0.sample(id: edit.id) }
        #expect(again?.version == version?.version && again?.modified == version?.modified)
        if second == .wasSent {
            // A call that was given up.
            try bench.write { txn in
                for var waiting in try txn.pending(for: "health") {
                    waiting.isSent = true
                    _ = try txn.enqueue(waiting)
                }
            }
        }
        if second == .precedesPull {
            bench.health.set(failure: { _ in PeerError(.transient, "not now") })
            try await bench.sync()
            bench.health.set(failure: nil)
        }
        for _ in 0..<3 {
            bench.clock.advance(seconds: 3_600)
            try await bench.sync()
        }
        #expect(bench.held == [75])
        #expect(try bench.weights == [75])
        #expect(try bench.pending.isEmpty)
        try bench.finish()
    }

    private func open(_ folder: TemporaryFolder, _ clock: ManualClock) throws -> SampleStore {
        try Bench.makeStore(clock, at: folder.path + "/store")
    }
}
