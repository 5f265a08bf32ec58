import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("What a feed that fails does not hide")
struct BrokenFeedTests {
    private func steps(_ bench: Bench) -> Sample {
        Sample(
            .stepCount, 500, .count, from: bench.time(0), to: bench.time(1), source: Source(name: "Watch"),
            origin: .imported)
    }

    @Test("C11: while the feed of one type keeps failing, revoked reading of another type is still suspected")
    func revoked() async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.both), .stepCount: TypePlan(.pull)]))
        bench.health.set(failure: { $0 == .stepCount ? PeerError(.invalid, "it is broken") : nil })
        try await bench.engine.enable(bench.peer)
        for hour in 0..<5 { bench.health.save(bench.scale(72, hour: hour)) }
        let report = try await bench.sync()
        #expect(report.pulled.imported == 5 && report.issue?.code == .invalid)
        // A pass with a feed that failed is no success.
        #expect(try bench.status().lastSync == nil)
        bench.health.set(unreadable: [.bodyMass])
        for _ in 0..<2 {
            bench.clock.advance(seconds: 3_700)
            try await bench.engine.enterForeground()
        }
        #expect(try bench.status().notices.map(\.code) == [.readingRevoked])
        #expect(try bench.status().reading[.bodyMass] == .suspectedRevoked)
        #expect(try bench.weights.count == 5)
        try bench.finish()
    }

    @Test("C36: while one feed keeps failing, a plan that only reads is told that nothing could be read for a day")
    func unreadable() async throws {
        let bench = try Bench(.walkingApp)
        bench.health.set(failure: { $0 == .stepCount ? PeerError(.invalid, "it is broken") : nil })
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.clock.advance(seconds: 25 * 3_600)
        try await bench.engine.enterForeground()
        #expect(try bench.status().notices.map(\.code) == [.nothingReadable])
        #expect(try bench.status().advisesSwitchingOff)
        try bench.finish()
    }

    @Test("C36: a wake-up that brings samples takes back the notice that nothing could be read")
    func readableAgain() async throws {
        let bench = try Bench(SyncPlan(types: [.stepCount: TypePlan(.pull)]))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        bench.clock.advance(seconds: 25 * 3_600)
        try await bench.engine.enterForeground()
        #expect(try bench.status().notices.map(\.code) == [.nothingReadable])
        #expect(try bench.status().issue?.code == .accessDenied)
        bench.health.save(steps(bench))
        let request = PassRequest(types: [.stepCount], pushes: false)
        let report = try await bench.engine.session(bench.peer).inTurn { try await $0.pass(request) }
        #expect(report.pulled.imported == 1)
        #expect(try bench.status().notices.isEmpty && bench.status().issue == nil)
        #expect(try bench.status().reading[.stepCount] == .readable)
        try bench.finish()
    }
}
