import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("Samples of a peer that break the rules of the store")
struct InvalidSampleTests {
    @Test("They are left out, counted and told, and keep nothing else from being pulled or sent") func foreign()
        async throws
    {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(60, hour: 1))
        try await bench.sync()
        var withoutZone = bench.scale(61, hour: 2)
        withoutZone.timeZone = ""
        var long = bench.scale(62, hour: 3)
        long.metadata = ["text": .string(String(repeating: "x", count: Sample.textLimit + 1))]
        let bad = [
            withoutZone, long, bench.scale(63, hour: 4, sync: "below", version: -1),
            bench.scale(64, hour: 5, sync: "above", version: .max),
        ]
        let ids = bad.map { bench.health.save($0) }
        bench.health.save(bench.scale(70, hour: 6))
        _ = try bench.save(72, hour: 7)
        let report = try await bench.sync()
        #expect(report.issue == nil && report.pulled.invalid == 4 && report.pulled.imported == 1)
        #expect(try bench.weights == [60, 70, 72])
        #expect(bench.held.contains(72))
        #expect(
            Set(report.pulled.leftOut.map(\.id)) == Set(ids)
                && report.pulled.leftOut.allSatisfy { $0.type == .bodyMass })
        #expect(Set(report.pulled.leftOut.map(\.reason)).count >= 3, "\(report.pulled.leftOut)")
        let notices = try bench.status().notices
        #expect(notices.map(\.code) == [.invalidSamples])
        let named = try #require(report.pulled.leftOut.first { notices[0].detail.contains($0.id.description) })
        #expect(notices[0].detail.hasSuffix(named.reason))
        for id in ids { bench.health.delete(id) }
        #expect(try await bench.sync().issue == nil)
        #expect(try bench.weights == [60, 70, 72])
        try bench.finish()
    }

    @Test("C32: what is not finite is left out of a pull, counted and told") func notFinite() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.save(bench.scale(60, hour: 1))
        try await bench.sync()
        var noted = bench.scale(61, hour: 2)
        noted.metadata = ["n": .number(.infinity)]
        bench.health.save(bench.scale(62, hour: 5))
        let bad = [bench.scale(.nan, hour: 3), bench.scale(.infinity, hour: 4), noted].map { bench.health.save($0) }
        let report = try await bench.sync()
        #expect(report.issue == nil && report.pulled.invalid == 3 && report.pulled.imported == 1, "\(report)")
        #expect(Set(report.pulled.leftOut.map(\.id)) == Set(bad), "\(report.pulled.leftOut)")
        #expect(try bench.weights == [60, 62])
        #expect(try bench.status().notices.map(\.code) == [.invalidSamples])
        // The next ones replace the notice, and name themselves.
        let next = bench.health.save(bench.scale(.nan, hour: 9))
        #expect(try await bench.sync().pulled.leftOut.map(\.id) == [next])
        let notices = try bench.status().notices
        #expect(notices.count == 1 && notices[0].detail.contains(next.description))
        try bench.finish()
    }

    @Test("C21: what this app wrote is adopted whatever version it has below the first") func own() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let old = Sample(
            .bodyMass, 65, .kilogram, from: bench.time(1), to: bench.time(1), source: Source(name: "app"),
            syncIdentifier: "own", version: -3)
        bench.health.save(old, app: "app")
        let report = try await bench.sync()
        #expect(report.pulled.adopted == 1 && report.pulled.invalid == 0)
        #expect(try bench.weights == [65])
        try bench.finish()
    }

    @Test("A record that no store should give keeps the rest of its page from nothing") func records() async throws {
        let bench = try Bench()
        let good = Sample(
            .bodyMass, 70, .kilogram, from: bench.time(1), to: bench.time(1), source: Source(name: "other"), version: 1)
        var bad = good
        (bad.id, bad.version) = (SampleID(), -1)
        let deletion = DeletedSample(
            id: good.id, type: .bodyMass, source: good.source.identity, syncIdentifier: nil, version: .max,
            modified: ChangeClock(time: bench.time(2), replica: 9))
        let page = PullPage(
            additions: [PulledSample(bad), PulledSample(good)], deletions: [PulledDeletion(deletion)], token: nil,
            isDrained: true)
        let now = bench.clock.now
        let report = try await bench.store.write { txn in
            var merger = RecordMerger(peer: "other", plan: .everything, now: now, known: nil)
            try merger.apply(page, in: &txn)
            return merger.report
        }
        #expect(report.invalid == 2 && report.imported == 1 && report.deleted == 0)
        #expect(Set(report.leftOut.map(\.id)) == [bad.id, good.id])
        #expect(try bench.weights == [70])
        try bench.finish()
    }
}
