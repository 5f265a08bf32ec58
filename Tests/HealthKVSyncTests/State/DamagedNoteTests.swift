import SyncSupport
import Testing

@testable import HealthKVSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A hostile file may hold any note. None ends the process, none deletes a sample, and none stays an issue.
@Suite("Notes of the engine that it did not write")
struct DamagedNoteTests {
    private static let plan = SyncPlan(types: [.stepCount: TypePlan(.pull), .bodyMass: TypePlan(.both)])

    private func bench() async throws -> Bench {
        let bench = try Bench(Self.plan)
        for hour in 0..<3 { bench.health.save(bench.scale(70 + Double(hour), hour: hour)) }
        try await bench.engine.enable(bench.peer)
        _ = try bench.save(60, hour: 9)
        try await bench.sync()
        #expect(try bench.weights.count == 4 && bench.held.count == 4)
        return bench
    }

    /// Stores the state of the peer with a change.
    private func forge(_ bench: Bench, _ change: @escaping @Sendable (inout PeerState) -> Void) throws {
        try bench.write { txn in
            var state = try txn.state(of: "health")
            change(&state)
            try txn.setSyncNote(EngineNotes.state("health"), try PeerNote(state, after: nil).bytes)
        }
    }

    /// Checks that the sync goes on, and that nothing was lost on either side.
    private func expectRecovery(_ bench: Bench, at location: SourceLocation = #_sourceLocation) async throws {
        bench.health.save(bench.scale(80, hour: 20))
        _ = try bench.save(61, hour: 21)
        for _ in 0..<3 {
            bench.clock.advance(seconds: 4_000)
            try await bench.sync()
        }
        #expect(try bench.status().issue == nil, sourceLocation: location)
        #expect(try bench.status().isEnabled, sourceLocation: location)
        #expect(try bench.weights.sorted() == [60, 61, 70, 71, 72, 80], sourceLocation: location)
        #expect(bench.held == [60, 61, 70, 71, 72, 80], sourceLocation: location)
        try bench.finish(sourceLocation: location)
    }

    static let impossible: [(String, @Sendable (inout PeerState) -> Void)] = [
        ("blocks that end before they begin", { $0[.bodyMass].waiting.blocks = DeferredBlocks(first: 5, next: 2) }),
        ("a block before the first", { $0[.bodyMass].waiting.blocks = DeferredBlocks(first: -3, next: 2) }),
        ("no next block", { $0[.bodyMass].waiting.blocks = DeferredBlocks(first: .max - 1, next: .max) }),
        ("as many failures as there are numbers", { $0.failures = .max }),
        ("fewer failures than none", { $0.failures = .min }),
        ("as many imported samples as there are numbers", { $0[.bodyMass].imported = .max }),
        ("as many purged samples as there are numbers", { $0.purged = .max }),
        (
            "a pull that failed as often as there are numbers",
            { $0[.bodyMass].pulls = .failing(PullFailure(issue: SyncIssue(.delayed, "busy"), count: .max)) }
        ),
        (
            "a pull that failed less than never",
            { $0[.bodyMass].pulls = .failing(PullFailure(issue: SyncIssue(.delayed, "busy"), count: .min)) }
        ),
        ("a day that does not exist", { $0[.stepCount].staleDays = ["the day after tomorrow"] }),
    ]

    @Test("A purge is refused while it is not known what the peer brought, and works after a sync")
    func purgeAfterDamage() async throws {
        let bench = try await bench()
        try bench.write { try $0.setSyncNote(EngineNotes.state("health"), [1, 2, 3]) }
        await #expect(throws: SyncIssue.self) { try await bench.engine.disconnect(bench.peer, purge: true) }
        #expect(try bench.weights.count == 4)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try await bench.engine.disconnect(bench.peer, purge: true) == 3)
        #expect(try bench.weights == [60])
        try bench.finish()
    }

    @Test("A state with an impossible number starts over, and no sample is deleted", arguments: impossible.indices)
    func impossibleState(_ index: Int) async throws {
        let bench = try await bench()
        try forge(bench, Self.impossible[index].1)
        bench.health.set(failure: { _ in PeerError(.transient, "busy") })
        try await bench.sync()
        bench.health.set(failure: nil)
        try await expectRecovery(bench)
    }

