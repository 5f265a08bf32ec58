import Foundation
import SyncSupport
import Testing

@testable import HealthKVSync

/// Rules about when and how much, by their numbers.
@Suite("Views and times of what was synced")
struct SyncedViewTests {
    @Test("C16: days of which a peer has no steps are zeros that say so") func zeros() async throws {
        let bench = try Bench(.walkingApp)
        try await bench.engine.enable(bench.peer)
        let day = try #require(try? Instant(secondsSinceReference: 799_977_600))
        let walk = Sample(
            .stepCount, 1_200, .count, from: day, to: day + 600_000_000_000,
            source: Source(bundle: "watch", name: "Watch"),
            origin: .imported)
        bench.health.save(walk, app: "watch")
        try await bench.sync()
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        let days = try bench.store.blockingRead { txn in
            try txn.dailySteps(from: "2026-05-07", to: "2026-05-10", calendar: calendar, source: "healthkit")
        }
        #expect(days.count == 4 && days.filter(\.hasData).map(\.stepCount) == [1_200])
        #expect(days.filter { !$0.hasData }.allSatisfy { $0.stepCount == 0 && $0.distanceMeters == 0 })
        try bench.finish()
    }

    @Test(
        "C35: a day's complete total of the peer is its answer, else the merged sum, and the answer says which and from whom"
    )
    func authoritative() async throws {
        let bench = try Bench(.walkingApp)
        let day = try #require(try? Instant(secondsSinceReference: 799_977_600))
        let hour = 3_600 * Instant.nanosecondsPerSecond
        func walk(_ days: Int64, _ steps: Double, _ source: Source, _ origin: Sample.Origin) -> Sample {
            let start = day + (days * 24 + 8) * hour
            return Sample(
                .stepCount, steps, .count, from: start, to: start + hour, source: source, origin: origin)
        }
        let watch = Source(bundle: "watch", name: "Watch")
        for days: Int64 in [-3, -2, 0] { bench.health.save(walk(days, 1_000, watch, .imported), app: "watch") }
        // Health counts otherwise than its samples say, and has no number of the day before.
        let names = ["2026-05-06", "2026-05-07", "2026-05-09"]
        for (name, total) in zip(names, [1_400, nil, 1_200] as [Double?]) {
            bench.health.set(total: total.map { Quantity($0, .count) }, of: .stepCount, name)
        }
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let entered = walk(-1, 900, .thisApp, .authored)
        try bench.write { _ = try $0.save(entered) }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        let days = try bench.store.blockingRead { txn in
            try txn.dailySteps(from: "2026-05-05", to: "2026-05-09", calendar: calendar, source: "healthkit")
        }
        #expect(days.map(\.stepCount) == [0, 1_400, 1_000, 900, 1_000])
        let app = bench.store.ownSource.identity
        #expect(
            days.map(\.steps) == [
                .none, .total(peer: "health", besides: []), .samples([watch.identity]), .samples([app]),
                .samples([watch.identity]),
            ])
        // What was entered here is not Health's, and of today Health has not said the last word.
        #expect(days.map(\.source) == ["", "healthkit", "healthkit", app.name, "healthkit"])
        let options = CumulativeOptions(sources: .authoritative)
        let (from, to) = (day - 96 * hour, day + 24 * hour)
        let (whole, byDay, byHour, merged) = try bench.store.blockingRead { txn in
            (
                try txn.statistics(of: .stepCount, from: from, to: to, options: options),
                try txn.statistics(.stepCount, by: .day, from: from, to: to, calendar: calendar, options: options),
                try txn.statistics(.stepCount, by: .hour, from: from, to: to, calendar: calendar, options: options),
                try txn.statistics(of: .stepCount, from: from, to: to)
            )
        }
        #expect(merged.sum == 3_900 && merged.totalsOf.isEmpty)
        #expect(whole.sum == 4_300 && whole.totalsOf == ["health"])
        #expect(byDay.map(\.sum) == [1_400, 1_000, 900, 1_000])
        #expect(byDay.map(\.totalsOf) == [["health"], [], [], []])
        // What the peer does not know counts beside its total.
        let besides = walk(-3, 50, .thisApp, .authored)
        try bench.write { txn in
            var later = besides
            (later.start, later.end) = (besides.start + 3 * hour, besides.end + 3 * hour)
            _ = try txn.save(later)
        }
        let known = try bench.store.blockingRead { txn in
            try txn.dailySteps(from: "2026-05-06", to: "2026-05-06", calendar: calendar, source: "healthkit")
        }
        #expect(known.map(\.stepCount) == [1_450] && known.map(\.steps) == [.total(peer: "health", besides: [app])])
        #expect(byHour.compactMap(\.sum).reduce(0, +) == 3_900 && byHour.allSatisfy(\.totalsOf.isEmpty))
        try bench.finish()
    }

    @Test("C35: beside a total are named the sources that add to it, and not those that others cover")
    func besides() async throws {
        let plan = SyncPlan(types: [.stepCount: TypePlan(.pull, keepsDailyTotals: true)])
        let bench = try Bench(plan)
        let hour = 3_600 * Instant.nanosecondsPerSecond
        let day = try #require(try? Instant(secondsSinceReference: 799_977_600)) - 48 * hour
        let watch = Source(bundle: "com.apple.health.1", name: "Watch", product: "Watch7,1")
        func walk(_ from: Int64, _ steps: Double, _ source: Source, _ origin: Sample.Origin) -> Sample {
            Sample(
                .stepCount, steps, .count, from: day + from * hour, to: day + (from + 1) * hour, source: source,
                origin: origin)
        }
        bench.health.save(walk(8, 1_000, watch, .imported), app: "watch")
        bench.health.set(total: Quantity(1_400, .count), of: .stepCount, "2026-05-07")
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        let (first, second) = (Source(bundle: "a", name: "A"), Source(bundle: "b", name: "B"))
        // One is covered by the watch; of two that hold the same walk only one counts.
        let walks = [
            walk(8, 300, first, .authored), walk(12, 100, first, .authored), walk(12, 100, second, .authored),
        ]
        let options = CumulativeOptions(sources: .authoritative)
        for (count, sum, names) in [(1, 1_400.0, 0), (3, 1_500, 1)] {
            let part = Array(walks.prefix(count))
            try bench.write { _ = try $0.save(part) }
            let told = try bench.store.blockingRead {
                try $0.statistics(of: .stepCount, from: day, to: day + 24 * hour, options: options)
            }
            #expect(told.sum == sum && told.totalsOf == ["health"])
            #expect(told.sourcesBesideTotals.count == names)
        }
        try bench.finish()
    }

    @Test("A source of which Health holds one day is Health's on that day only")
    func labelsByDay() async throws {
        let bench = try Bench(SyncPlan(types: [.stepCount: TypePlan(.pull)]))
        let hour = 3_600 * Instant.nanosecondsPerSecond
        let day = try #require(try? Instant(secondsSinceReference: 799_977_600))
        func walk(_ days: Int64, _ origin: Sample.Origin) -> Sample {
            let start = day + days * 24 * hour + 8 * hour
            return Sample(
                .stepCount, 500, .count, from: start, to: start + hour, source: bench.store.ownSource, origin: origin)
        }
        let walks = [walk(-2, .imported), walk(-1, .authored)]
        try bench.write { _ = try $0.save(walks) }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        let days = try bench.store.blockingRead { txn in
            try txn.dailySteps(from: "2026-05-07", to: "2026-05-08", calendar: calendar, source: "healthkit")
        }
        #expect(days.map(\.stepCount) == [500, 500])
        #expect(days.map(\.source) == ["healthkit", bench.store.ownSource.name])
        try bench.finish()
    }

    @Test("C15: a peer's total includes the samples that the peer holds, so only the others of the same day are added")
    func heldAndNotHeld() async throws {
        let plan = SyncPlan(types: [.dietaryWater: TypePlan(.both, keepsDailyTotals: true)])
        let bench = try Bench(plan)
        let day = try #require(try? Instant(secondsSinceReference: 799_977_600 - 2 * 86_400))
        let hours = 3_600 * Instant.nanosecondsPerSecond
        @Sendable func drink(_ milliliters: Double, _ hour: Int64) -> Sample {
            Sample(.dietaryWater, milliliters, .milliliter, at: day + hour * hours)
        }
        let water = Quantity(500, .milliliter)
        bench.health.set(total: water, of: .dietaryWater, "2026-05-07")
        try bench.write { _ = try $0.save(drink(500, 8)) }
        try await bench.engine.enable(bench.peer)
        // What was sent comes back with the next sync, and with it the day's total.
        for _ in 0..<2 { try await bench.sync() }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        func sums() throws -> [Double?] {
            let options = CumulativeOptions(sources: .authoritative)
            return try bench.store.read { txn in
                let days = try txn.statistics(
                    StatisticsQuery(
                        .dietaryWater, by: .day, from: day, to: day + 24 * hours, calendar: calendar, unit: .milliliter,
                        options: options))
                #expect(days.map(\.totalsOf) == [["health"]])
                return days.map(\.sum)
            }
        }
        #expect(try sums() == [500])
        try bench.write { _ = try $0.save(drink(50, 10)) }
        #expect(try sums() == [550])
        let peer = bench.peer
        try bench.write { txn in
            for (hour, version) in [(12, PeerLink.refused), (13, PeerLink.presumedGone), (14, PeerLink.unnamed)] {
                let sample = drink(20, Int64(hour))
                _ = try txn.save(sample)
                try txn.setLink(PeerLink(peer: peer, sample: sample.id, idAtPeer: SampleID(), version: version))
            }
        }
        #expect(try sums() == [590])
        try bench.finish()
    }

    @Test("C17: pulled energy that crosses midnight is divided by time; a strict start leaves it to its day")
    func midnight()
        async throws
    {
        let bench = try Bench(.dietApp)
        try await bench.engine.enable(bench.peer)
        let midnight = try #require(try? Instant(secondsSinceReference: 799_977_600))
        let hour = 3_600 * Instant.nanosecondsPerSecond
        let walk = Sample(
            .activeEnergyBurned, 300, .kilocalorie, from: midnight - hour, to: midnight + 2 * hour,
            source: Source(bundle: "watch", name: "Watch"), origin: .imported)
        bench.health.save(walk, app: "watch")
        try await bench.sync()
        let (sum, strict) = try bench.store.blockingRead { txn in
            (
                try txn.statistics(of: .activeEnergyBurned, from: midnight, to: midnight + 24 * hour).sum,
                try txn.samples(
                    SampleQuery(.activeEnergyBurned, from: midnight, to: midnight + 24 * hour, rule: .strictStart))
            )
        }
        let value = try #require(sum)
        #expect(abs(value - 200) < 1e-6 && strict.isEmpty)
        try bench.finish()
    }

    @Test("C18: coming to the foreground sends what waits for a slow retry, and brings what is new, at once")
    func foreground() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        bench.health.set(refusal: { _ in .failed(reason: "busy") })
        _ = try bench.save(72)
        for _ in 0..<4 { try await bench.sync() }
        #expect(try bench.pending.first?.state == .parked)
        bench.health.set(refusal: nil)
        bench.health.save(bench.scale(80, hour: 3))
        bench.clock.advance(seconds: 1)
        try await bench.engine.enterForeground()
        #expect(try bench.pending.isEmpty)
        #expect(try bench.weights == [72, 80])
        #expect(bench.held == [72, 80])
        try bench.finish()
    }

    @Test("C19: a lock that comes after the peer was asked lets reading wait, and keeps nothing from being sent")
    func lockedBetween() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        try await bench.sync()
        _ = try bench.save(72)
        bench.health.save(bench.scale(80, hour: 3))
        bench.health.lockAtNextPull()
        let report = try await bench.sync()
        #expect(report.issue?.code == .locked)
        #expect(bench.held == [72, 80])
        #expect(try bench.weights == [72])
        #expect(try bench.status().availability == .locked)
        bench.health.set(availability: .available)
        try await bench.sync()
        #expect(try bench.weights == [72, 80])
        try bench.finish()
    }
}
