import SyncSupport
import Testing

@testable import HealthKVSync

/// Of several weights at one time one shows: the one that counts as written last (SEMANTICS C2).
@Suite("Several weights at one time")
struct DuplicateTests {
    private func makeBench(pageSize: Int = 100) throws -> Bench {
        try Bench(.weightTracker, health: MemoryHealth(), clock: ManualClock()) { options in
            options.pageSize = pageSize
        }
    }

    private func weight(_ kilograms: Double, _ bench: Bench, hour: Int = 0) -> Sample {
        bench.scale(kilograms, hour: hour)
    }

    private func enter(_ sample: Sample, _ kilograms: Double, _ bench: Bench) throws -> Sample {
        let own = Sample(.bodyMass, kilograms, .kilogram, at: sample.start)
        try bench.write { _ = try $0.save(own) }
        return own
    }

    private func shown(_ bench: Bench) throws -> [Double] {
        try bench.store.read { try $0.samples(of: .bodyMass).map(\.quantity.value) }
    }

    @Test(
        "C2: of two that others wrote, the later one of the feed shows, whatever the pages and the peer that brought them first",
        arguments: [1, 2, 100], [[70, 80], [80, 70], [75, 80, 70]] as [[Double]])
    func feedOrder(pageSize: Int, values: [Double]) async throws {
        let bench = try makeBench(pageSize: pageSize)
        // Between them stands what is of another time.
        for (index, value) in values.enumerated() {
            bench.health.save(weight(value, bench))
            bench.health.save(weight(90, bench, hour: -10 - index))
        }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try shown(bench).last == values.last)
        // What is read again stays as it is.
        bench.health.invalidateAnchors()
        let before = try bench.store.blockingRead { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
        try await bench.sync()
        #expect(
            try bench.store.blockingRead { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) } == before)
        // One that comes later is the later one of the feed.
        bench.health.save(weight(60, bench))
        try await bench.sync()
        #expect(try shown(bench).last == 60)
        try bench.finish()
    }

    @Test(
        "C2: one that others wrote after the last look shows, also if the feed is read from its beginning next",
        arguments: ["month", "authorize", "sync"])
    func laterThanLook(next: String) async throws {
        let bench = try makeBench()
        try await bench.engine.enable(bench.peer)
        try await bench.engine.authorize(bench.peer)
        bench.health.save(weight(90, bench, hour: -10))
        let own = try enter(weight(0, bench), 70, bench)
        for _ in 0..<2 { try await bench.sync() }
        bench.clock.advance(seconds: next == "month" ? 31 * 86_400 : 3_600)
        bench.health.save(weight(80, bench))
        if next == "authorize" { try await bench.engine.authorize(bench.peer) }
        try await bench.sync()
        #expect(try shown(bench) == [90, 80])
        #expect(try bench.store.blockingRead { try $0.sample(id: own.id) } != nil)
        try bench.finish()
    }

    @Test("C2: the deletion of the one that shows brings the next later one back") func nextOne() async throws {
        let bench = try makeBench()
        try await bench.engine.enable(bench.peer)
        let ids = [70, 80, 75].map { bench.health.save(weight($0, bench)) }
        try await bench.sync()
        #expect(try shown(bench) == [75])
        bench.health.delete(ids[2])
        try await bench.sync()
        #expect(try shown(bench) == [80])
        bench.health.delete(ids[1])
        try await bench.sync()
        #expect(try shown(bench) == [70])
        try bench.finish()
    }

    @Test("C2: at a first import what was entered here beats what another app had written, and its edit does too")
    func firstImport() async throws {
        let bench = try makeBench()
        let other = weight(80, bench)
        let own = try enter(other, 70, bench)
        bench.health.save(other)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try shown(bench) == [70])
        try bench.write { txn in
            var edit = try #require(try txn.sample(id: own.id))
            edit.quantity.value = 71
            _ = try txn.save(edit)
        }
        try await bench.sync()
        #expect(try shown(bench) == [71])
        try bench.finish()
    }

    @Test(
        "C2: what another app writes after our last look beats what was entered before, and not what is entered since")
    func laterPulls() async throws {
        let bench = try makeBench()
        try await bench.engine.enable(bench.peer)
        let other = weight(80, bench)
        let own = try enter(other, 70, bench)
        bench.clock.advance(seconds: 60)
        // A look that finds nothing counts too.
        try await bench.sync()
        bench.clock.advance(seconds: 60)
        bench.health.save(other)
        try await bench.sync()
        #expect(try shown(bench) == [80])
        bench.clock.advance(seconds: 60)
        try bench.write { txn in
            var edit = try #require(try txn.sample(id: own.id))
            edit.quantity.value = 71
            _ = try txn.save(edit)
        }
        #expect(try shown(bench) == [71])
        bench.clock.advance(seconds: 60)
        bench.health.save(weight(81, bench))
        // When that was written is not known but that it was after our last look: the edit may be later.
        try await bench.sync()
        #expect(try shown(bench) == [71])
        bench.clock.advance(seconds: 60)
        bench.health.save(weight(82, bench))
        try await bench.sync()
        #expect(try shown(bench) == [82])
        try bench.finish()
    }

    @Test("C2: an import that counts as written before an entry is not sent anywhere for that, nor changed")
    func quiet() async throws {
        let bench = try makeBench()
        bench.health.save(weight(80, bench))
        bench.health.save(weight(81, bench))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let commit = try bench.store.info().commit
        for _ in 0..<3 { try await bench.sync() }
        #expect(try bench.store.info().commit == commit + 3 * Bench.commitsOfLease)
        #expect(bench.health.pushes == 0)
        try bench.finish()
    }
}
