import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("An import that is skipped")
struct SkippedImportTests {
    @Test("C9: what comes after a skipped import is kept whatever its date, also when the feed is read again")
    func skipThenBackdated()
        async throws
    {
        let bench = try Bench { $0.pageSize = 1 }
        for hour in 1...3 { bench.health.save(bench.scale(72, hour: hour)) }
        let own = Sample(
            .bodyMass, 65, .kilogram, at: bench.time(2), source: Source(name: "app"), syncIdentifier: "own")
        bench.health.save(own, app: "app")
        for try await _ in bench.engine.importHistory(bench.peer, .fromNowOn) {}
        #expect(try bench.weights == [65])
        bench.clock.advance(seconds: 60)
        // The scale had no radio for days, and sends now what it weighed then.
        bench.health.save(bench.scale(70, hour: 0, sync: "late", version: 1))
        try await bench.sync()
        #expect(try bench.weights.sorted() == [65, 70])
        // What came behind the last sync is read before the feed is read again.
        bench.clock.advance(seconds: 31 * 86_400)
        bench.health.save(bench.scale(71, hour: -50))
        bench.health.save(bench.scale(69, hour: 0, sync: "late", version: 2))
        try await bench.sync()
        #expect(try bench.weights.sorted() == [65, 69, 71])
        try bench.write { try $0.removeAnchor(peer: "health", type: .bodyMass) }
        try await bench.sync()
        try await bench.engine.authorize(bench.peer)
        try await bench.sync()
        try await bench.engine.reconcile(bench.peer)
        #expect(try bench.weights.sorted() == [65, 69, 71])
        try bench.finish()
    }
}
