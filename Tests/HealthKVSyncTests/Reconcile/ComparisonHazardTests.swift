import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Comparisons: moved edits, new versions midway, locks, devices that are still filled")
struct ComparisonHazardTests {
    /// An engine that compares one page of three samples in a pass.
    private func engine(_ bench: Bench) -> SyncEngine {
        Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock
        ) { options in (options.pageSize, options.checkPages) = (3, 1) }
    }

    private func note(_ bench: Bench) throws -> CheckNote {
        try bench.store.blockingRead { try $0.checkNote("health", .bodyMass) }
    }

    private func held(_ id: SampleID, _ bench: Bench) throws -> Sample? {
        try bench.store.blockingRead { try $0.sample(id: id) }
    }

    private func events(_ bench: Bench) throws -> [SyncConflict.Event] {
        try bench.store.blockingRead { try $0.conflicts() }.map(\.event)
    }

    @Test(
        "C7, C26: an import whose edit moved it to another page of the comparison is not taken for gone",
        arguments: [(2, 17), (7, 3)])
    func editMovedOverBorder(index: Int, halfHours: Int) async throws {
        let bench = try Bench { $0.pageSize = 3 }
        try await bench.engine.enable(bench.peer)
        let ids = (0..<10).map { bench.health.save(bench.scale(60 + Double($0), hour: $0)) }
        try await bench.sync()
        let id = ids[index]
        let half = Instant.nanosecondsPerSecond * 1_800
        let moved = Instant(nanoseconds: bench.time(0).nanoseconds + Int64(halfHours) * half)
        try bench.write { txn in
            _ = try txn.overlay(id: id) { sample in
                sample.start = moved
                sample.end = moved
            }
        }
        for _ in 0..<2 { _ = try await bench.engine.reconcile(bench.peer) }
        #expect(bench.health.live.contains { $0.sample.id == id })
        #expect(try held(id, bench)?.start == moved)
        #expect(try events(bench).isEmpty)
        #expect(try bench.weights.count == 10)
        try bench.finish()
    }

    @Test("C26: a foreign sample that comes back as a new version during the second comparison is not taken for gone")
    func newVersionDuringComparison() async throws {
        let bench = try Bench()
        try await engine(bench).enable(bench.peer)
        let ids = (0..<10).map { hour in
            let sync = hour == 8 ? "a" : nil
            return bench.health.save(bench.scale(60 + Double(hour), hour: hour, sync: sync, version: hour == 8 ? 1 : 0))
        }
        try await engine(bench).sync()
        bench.health.forget(ids[8])
        bench.clock.advance(seconds: 31 * 86_400)
        for _ in 0..<9 { try await engine(bench).sync() }
        #expect(try note(bench).missing == [ids[8]])
        bench.clock.advance(seconds: 3_600)
        // The second comparison passes the place of the sample; then its source saves it again, with a correction.
        try await engine(bench).sync()
        #expect(try note(bench).check?.missing == [ids[8]])
        bench.health.save(bench.scale(68.5, hour: 8, sync: "a", version: 2))
        for _ in 0..<4 { try await engine(bench).sync() }
        #expect(try held(ids[8], bench)?.quantity.value == 68.5)
        #expect(try events(bench).isEmpty)
        #expect(try bench.weights.count == 10)
        try bench.finish()
    }

    @Test("C26: a comparison whose last look at the feed failed does not delete what its repetition was shown")
    func judgedAfterLock() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(60, hour: 0))
        let id = bench.health.save(bench.scale(80, hour: 5))
        try await bench.sync()
        bench.health.forget(id)
        _ = try await bench.engine.reconcile(bench.peer)
        #expect(try note(bench).missing == [id])
        // The second comparison has seen all pages when the device is locked.
        bench.health.lockAtNextPull()
        await #expect(throws: SyncIssue.self) { try await bench.engine.reconcile(bench.peer) }
        bench.health.set(availability: .available)
        #expect(try held(id, bench) != nil)
        // The sample can be seen again, and the feed has nothing to tell of that.
        bench.health.restore(id, bench.scale(80, hour: 5))
        bench.clock.advance(seconds: 3_700)
        try await bench.sync()
        #expect(try bench.weights.sorted() == [60, 80])
        #expect(try events(bench).isEmpty)
        try bench.finish()
    }

    @Test("C26, C28: on a device that is still being filled an import with a later version is kept like any other")
    func editedImportInDoubt() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(50, hour: 0))
        bench.health.save(bench.scale(61, hour: 5, sync: "a", version: 1))
        let plain = bench.health.save(bench.scale(70, hour: 6))
        try await bench.sync()
        let there = bench.health.save(bench.scale(62, hour: 5, sync: "a", version: 2))
        try await bench.sync()
        #expect(try bench.weights == [50, 62, 70])
        // The same data on another device, which a cloud has filled in part.
        bench.health.forget(there)
        bench.health.forget(plain)
        bench.health.invalidateAnchors()
        for _ in 0..<2 { try await bench.sync() }
        let state = try bench.engine.session(bench.peer).state()
        #expect(!state.isDoubted && !state[.bodyMass].doubt.isOpen)
        #expect(try bench.weights == [50, 62, 70])
        for _ in 0..<2 { _ = try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights == [50, 62, 70])
        #expect(try events(bench).isEmpty)
        try bench.finish()
    }

    @Test(
        "C26: what a cloud brought to a new device in the end goes like anything else that is gone there",
        arguments: [false, true])
    func filledLateAndGone(isNamed: Bool) async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(50, hour: 0))
        let there = bench.health.save(bench.scale(61, hour: 5, sync: isNamed ? "a" : nil, version: isNamed ? 1 : 0))
        try await bench.sync()
        let entry = try #require(bench.health.live.first { $0.sample.id == there })
        bench.health.forget(there)
        bench.health.invalidateAnchors()
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights == [50, 61])
        // The cloud brings it.
        bench.health.bringBack(entry)
        try await bench.sync()
        #expect(try bench.weights == [50, 61])
        // The user deletes it, and Health has forgotten that by the time that the app looks.
        bench.health.forget(there)
        for _ in 0..<2 { _ = try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights == [50])
        try bench.finish()
    }

    @Test("C26: an own sample without a sync identifier that shows itself during the comparison is not taken for gone")
    func unnamedBackDuringComparison() async throws {
        let bench = try Bench()
        try await engine(bench).enable(bench.peer)
        for hour in [0, 1, 2, 3, 4, 5, 6, 7, 9] { bench.health.save(bench.scale(60 + Double(hour), hour: hour)) }
        let own = Sample(.bodyMass, 68, .kilogram, at: bench.time(8), source: Source(name: "app"))
        let there = bench.health.save(own, app: "app")
        for _ in 0..<2 { try await engine(bench).sync() }
        #expect(try bench.weights.contains(68))
        let entry = try #require(bench.health.live.first { $0.sample.id == there })
        bench.health.forget(there)
        bench.clock.advance(seconds: 31 * 86_400)
        // The comparison passes the place of the sample; then a cloud brings the sample again, under its id.
        try await engine(bench).sync()
        #expect(try note(bench).check?.ownMissing.map(\.idAtPeer) == [there])
        bench.health.bringBack(entry)
        for _ in 0..<4 { try await engine(bench).sync() }
        #expect(bench.held.contains(68))
        #expect(try bench.weights.contains(68))
        #expect(try events(bench).isEmpty)
        try bench.finish()
    }

    @Test("C7: an edit that was taken off an import does not come back when the source makes the sample again")
    func removedEditComesBack() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(50, hour: 0))
        let first = bench.scale(61, hour: 5, sync: "a", version: 1)
        let id = bench.health.save(first)
        try await bench.sync()
        try bench.write { txn in _ = try txn.overlay(id: id) { $0.quantity.value = 70 } }
        // The sample is out of sight for a while, and comes back with the edit.
        bench.health.forget(id)
        for _ in 0..<2 { _ = try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights == [50])
        bench.health.restore(id, first)
        _ = try await bench.engine.reconcile(bench.peer)
        #expect(try bench.weights == [50, 70])
        // The user takes the edit off, and later the source deletes the sample and makes it again.
        try bench.write { txn in _ = try txn.removeOverlay(id: id) }
        #expect(try bench.weights == [50, 61])
        bench.health.delete(id)
        try await bench.sync()
        #expect(try bench.weights == [50])
        bench.health.save(bench.scale(62, hour: 5, sync: "a", version: 2))
        try await bench.sync()
        #expect(try bench.weights == [50, 62])
        try bench.finish()
    }

    @Test("C9, A4: the deletion of a sample brings nothing of the skipped history of another app with its identifier")
    func skippedByIdentifier() async throws {
        let bench = try Bench()
        var older = bench.scale(72, hour: 1, sync: "a", version: 1)
        older.source = Source(bundle: "other", name: "Other")
        bench.health.save(older, app: "other")
        for try await _ in bench.engine.importHistory(bench.peer, .fromNowOn) {}
        #expect(try bench.weights.isEmpty)
        bench.clock.advance(seconds: 60)
        let there = bench.health.save(bench.scale(70, hour: 2, sync: "a", version: 1))
        try await bench.sync()
        #expect(try bench.weights == [70])
        bench.health.delete(there)
        try await bench.sync()
        #expect(try bench.weights.isEmpty)
        try bench.finish()
    }

    @Test("A deleted import that the user restores from the list of conflicts is not presumed gone")
    func restoredImport() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(60, hour: 0))
        let id = bench.health.save(bench.scale(80, hour: 5))
        try await bench.sync()
        try bench.write { _ = try $0.overlay(id: id) { $0.quantity = Quantity(81, .kilogram) } }
        bench.health.delete(id)
        try await bench.sync()
        #expect(try bench.weights == [60])
        try bench.write { txn in
            _ = try txn.restore(try #require(try txn.conflicts().first { $0.displaced.id == id }))
        }
        for _ in 0..<3 {
            bench.clock.advance(seconds: 31 * 86_400)
            for _ in 0..<2 { _ = try await bench.engine.reconcile(bench.peer) }
        }
        #expect(try bench.weights == [60, 81])
        try bench.finish()
    }
}
