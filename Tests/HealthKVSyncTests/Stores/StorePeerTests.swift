import SyncSupport
import TestSupport
import Testing

@testable import HealthKVSync

@Suite("Stores as peers")
struct StorePeerTests {
    /// Some stores on one clock, each an engine's own, all in step with their neighbours.
    private struct Ring {
        let clock = ManualClock()
        var stores: [SampleStore] = []
        var engines: [SyncEngine] = []

        init(_ count: Int, links: [(Int, Int)], page: Int = 7) throws {
            for index in 0..<count { stores.append(try Bench.makeStore(clock, app: "app\(index)")) }
            for index in 0..<count {
                let peers = links.filter { $0.0 == index }.map { link in
                    SyncPeer(
                        StorePeer(stores[link.1], id: PeerID("store\(link.1)"), as: PeerID("store\(index)")),
                        plan: .everything)
                }
                engines.append(
                    Bench.makeEngine(stores[index], peers, clock) { options in
                        (options.pageSize, options.pushSize) = (page, max(1, page - 2))
                    })
            }
        }

        func enable() async throws {
            for engine in engines { for peer in engine.peers { try await engine.enable(peer) } }
        }

        /// Syncs until nobody has anything to tell.
        func settle() async throws {
            for _ in 0..<20 {
                var isStill = true
                for engine in engines {
                    for report in try await engine.sync().values {
                        #expect(report.issue == nil)
                        if report.pulled.imported + report.pulled.deleted + report.pushed.done > 0 { isStill = false }
                    }
                }
                if isStill { return }
            }
            Issue.record("the stores go on telling each other")
        }

        func digests() throws -> Set<SyncDigest> { Set(try stores.map { try $0.read { try $0.syncDigest() } }) }

        func finish() throws {
            for store in stores {
                let report = try store.check()
                #expect(report.findings.isEmpty, "\(report.findings)")
                try store.close()
            }
        }
    }

    private func weight(_ value: Double, _ hour: Int, id: SampleID = SampleID()) -> Sample {
        Sample(
            .bodyMass, value, .kilogram,
            at: Instant(nanoseconds: 799_000_000_000_000_000 + Int64(hour) * 3_600_000_000_000), id: id)
    }

    private func save(_ store: SampleStore, _ samples: Sample...) throws {
        try store.write { _ = try $0.save(samples) }
    }

    @Test(
        "C7: an edit over an import stays on all stores when another store brings a newer import, and goes where it is taken off"
    )
    func overlays() async throws {
        let ring = try Ring(3, links: [(0, 1), (1, 2), (2, 0)])
        var pulled = weight(80, 1)
        (pulled.origin, pulled.source) = (.imported, Source(bundle: "com.example.scale", name: "Scale"))
        let (first, id) = (pulled, pulled.id)
        _ = try await ring.stores[0].write { try $0.merge(first) }
        try await ring.enable()
        try await ring.settle()
        _ = try await ring.stores[0].write { try $0.overlay(id: id) { $0.quantity.value = 79 } }
        // Its source has another name now: the same import is raised as far as the edit, and later.
        ring.clock.advance(seconds: 10)
        pulled.source.name += " 2"
        let renamed = pulled
        #expect(try await ring.stores[1].write { try $0.save(renamed) } == .replaced)
        try await ring.settle()
        #expect(try ring.digests().count == 1)
        for store in ring.stores {
            let held = try #require(try store.blockingRead { try $0.sample(id: id) })
            #expect(held.quantity.value == 79 && held.original?.version == 2 && held.source.name == renamed.source.name)
        }
        _ = try await ring.stores[2].write { try $0.removeOverlay(id: id) }
        try await ring.settle()
        #expect(try ring.digests().count == 1)
        for store in ring.stores {
            let held = try #require(try store.blockingRead { try $0.sample(id: id) })
            #expect(held.quantity.value == 80 && held.original == nil && held.version == 2)
        }
        try ring.finish()
    }

