import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("Sums of days while a feed is read")
struct DaySumTests {
    @Test("A27: while the system condenses samples, page by page, no sum of a day dips, also after a crash")
    func condensing()
        async throws
    {
        let step = Mutex<(pages: Int, sums: [Double])>((0, []))
        let plan = SyncPlan(types: [.stepCount: TypePlan(.pull)])
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        let bench = try Bench(plan, health: MemoryHealth(), clock: clock, store: store) { options in
            options.pageSize = 1
            options.atStep = { reached in
                guard reached == .pageCommitted else { return }
                let sum = try store.read { try $0.samples(of: .stepCount).map(\.quantity.value).reduce(0, +) }
                let isThird = step.withLock { step in
                    step.sums.append(sum)
                    step.pages += 1
                    return step.pages == 6
                }
                if isThird { throw CancellationError() }
            }
        }
        func steps(_ count: Double, _ minutes: Range<Int64>) -> Sample {
            let minute = 60 * Instant.nanosecondsPerSecond
            return Sample(
                .stepCount, count, .count, from: bench.time(0) + minutes.lowerBound * minute,
                to: bench.time(0) + minutes.upperBound * minute, source: Source(name: "Phone"), origin: .imported)
        }
        let ids = (0..<4).map { bench.health.save(steps(100, Int64($0)..<Int64($0) + 1)) }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        step.withLock { $0 = (3, []) }
        for id in ids { bench.health.delete(id) }
        bench.health.save(steps(400, 0..<4))
        await #expect(throws: CancellationError.self) { try await bench.sync() }
        try await bench.sync()
        let sums = step.withLock { $0.sums }
        #expect(sums.count == 5 && sums.allSatisfy { $0 >= 400 })
        #expect(sums.last == 400)
        #expect(try store.blockingRead { try $0.count(of: .stepCount) } == 1)
        try bench.finish()
    }

    @Test("C15: a sample that is moved to another day has the totals of both days asked for again") func movedTotals()
        async throws
    {
        let bench = try Bench(.walkingApp) { $0.zone = "UTC" }
        try await bench.engine.enable(bench.peer)
        let (before, after) = (bench.clock.now - .days(9), bench.clock.now - .days(6))
        func steps(at time: Instant, version: Int64) -> Sample {
            Sample(
                .stepCount, 500, .count, from: time, to: time, source: Source(name: "Watch"), syncIdentifier: "walk",
                version: version, origin: .imported)
        }
        let days = try [before, after].map {
            try #require(LocalDays.names(from: $0, to: $0, zone: "UTC", limit: 1).first)
        }
        func values() throws -> [Double?] {
            let totals = try bench.store.read { try $0.totals(of: .stepCount, peer: "health") }
            return days.map { day in totals.first { $0.day == day }?.value ?? nil }
        }
        bench.health.set(total: Quantity(500, .count), of: .stepCount, days[0])
        bench.health.save(steps(at: before, version: 1))
        try await bench.sync()
        #expect(try values() == [500, nil])
        bench.health.set(total: Quantity(20, .count), of: .stepCount, days[0])
        bench.health.set(total: Quantity(500, .count), of: .stepCount, days[1])
        bench.health.save(steps(at: after, version: 2))
        try await bench.sync()
        #expect(try values() == [20, 500])
        try bench.finish()
    }

    @Test("C15: a total that is read again after travel has the new zone, although its value is the same")
    func travel() async throws {
        let bench = try Bench(SyncPlan(types: [.stepCount: TypePlan(.pull, keepsDailyTotals: true)])) {
            $0.zone = "UTC"
        }
        let day = try #require(LocalDays.names(from: bench.clock.now, to: bench.clock.now, zone: "UTC", limit: 1).first)
        bench.health.set(total: Quantity(500, .count), of: .stepCount, day)
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        func zone() throws -> String? {
            try bench.store.read { try $0.totals(of: .stepCount, peer: "health") }.first { $0.day == day }?.zone
        }
        #expect(try zone() == "UTC")
        let plan = SyncPlan(types: [.stepCount: TypePlan(.pull, keepsDailyTotals: true)])
        let there = Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: plan)], bench.clock
        ) { $0.zone = "Europe/London" }
        _ = try await there.sync()
        #expect(try zone() == "Europe/London")
        let commit = try bench.store.info().commit
        _ = try await there.sync()
        #expect(try bench.store.info().commit <= commit + Bench.commitsOfLease)
        try bench.finish()
    }
}