    @Test("More blocks of deletions than are stored delay nothing")
    func missingBlocks() async throws {
        let bench = try await bench()
        try forge(bench) { $0[.bodyMass].waiting.blocks = DeferredBlocks(first: 0, next: 1 << 38) }
        try await expectRecovery(bench)
    }

    @Test("A state that cannot be read starts over, and stays switched on if at least that can be read")
    func unreadableState() async throws {
        let bench = try await bench()
        try bench.write { try $0.setSyncNote(EngineNotes.state("health"), Array(#"{"isEnabled":true}"#.utf8)) }
        for try await _ in bench.engine.importHistory(bench.peer, .all) {}
        try await expectRecovery(bench)
        let other = try await self.bench()
        try other.write { try $0.setSyncNote(EngineNotes.state("health"), Array("[[[[".utf8)) }
        #expect(try other.status().isEnabled == false)
        #expect(try await other.sync().issue == nil)
        try await other.engine.enable(other.peer)
        for try await _ in other.engine.importHistory(other.peer, .all) {}
        try await expectRecovery(other)
    }

    @Test("C9: a skipped import does not come back with a state that cannot be read, and the app is asked again")
    func skippedImport() async throws {
        for text in [#"{"isEnabled":true}"#, "[[[["] {
            let bench = try Bench(Self.plan)
            for hour in 0..<3 { bench.health.save(bench.scale(70 + Double(hour), hour: hour)) }
            for try await _ in bench.engine.importHistory(bench.peer, .fromNowOn) {}
            bench.clock.advance(seconds: 60)
            bench.health.save(bench.scale(80, hour: 3))
            try await bench.sync()
            _ = try bench.save(60, hour: 9)
            try await bench.sync()
            #expect(try bench.weights.sorted() == [60, 80])
            try bench.write { try $0.setSyncNote(EngineNotes.state("health"), Array(text.utf8)) }
            if text.hasPrefix("[") { try await bench.engine.enable(bench.peer) }
            for _ in 0..<3 {
                bench.clock.advance(seconds: 4_000)
                try await bench.sync()
            }
            #expect(try bench.weights.sorted() == [60, 80])
            #expect(try bench.status().historyToAsk == [.bodyMass, .stepCount])
            for try await _ in bench.engine.importHistory(bench.peer, .all) {}
            #expect(try bench.weights.sorted() == [60, 70, 71, 72, 80])
            #expect(try bench.status().historyToAsk.isEmpty)
            try bench.finish()
        }
    }

    @Test("C9: a state with an impossible number keeps what the user chose to import")
    func skippedByImpossibleState() async throws {
        let bench = try Bench(Self.plan)
        for hour in 0..<3 { bench.health.save(bench.scale(70 + Double(hour), hour: hour)) }
        for try await _ in bench.engine.importHistory(bench.peer, .fromNowOn) {}
        try forge(bench) { $0.failures = .max }
        for _ in 0..<3 { try await bench.sync() }
        #expect(try bench.weights.isEmpty)
        #expect(try bench.status().historyToAsk.isEmpty)
        try bench.finish()
    }

    @Test("C22: a state that cannot be read holds back what may have come from its feeds, for a day at most")
    func heldByDamage() async throws {
        let clock = ManualClock()
        let (health, store, hub) = (MemoryHealth(), try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            store,
            [
                SyncPeer(MemoryHealthPeer(health), plan: .weightTracker),
                SyncPeer(StorePeer(hub, id: "hub", as: "here"), plan: .everything),
            ], clock)
        for name: PeerID in ["health", "hub"] { try await engine.enable(name) }
        func write(_ kilograms: Double) async throws {
            try await store.write { _ = try $0.save(Sample(.bodyMass, kilograms, .kilogram, at: clock.now)) }
        }
        try await write(70)
        for _ in 0..<2 { try await engine.sync() }
        #expect(try hub.blockingRead { try $0.count() } == 1)
        let now = clock.now
        try await store.write { txn in
            for var anchor in try txn.anchors(of: "health") {
                (anchor.time, anchor.outcome) = (now, "more")
                try txn.setAnchor(anchor)
            }
            try txn.setSyncNote(EngineNotes.state("health"), Array("[[".utf8))
        }
        try await write(71)
        #expect(try await engine.sync()["hub"]?.issue == nil)
        #expect(try hub.blockingRead { try $0.count() } == 1)
        // The feed begins again and cannot be read, which does not end the hold either.
        health.set(failure: { _ in PeerError(.transient, "busy") })
        try await engine.enable("health")
        try await engine.sync()
        #expect(try hub.blockingRead { try $0.count() } == 1)
        clock.advance(seconds: 90_000)
        try await engine.sync()
        #expect(try hub.blockingRead { try $0.count() } == 2)
    }

    @Test("A lease that takes the place of a damaged one refuses the holder of that, whatever its token")
    func tokenAfterDamage() async throws {
        let bench = try await bench()
        let session = try bench.engine.session("health")
        for _ in 0..<3 {
            try await session.holdLease()
            let before = try bench.store.blockingRead { try $0.lease(of: "health").token }
            try bench.write { try $0.setSyncNote(EngineNotes.lease("health"), Array("{".utf8)) }
            await #expect(throws: SyncIssue.self) { try await session.update { _, _ in } }
            try await session.holdLease()
            #expect(try bench.store.blockingRead { try $0.lease(of: "health").token } > before)
        }
        try await session.releaseLease()
        try bench.finish()
    }

    @Test("The greatest token of a lease, and a lease that cannot be read, are no obstacle")
    func lease() async throws {
        let bench = try await bench()
        let texts = [#"{"token":18446744073709551615,"state":{"free":{}}}"#, "{", #"{"token":-1}"#]
        for text in texts {
            try bench.write { try $0.setSyncNote(EngineNotes.lease("health"), Array(text.utf8)) }
            #expect(try await bench.sync().issue == nil)
        }
        try await expectRecovery(bench)
    }

    @Test("A comparison with impossible numbers, or one that cannot be read, begins again and deletes nothing")
    func comparison() async throws {
        let bench = try await bench()
        var check = PeerComparison(at: bench.clock.now)
        (check.held, check.known, check.doubtful, check.openCount, check.imported) = (.max, .max, .max, .max, .max)
        let forged = try EngineNotes.encode(CheckNote(check: check))
        for bytes in [forged, Array("nothing".utf8)] {
            try bench.write { txn in
                try txn.setSyncNote(EngineNotes.check("health", .bodyMass), bytes)
                var state = try txn.state(of: "health")
                state[.bodyMass].checkDue = .distantPast
                try txn.setState(state, of: "health")
            }
            try await bench.sync()
            #expect(try bench.store.blockingRead { try $0.checkNote("health", .bodyMass) }.check == nil)
        }
        try await expectRecovery(bench)
    }

    @Test("A block of deletions that cannot be read is left out, and comparisons find what they missed")
    func unreadableBlock() async throws {
        let bench = try await bench()
        // The block had the deletion of this sample, so that the feed does not tell of it again.
        let gone = try #require(bench.health.live.first { $0.sample.quantity.value == 72 })
        bench.health.forget(gone.sample.id)
        try bench.write { try $0.setSyncNote(EngineNotes.deferred("health", .bodyMass, 0), [1, 2, 3]) }
        try forge(bench) { $0[.bodyMass].waiting.blocks = DeferredBlocks(first: 0, next: 1) }
        bench.health.save(bench.scale(73, hour: 4))
        for _ in 0..<3 {
            bench.clock.advance(seconds: 4_000)
            try await bench.sync()
        }
        #expect(try bench.weights.sorted() == [60, 70, 71, 73])
        try bench.finish()
    }

    @Test("What another store keeps of its reader starts over if it cannot be read")
    func reader() async throws {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let engine = Bench.makeEngine(
            here, [SyncPeer(StorePeer(there, id: "there", as: "here"), plan: .everything)], clock)
        try await engine.enable("there")
        try await here.write { _ = try $0.save(Sample(.bodyMass, 70, .kilogram, at: clock.now)) }
        #expect(try await engine.sync()["there"]?.issue == nil)
        try await there.write { txn in
            for name in [EngineNotes.memory("here"), EngineNotes.reader("here")] {
                try txn.setSyncNote(name, Array("nothing".utf8))
            }
        }
        try await here.write { _ = try $0.save(Sample(.bodyMass, 71, .kilogram, at: clock.now)) }
        for _ in 0..<2 {
            clock.advance(seconds: 60)
            #expect(try await engine.sync()["there"]?.issue == nil)
        }
        for store in [here, there] { #expect(try store.blockingRead { try $0.count() } == 2) }
    }
}
