import Foundation
import SyncSupport
import Testing

@testable import HealthKVSync

/// Faults that apps met in ordinary use: changed permissions and plans, locks, totals, flights.
@Suite("Ordinary use")
struct OrdinaryUseTests {
    private static let hour = 3_600 * Instant.nanosecondsPerSecond
    private static let day = 24 * hour
    private static let utc: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        return calendar
    }()

    private func steps(_ bench: Bench, minutesAgo minutes: Int64) -> Sample {
        let time = bench.clock.now - minutes * 60 * Instant.nanosecondsPerSecond
        return Sample(
            .stepCount, 100, .count, from: time, to: time + 1, source: Source(bundle: "phone", name: "Phone"),
            origin: .imported)
    }

    @Test(
        "C11, C23: what was written while reading was off is read as soon as the samples show again",
        arguments: [3, 12])
    func readableAgain(later: Int) async throws {
        let bench = try Bench(.walkingApp) { $0.probesLatest = true }
        try await bench.engine.enable(bench.peer)
        for number in 0..<5 { bench.health.save(steps(bench, minutesAgo: 600 + Int64(number)), app: "phone") }
        try await bench.sync()
        bench.health.set(unreadable: [.stepCount])
        for number in 0..<3 { bench.health.save(steps(bench, minutesAgo: 300 + Int64(number)), app: "phone") }
        for _ in 0..<2 {
            bench.clock.advance(seconds: 3_700)
            try await bench.engine.enterForeground()
        }
        #expect(try bench.status().reading[.stepCount] == .suspectedRevoked)
        bench.health.set(unreadable: [])
        for number in 0..<later { bench.health.save(steps(bench, minutesAgo: Int64(number)), app: "phone") }
        for _ in 0..<3 {
            bench.clock.advance(seconds: 3_700)
            try await bench.engine.enterForeground()
        }
        #expect(try bench.store.blockingRead { try $0.count(of: .stepCount) } == 8 + later)
        #expect(try bench.status().issue == nil)
        #expect(try !bench.status().notices.contains { $0.code == .peerRestored })
        try bench.finish()
    }

    @Test("C21: an own entry from before the horizon, made by the person's other device, is adopted when it comes")
    func earlierEntryOfOtherDevice() async throws {
        let bench = try Bench(SyncPlan(types: [.bodyMass: TypePlan(.both, horizon: .days(30))]))
        try await bench.engine.enable(bench.peer)
        for _ in 0..<2 { try await bench.sync() }
        let then = bench.clock.now - 60 * Self.day
        var entry = Sample(.bodyMass, 71, .kilogram, at: then, syncIdentifier: SampleID().description)
        (entry.source, entry.version) = (Source(bundle: "app", name: "app"), 1)
        bench.health.save(entry, app: "app")
        bench.health.save(bench.scale(80, hour: -24 * 60))
        for _ in 0..<2 { try await bench.sync() }
        #expect(try bench.weights == [71])
        try bench.finish()
    }

    private func water(_ bench: Bench, _ day: String) throws -> [Double?] {
        let from = try Instant(#require(ISO8601DateFormatter().date(from: day + "T00:00:00Z")))
        return try bench.store.blockingRead { txn in
            try txn.statistics(
                StatisticsQuery(
                    .dietaryWater, by: .day, from: from, to: from + Self.day, calendar: Self.utc, unit: .milliliter,
                    options: CumulativeOptions(sources: .authoritative))
            ).map(\.sum)
        }
    }

    @Test(
        "C15: an own entry that moves to another day, or is deleted, leaves the totals of both days right",
        arguments: [false, true])
    func movedEntry(isDeleted: Bool) async throws {
        let bench = try Bench(SyncPlan(types: [.dietaryWater: TypePlan(.both, keepsDailyTotals: true)])) {
            $0.zone = "UTC"
        }
        try await bench.engine.enable(bench.peer)
        func at(_ text: String) throws -> Instant { try Instant(#require(ISO8601DateFormatter().date(from: text))) }
        let (old, new) = ("2026-04-29", "2026-05-02")
        let first = Sample(.dietaryWater, 250, .milliliter, at: try at(old + "T08:00:00Z"))
        let second = Sample(.dietaryWater, 250, .milliliter, at: try at(old + "T10:00:00Z"))
        try bench.write { _ = try $0.save([first, second]) }
        bench.health.set(total: Quantity(500, .milliliter), of: .dietaryWater, old)
        for _ in 0..<3 {
            try await bench.sync()
            #expect(try water(bench, old) == [500])
        }
        func complete(_ day: String) throws -> Double? {
            let total = try bench.store.blockingRead { try $0.total(of: .dietaryWater, peer: "health", day: day) }
            return total.flatMap { $0.isComplete ? $0.value : nil }
        }
        #expect(try complete(old) == 500)
        if isDeleted {
            try bench.write { _ = try $0.delete(id: second.id) }
        } else {
            var moved = second
            (moved.start, moved.end) = (try at(new + "T10:00:00Z"), try at(new + "T10:00:00Z"))
            let edit = moved
            try bench.write { _ = try $0.save(edit) }
        }
        #expect(try water(bench, old) == [250])
        bench.health.set(total: Quantity(250, .milliliter), of: .dietaryWater, old)
        if !isDeleted { bench.health.set(total: Quantity(250, .milliliter), of: .dietaryWater, new) }
        for _ in 0..<3 {
            try await bench.sync()
            #expect(try water(bench, old) == [250])
            if !isDeleted { #expect(try water(bench, new) == [250]) }
        }
        #expect(try complete(old) == 250)
        if !isDeleted { #expect(try complete(new) == 250) }
        try bench.finish()
    }

    @Test(
        "C15: a day whose last sample was deleted at its source has no total any more; a day of which nothing is told keeps its own"
    )
    func emptiedDay() async throws {
        let bench = try Bench(.walkingApp) { $0.zone = "UTC" }
        try await bench.engine.enable(bench.peer)
        let sample = steps(bench, minutesAgo: 3 * 1_440)
        let day = LocalDays.names(from: sample.start, to: sample.start, zone: "UTC", limit: 1)[0]
        let id = bench.health.save(sample, app: "phone")
        bench.health.set(total: Quantity(1_000, .count), of: .stepCount, day)
        try await bench.sync()
        func total() throws -> Double? {
            try bench.store.blockingRead { try $0.total(of: .stepCount, peer: "health", day: day)?.value }
        }
        #expect(try total() == 1_000)
        bench.health.set(total: nil, of: .stepCount, day)
        try await bench.sync()
        #expect(try total() == 1_000)
        bench.health.delete(id)
        for _ in 0..<3 { try await bench.sync() }
        #expect(try total() == nil)
        try bench.finish()
    }

    @Test("C15: the day of a flight west is read again in the zone where it is not over yet")
    func flightWest() async throws {
        let bench = try Bench(.walkingApp) { $0.zone = "Asia/Tokyo" }
        try await bench.engine.enable(bench.peer)
        // Just after midnight in Tokyo, the day before is over.
        let midnight = try Instant(#require(ISO8601DateFormatter().date(from: "2026-06-10T15:00:00Z")))
        bench.clock.advance(seconds: Int((midnight.nanoseconds - bench.clock.now.nanoseconds) / 1_000_000_000) + 600)
        bench.health.save(steps(bench, minutesAgo: 300), app: "phone")
        bench.health.set(total: Quantity(4_000, .count), of: .stepCount, "2026-06-10")
        try await bench.sync()
        func total() throws -> DailyTotal? {
            try bench.store.blockingRead { try $0.total(of: .stepCount, peer: "health", day: "2026-06-10") }
        }
        #expect(try total()?.isComplete == true)
        // In New York the same day has just passed noon.
        let engine = Bench.makeEngine(
            bench.store, [SyncPeer(MemoryHealthPeer(bench.health), plan: .walkingApp)], bench.clock
        ) { $0.zone = "America/New_York" }
        bench.clock.advance(seconds: 3_600)
        bench.health.save(steps(bench, minutesAgo: 20), app: "phone")
        bench.health.set(total: Quantity(5_000, .count), of: .stepCount, "2026-06-10")
        try await engine.sync()
        #expect(try total()?.zone == "America/New_York")
        bench.clock.advance(seconds: 86_400)
        bench.health.set(total: Quantity(6_000, .count), of: .stepCount, "2026-06-10")
        for _ in 0..<2 { try await engine.sync() }
        #expect(try total()?.value == 6_000)
        #expect(try total()?.isComplete == true)
        try bench.finish()
    }

    @Test(
        "C19: a wake-up while the device is locked is answered, and what it told of is read later without another one")
    func wakeUpUnderLock() async throws {
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.both, triggers: .onChange)])
        let bench = try Bench(plan)
        try await bench.engine.enable(bench.peer)
        bench.engine.start()
        try await until("it listens") { bench.health.watchers > 0 }
        bench.health.set(availability: .locked)
        bench.health.save(bench.scale(80, hour: 1))
        try await until("the wake-up is answered") { bench.health.completed == 1 }
        bench.health.set(availability: .available)
        try await until("it was read") {
            bench.clock.advance(seconds: 3_600)
            return try bench.weights == [80]
        }
        try await until("nothing is wrong any more") { try bench.status().issue == nil }
        await bench.engine.stop()
        try bench.finish()
    }

    @Test("C11: a type that leaves the plan no longer says that reading was revoked, nor asks for its history")
    func typeLeavesPlan() async throws {
        let both = SyncPlan(types: [.stepCount: TypePlan(.pull), .distanceWalkingRunning: TypePlan(.pull)])
        let bench = try Bench(both)
        try await bench.engine.enable(bench.peer)
        bench.health.save(steps(bench, minutesAgo: 60), app: "phone")
        var walk = steps(bench, minutesAgo: 60)
        (walk.type, walk.quantity) = (.distanceWalkingRunning, Quantity(80, .meter))
        bench.health.save(walk, app: "phone")
        try await bench.sync()
        bench.health.set(unreadable: [.stepCount, .distanceWalkingRunning])
        for _ in 0..<2 {
            bench.clock.advance(seconds: 3_700)
            try await bench.engine.enterForeground()
        }
        #expect(try bench.status().issue?.code == .accessRevoked)
        let less = try bench.restarted(SyncPlan(types: [.stepCount: TypePlan(.pull)]))
        bench.health.set(unreadable: [])
        for _ in 0..<3 {
            bench.clock.advance(seconds: 3_700)
            try await less.engine.enterForeground()
        }
        #expect(try less.status().issue == nil)
        #expect(try less.status().reading.keys.sorted() == [.stepCount])
        try bench.finish()
    }

    @Test("C9: a history that nobody can choose any more is not asked for")
    func unaskedHistory() async throws {
        let bench = try Bench(
            SyncPlan(types: [.stepCount: TypePlan(.pull), .bodyMass: TypePlan(.both, horizon: .ask)]))
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        #expect(try bench.status().historyToAsk == [.bodyMass])
        for plan in [
            [SampleType.stepCount: TypePlan(.pull)], [.stepCount: TypePlan(.pull), .bodyMass: TypePlan(.push)],
        ] {
            let later = try bench.restarted(SyncPlan(types: plan))
            try await later.sync()
            #expect(try later.status().historyToAsk.isEmpty)
        }
        try bench.finish()
    }
}