    @Test("Two stores come to hold the same, and then are silent") func two() async throws {
        let ring = try Ring(2, links: [(0, 1)])
        for hour in 0..<30 {
            try save(ring.stores[0], weight(70, hour))
            try save(ring.stores[1], weight(80, hour + 100))
        }
        try await ring.enable()
        try await ring.settle()
        #expect(try ring.digests().count == 1)
        #expect(try ring.stores[0].blockingRead { try $0.count() } == 60)
        // Upkeep would commit while it is quiet.
        for store in ring.stores { while try store.maintain() {} }
        let commits = try ring.stores.map { try $0.info().commit }
        _ = try await ring.engines[0].sync()
        #expect(try ring.stores.map { try $0.info().commit } == [commits[0] + Bench.commitsOfLease, commits[1]])
        try ring.finish()
    }

    @Test("C25: three stores in a ring converge without echoes, edits and deletions included, whatever the seed")
    func three() async throws {
        var generator = SeededGenerator()
        let ring = try Ring(3, links: [(0, 1), (1, 2), (2, 0), (1, 0)])
        try await ring.enable()
        var known: [SampleID] = []
        for round in 0..<6 {
            for _ in 0..<12 {
                let store = generator.pick(ring.stores)
                let isNew = known.isEmpty || generator.chance(percent: 40)
                let id = isNew ? SampleID(using: &generator) : generator.pick(known)
                if isNew { known.append(id) }
                if !isNew, generator.chance(percent: 30) {
                    _ = try await store.write { try $0.delete(id: id) }
                } else {
                    let sample = weight(Double(generator.number(50..<90)), generator.number(0..<50), id: id)
                    _ = try await store.write { try $0.save(sample) }
                }
                ring.clock.advance(seconds: 1)
            }
            if round % 2 == 1 { try await ring.settle() }
        }
        try await ring.settle()
        #expect(try ring.digests().count == 1)
        try ring.finish()
    }

    @Test(
        "C1: of two edits that did not know of each other the greater version wins, then the later clock; the other stays in the audit"
    )
    func conflict() async throws {
        let ring = try Ring(2, links: [(0, 1)])
        try await ring.enable()
        let sample = weight(70, 1)
        try save(ring.stores[0], sample)
        try await ring.settle()
        ring.clock.advance(seconds: 10)
        try save(ring.stores[0], weight(71, 1, id: sample.id))
        ring.clock.advance(seconds: 10)
        try save(ring.stores[1], weight(75, 1, id: sample.id))
        try await ring.settle()
        #expect(try ring.digests().count == 1)
        #expect(try ring.stores[0].blockingRead { try $0.sample(id: sample.id) }?.quantity.value == 75)
        let conflicts = try ring.stores[0].blockingRead { try $0.conflicts() }
        #expect(conflicts.map(\.displaced.quantity.value) == [71])
        let lost = try #require(conflicts.first)
        _ = try await ring.stores[0].write { try $0.restore(lost) }
        try await ring.settle()
        #expect(try ring.stores[1].blockingRead { try $0.sample(id: sample.id) }?.quantity.value == 71)
        try ring.finish()
    }

    @Test("A mass deletion reaches the other store; a purge does not") func massDeletion() async throws {
        let ring = try Ring(2, links: [(0, 1)])
        try await ring.enable()
        for hour in 0..<40 { try save(ring.stores[0], weight(70, hour)) }
        try save(ring.stores[0], Sample(.stepCount, 9, .count, at: ring.clock.now, source: Source(name: "Phone")))
        try await ring.settle()
        let from = weight(0, 20).start
        _ = try await ring.stores[0].write { try $0.delete(.range(of: .bodyMass, from: from)) }
        _ = try await ring.stores[0].write { try $0.purge(.source(SourceIdentity(name: "Phone"))) }
        try await ring.settle()
        #expect(try ring.stores[1].blockingRead { try $0.count(of: .bodyMass) } == 20)
        #expect(try ring.stores[1].blockingRead { try $0.count(of: .stepCount) } == 1)
        try ring.finish()
    }

