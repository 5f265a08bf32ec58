import SyncSupport
import Testing

@testable import HealthKVSync

/// The store raises versions of imports by itself, and the source goes on with its own.
@Suite("Versions of what others wrote")
struct ForeignVersionTests {
    /// A weight of 60 kg by another app, which names it, and an earlier one that shows what can be seen.
    private func makeBench() async throws -> (bench: Bench, id: SampleID) {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(50, hour: 0))
        let id = bench.health.save(weight(1, bench))
        try await bench.sync()
        #expect(try bench.weights == [50, 61])
        return (bench, id)
    }

    /// A version of the named weight: each weighs a kilogram more.
    private func weight(_ version: Int64, _ bench: Bench) -> Sample {
        bench.scale(60 + Double(version), hour: 5, sync: "a", version: version)
    }

    /// The source saves a version, which takes the place of the one before. Answers what the peer calls it.
    @discardableResult
    private func edit(_ version: Int64, of id: SampleID, _ bench: Bench) async throws -> SampleID {
        let there = bench.health.save(weight(version, bench))
        let report = try await bench.sync()
        #expect(report.pulled.deleted == 0)
        #expect(try bench.weights == [50, 60 + Double(version)])
        let link = try bench.store.blockingRead { try $0.link(peer: bench.peer, idAtPeer: there) }
        #expect(link?.sample == id && link?.version == version)
        return there
    }

    /// Two edits that are taken off again raise the row above what the peer has.
    private func raise(_ id: SampleID, _ bench: Bench) throws {
        for value in [70.0, 80] {
            try bench.write { txn in
                _ = try txn.overlay(id: id) { $0.quantity.value = value }
                _ = try txn.removeOverlay(id: id)
            }
        }
    }

    /// The peer forgets what it calls `id`, and two comparisons miss it.
    private func loseSight(of id: SampleID, _ bench: Bench) async throws {
        bench.health.forget(id)
        for _ in 0..<2 { _ = try await bench.engine.reconcile(bench.peer) }
        #expect(try bench.weights == [50])
    }

    @Test("C7: after an edit was taken off an import each later version of its source replaces it, and none deletes it")
    func overlayTakenOff() async throws {
        let (bench, id) = try await makeBench()
        try raise(id, bench)
        var there = id
        for version in 2...7 as ClosedRange<Int64> { there = try await edit(version, of: id, bench) }
        // Read from its beginning the feed says nothing new.
        bench.health.invalidateAnchors()
        #expect(try await bench.sync().pulled.imported == 0)
        #expect(try bench.weights == [50, 67])
        bench.health.delete(there)
        try await bench.sync()
        #expect(try bench.weights == [50])
        try bench.finish()
    }

    @Test("C22: a version that another store brought does not go with an older one of the peer, and goes with its own")
    func newerElsewhere() async throws {
        let (bench, id) = try await makeBench()
        try bench.write { txn in
            var newer = try #require(try txn.sample(id: id))
            (newer.version, newer.quantity.value) = (3, 63)
            newer.modified = ChangeClock(time: newer.modified!.time + 1, replica: 77)
            _ = try txn.merge(newer)
        }
        let there = bench.health.save(weight(2, bench))
        try await bench.sync()
        #expect(try bench.weights == [50, 63], "the replacement of the first version takes nothing along")
        bench.health.delete(there)
        try await bench.sync()
        #expect(try bench.weights == [50, 63], "the second version is not the one that is held")
        let last = bench.health.save(weight(4, bench))
        try await bench.sync()
        #expect(try bench.weights == [50, 64])
        bench.health.delete(last)
        try await bench.sync()
        #expect(try bench.weights == [50])
        try bench.finish()
    }

    @Test(
        "C22: the peer's deletion of a version buries no later one that another store brought before the peer showed it"
    )
    func deletionBeforeReplacement() async throws {
        let (bench, id) = try await makeBench()
        try bench.write { txn in
            var newer = try #require(try txn.sample(id: id))
            (newer.version, newer.quantity.value) = (2, 62)
            newer.modified = ChangeClock(time: newer.modified!.time + 1, replica: 77)
            _ = try txn.merge(newer)
        }
        // The cloud brings the end of the first version before the second one.
        bench.health.delete(id)
        try await bench.sync()
        #expect(try bench.weights == [50, 62])
        // Read from its beginning, the feed tells it again.
        bench.health.invalidateAnchors()
        try await bench.sync()
        #expect(try bench.weights == [50, 62])
        let there = bench.health.save(weight(2, bench))
        try await bench.sync()
        #expect(try bench.weights == [50, 62])
        bench.health.delete(there)
        try await bench.sync()
        #expect(try bench.weights == [50], "the second version goes with its own deletion")
        try bench.finish()
    }

    @Test("C22: the peer's deletion of a version without a number removes an import that the store has since copied")
    func deletionWithoutNumber() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(50, hour: 0))
        let id = bench.health.save(weight(0, bench))
        try await bench.sync()
        #expect(try bench.weights == [50, 60])
        // A restored store is another replica, and the clock of the row is that of the former one.
        try bench.write { try $0.beginEpoch() }
        try await bench.sync()
        bench.health.delete(id)
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights == [50])
        try bench.finish()
    }

    @Test("C22: a version from a file that says when it was written goes with the peer's like one that was raised here")
    func newerByFile() async throws {
        var seen: [[[Double]]] = []
        for isOfFile in [false, true] {
            let (bench, id) = try await makeBench()
            try bench.write { txn in
                var newer = try #require(try txn.sample(id: id))
                let replica = try #require(newer.modified?.replica)
                (newer.version, newer.quantity.value) = (3, 63)
                newer.modified = ChangeClock(time: newer.end - 1, replica: isOfFile ? 0 : replica)
                _ = try txn.merge(newer)
            }
            var weights = [try bench.weights]
            let there = bench.health.save(weight(2, bench))
            try await bench.sync()
            weights.append(try bench.weights)
            bench.health.delete(there)
            try await bench.sync()
            weights.append(try bench.weights)
            try bench.finish()
            seen.append(weights)
        }
        #expect(seen[0] == seen[1] && seen[1].last == [50])
    }

    @Test("C7: beneath an edit that was laid again is what the source says last") func overlayLaidAgain() async throws {
        let (bench, id) = try await makeBench()
        try bench.write { txn in
            _ = try txn.overlay(id: id) { $0.quantity.value = 70 }
            _ = try txn.removeOverlay(id: id)
            _ = try txn.overlay(id: id) { $0.quantity.value = 71 }
        }
        bench.health.save(weight(2, bench))
        try await bench.sync()
        #expect(try bench.weights == [50, 71])
        try bench.write { _ = try $0.removeOverlay(id: id) }
        #expect(try bench.weights == [50, 62])
        try await edit(3, of: id, bench)
        try bench.finish()
    }

    @Test("An import over which the app saved is not lost when its source replaces it") func savedOver() async throws {
        let (bench, id) = try await makeBench()
        for value in [70.0, 71] {
            try bench.write { txn in
                var sample = try #require(try txn.sample(id: id))
                (sample.quantity.value, sample.version, sample.modified) = (value, 0, nil)
                _ = try txn.save(sample)
            }
        }
        bench.health.save(weight(2, bench))
        try await bench.sync()
        #expect(try bench.weights == [50, 71])
        try await edit(3, of: id, bench)
        try bench.finish()
    }

    @Test("C26: a sample that was presumed gone and came back is replaced by later versions of its source")
    func revived()
        async throws
    {
        let (bench, id) = try await makeBench()
        try await loseSight(of: id, bench)
        bench.health.restore(id, weight(1, bench))
        #expect(try await bench.engine.reconcile(bench.peer).imported == 1)
        #expect(try bench.weights == [50, 61])
        for version in 2...4 as ClosedRange<Int64> { try await edit(version, of: id, bench) }
        try bench.finish()
    }

    @Test("C26: a sample that its source has edited comes back too, under the id that the peer knows it by")
    func revivedAfterEdit() async throws {
        let (bench, id) = try await makeBench()
        let there = try await edit(2, of: id, bench)
        try await loseSight(of: there, bench)
        bench.health.restore(there, weight(2, bench))
        #expect(try await bench.engine.reconcile(bench.peer).imported == 1)
        #expect(try bench.weights == [50, 62])
        for version in 3...5 as ClosedRange<Int64> { try await edit(version, of: id, bench) }
        try bench.finish()
    }

    @Test(
        "C22: what its source makes again with a version above the deleted one comes back, however far it was raised here"
    )
    func madeAnew() async throws {
        let (bench, id) = try await makeBench()
        try raise(id, bench)
        bench.health.delete(id)
        try await bench.sync()
        #expect(try bench.weights == [50])
        // Not above it.
        let again = bench.health.save(weight(1, bench))
        try await bench.sync()
        #expect(try bench.weights == [50])
        bench.health.delete(again)
        try await bench.sync()
        try await edit(2, of: id, bench)
        try bench.finish()
    }
}