    @Test("C25: imports go to stores and never to HealthKit; what another device wrote goes on to HealthKit")
    func imports() async throws {
        let clock = ManualClock()
        let health = MemoryHealth()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            here,
            [
                SyncPeer(MemoryHealthPeer(health), plan: .weightTracker),
                SyncPeer(StorePeer(there, id: "there", as: "here"), plan: .everything),
            ], clock)
        for peer in engine.peers { try await engine.enable(peer) }
        var scale = weight(72, 1)
        (scale.source, scale.origin) = (Source(name: "Scale"), .imported)
        health.save(scale)
        try save(there, weight(80, 2))
        for _ in 0..<3 { _ = try await engine.sync() }
        #expect(try there.blockingRead { try $0.samples(of: .bodyMass).map(\.quantity.value) } == [72, 80])
        #expect(health.live.map(\.sample.quantity.value).sorted() == [72, 80])
        #expect(health.live.first { $0.app == "app" }?.sample.quantity.value == 80)
        for store in [here, there] { try store.close() }
    }

    @Test("Two stores that hold the same already send each other nothing") func equalStores() async throws {
        let ring = try Ring(2, links: [(0, 1)])
        for hour in 0..<50 { try save(ring.stores[0], weight(70, hour)) }
        let all = try ring.stores[0].blockingRead { try $0.samples(of: .bodyMass) }
        try await ring.stores[1].write { txn in for sample in all { try txn.merge(sample) } }
        try await ring.enable()
        let report = try #require(try await ring.engines[0].sync()["store1"])
        #expect(report.pushed.done == 0)
        #expect(report.pulled.imported == 0)
        try ring.finish()
    }

    @Test("C26: reconciling two stores finds what their feeds no longer tell, by digests") func reconcile() async throws
    {
        let ring = try Ring(2, links: [(0, 1)], page: 400)
        try await ring.enable()
        let samples = (0..<1_200).map { weight(70, $0) }
        _ = try await ring.stores[0].write { try $0.save(samples) }
        try await ring.settle()
        // Samples that go without a trace, as by damage.
        let lost = try ring.stores[1].blockingRead { try $0.samples(of: .bodyMass, limit: 3) }.map(\.id)
        try await ring.stores[1].write { txn in for id in lost { try txn.purge(id: id) } }
        try await ring.settle()
        #expect(try ring.digests().count == 2)
        try await ring.engines[0].reconcile("store1")
        #expect(try ring.digests().count == 1)
        try ring.finish()
    }

    @Test("C28: a peer whose feed went backwards is read from its beginning and begins a new epoch") func backwards()
        async throws
    {
        let ring = try Ring(2, links: [(0, 1)])
        try await ring.enable()
        try save(ring.stores[1], weight(70, 1))
        try await ring.settle()
        let epoch = try ring.stores[1].info().epoch
        let session = try ring.engines[0].session("store1")
        let token = try ring.stores[1].blockingRead { $0.currentToken }.description.split(separator: ":")
        let ahead = (token[0..<3] + ["999999", "1", "1"]).joined(separator: ":")
        try await session.update { txn, _ in
            try txn.setAnchor(
                Anchor(peer: "store1", type: .every, token: Array(ahead.utf8), time: .distantPast))
        }
        try save(ring.stores[1], weight(71, 2))
        let report = try #require(try await ring.engines[0].sync()["store1"])
        #expect(report.issue == nil)
        #expect(try ring.engines[0].status().peers["store1"]?.notices.map(\.code) == [.peerRestored])
        #expect(try ring.stores[1].info().epoch != epoch)
        #expect(try ring.digests().count == 1)
        try ring.finish()
    }

    @Test("C29, D: a clock more than a day ahead is reported, kept as received, and does not pull ours along")
    func skew()
        async throws
    {
        let ring = try Ring(2, links: [(0, 1)])
        try await ring.enable()
        var sample = weight(70, 1)
        sample.source = Source(name: "Other")
        sample.version = 1
        sample.modified = ChangeClock(time: ring.clock.now + .days(400), replica: 7)
        let ahead = sample
        _ = try await ring.stores[1].write { try $0.merge(ahead) }
        try await ring.settle()
        let status = try #require(try ring.engines[0].status().peers["store1"])
        #expect(status.skewSeconds ?? 0 > 399 * 86_400)
        #expect(status.notices.map(\.code) == [.clockSkew])
        #expect(try ring.stores[0].blockingRead { try $0.sample(id: ahead.id) }?.modified == ahead.modified)
        try save(ring.stores[0], weight(60, 2))
        let own = try #require(try ring.stores[0].blockingRead { try $0.first(of: .bodyMass, after: 60) })
        #expect(own.modified!.time < ring.clock.now + .days(2))
        try ring.finish()
    }
}

extension SampleReading where Self: ~Copyable {
    fileprivate func first(of type: SampleType, after value: Double) throws -> Sample? {
        try samples(of: type).first { $0.quantity.value == value }
    }
}
