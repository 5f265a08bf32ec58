import Foundation
import HealthKVSync
import HealthKitSimulator
import Testing

/// Steps and distance by day, read only (document 003).
@Suite struct WalkingStepsTests {
    /// Records a walk of an hour that begins this many hours from now.
    private func walk(_ bench: AppBench, _ app: SimulatedApp? = nil, steps: Double, hours: Int) throws {
        let (from, to) = (bench.date(hours * 3_600), bench.date(hours * 3_600 + 3_600))
        let app = app ?? bench.phone
        try app.record("StepCount", steps, "count", from: from, to: to)
        try app.record("DistanceWalkingRunning", steps * 0.75, "m", from: from, to: to)
    }

    private func days(
        _ bench: AppBench, _ first: String, _ last: String, zone: String = "UTC"
    ) throws -> [DailyStepData] {
        var calendar = Calendar.utc
        calendar.timeZone = try #require(TimeZone(identifier: zone))
        let local = calendar
        return try bench.store.read {
            try $0.dailySteps(from: first, to: last, calendar: local, source: "healthkit")
        }
    }

    private func totals(_ bench: AppBench) throws -> [String: DailyTotal] {
        let totals = try bench.store.read { try $0.totals(of: .stepCount, peer: AppBench.health) }
        return Dictionary(uniqueKeysWithValues: totals.map { ($0.day, $0) })
    }

    @Test("Steps and distance of a single day, and of a range of thirty, are returned as one record a day")
    func byDay() async throws {
        try await withApp(.walkingApp) { bench in
            for day in 1...30 { try walk(bench, steps: Double(1_000 * day), hours: -24 * day + 8) }
            try await bench.refresh()
            let month = try days(bench, "2025-12-02", "2025-12-31")
            #expect(month.count == 30 && month.allSatisfy { $0.source == "healthkit" && $0.hasData })
            #expect(try days(bench, "2025-12-02", "2025-12-02").first == month.first)
            let last = try #require(month.last)
            #expect(last.date == "2025-12-31" && last.stepCount == 1_000 && last.distanceMeters == 750)
            #expect(try bench.samples(.stepCount).allSatisfy { $0.quantity.unit == .count })
            #expect(try bench.samples(.distanceWalkingRunning).allSatisfy { $0.quantity.unit == .meter })
        }
    }

    @Test("The first sync reads thirty days back, and later ones read only changes, today included")
    func backfill() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, steps: 500, hours: -24 * 40)
            try walk(bench, steps: 700, hours: -24 * 29)
            try await bench.refresh()
            #expect(try bench.samples(.stepCount).map(\.quantity.value) == [700])
            bench.clock.advance(by: 9 * 3_600)
            try walk(bench, steps: 300, hours: -2)
            #expect(try await bench.refresh().pulled.imported == 2)
            #expect(try days(bench, "2026-01-01", "2026-01-01").map(\.stepCount) == [300])
            bench.clock.advance(by: 3 * 3_600)
            try walk(bench, steps: 200, hours: -1)
            try await bench.sync.enterForeground()
            #expect(try days(bench, "2026-01-01", "2026-01-01").map(\.stepCount) == [500])
        }
    }

    @Test("Steps that phone and watch both count are counted once, and Health's own totals are kept beside them")
    func sources() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, bench.phone, steps: 1_000, hours: -10)
            try walk(bench, bench.watch, steps: 1_100, hours: -10)
            let other = bench.device.install(bundle: "com.example.tracker", name: "Tracker")
            try walk(bench, other, steps: 400, hours: -5)
            try await bench.refresh()
            let totals = try bench.store.blockingRead { try $0.compareTotals(of: .stepCount, peer: AppBench.health) }
            let yesterday = try #require(totals.first { $0.total.day == "2025-12-31" })
            #expect(yesterday.total.value == 1_500)
            // The store prefers the watch once it knows the order of the sources.
            let order = [bench.watch, bench.phone, other].map {
                RankedSource(SourceIdentity(bundle: $0.bundle, name: $0.source.name))
            }
            try await bench.store.write { try $0.setPriority(order, of: .stepCount) }
            #expect(try days(bench, "2025-12-31", "2025-12-31").map(\.stepCount) == [1_500])
        }
    }

    @Test("D: A day lasts from midnight to midnight at the user's place, also after travelling")
    func midnight() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, steps: 100, hours: -1)
            try walk(bench, steps: 10, hours: -24)
            try await bench.refresh()
            #expect(try days(bench, "2025-12-31", "2026-01-01").map(\.stepCount) == [110, 0])
            let berlin = try days(bench, "2025-12-31", "2026-01-01", zone: "Europe/Berlin")
            #expect(berlin.map(\.stepCount) == [10, 100])
            let newYork = try days(bench, "2025-12-30", "2025-12-31", zone: "America/New_York")
            #expect(newYork.map(\.stepCount) == [10, 100])
        }
    }

    @Test(
        "Health's own totals are of the user's days: a late walk in New York counts on the day of the walk")
    func localTotals() async throws {
        #expect(SyncOptions().zone == TimeZone.current.identifier)
        try await withApp(.walkingApp, zone: "America/New_York") { bench in
            // It is seven in the evening in New York; in Greenwich the new year begins.
            try walk(bench, steps: 100, hours: -5)
            bench.clock.advance(by: 4 * 3_600)
            try walk(bench, steps: 10, hours: -2)
            bench.clock.advance(by: 3 * 3_600)
            try walk(bench, steps: 1, hours: -1)
            try await bench.refresh()
            let found = try totals(bench)
            #expect(found["2025-12-31"]?.value == 110 && found["2025-12-31"]?.isComplete == true)
            #expect(found["2026-01-01"]?.value == 1 && found["2026-01-01"]?.isComplete == false)
            #expect(found.values.allSatisfy { $0.zone == "America/New_York" })
            let local = try days(bench, "2025-12-31", "2026-01-01", zone: "America/New_York")
            #expect(local.map(\.stepCount) == [110, 1])
        }
    }

    @Test("Days of totals follow the zone of the system while the app runs, unless the app sets one")
    func zoneOfTheSystem() async {
        // A process of its own, whose zone may change.
        await #expect(processExitsWith: .success) {
            func travel(_ zone: String) {
                unsafe setenv("TZ", zone, 1)
                tzset()
                NSTimeZone.resetSystemTimeZone()
            }
            travel("Asia/Tokyo")
            var options = SyncOptions()
            let before = options.zone
            travel("America/New_York")
            let after = options.zone
            options.zone = "Europe/Berlin"
            travel("Asia/Tokyo")
            let all = [before, after, options.zone]
            guard all == ["Asia/Tokyo", "America/New_York", "Europe/Berlin"] else { fatalError("\(all)") }
        }
    }

    @Test("Days without data are marked zeros, and no data at all is no error")
    func noData() async throws {
        try await withApp(.walkingApp) { bench in
            #expect(try await bench.refresh().issue == nil)
            #expect(try bench.samples(.stepCount).isEmpty)
            let empty = try days(bench, "2025-12-30", "2025-12-31")
            #expect(empty.map(\.stepCount) == [0, 0] && empty.allSatisfy { !$0.hasData })
            #expect(try days(bench, "2025-12-31", "2025-12-30").isEmpty)
        }
    }

    @Test("The partial data of today is used as it is, and grows with the next sync")
    func partialDay() async throws {
        try await withApp(.walkingApp) { bench in
            bench.clock.advance(by: 12 * 3_600)
            try walk(bench, steps: 100, hours: -2)
            try await bench.refresh()
            let early = try #require(try totals(bench)["2026-01-01"])
            #expect(early.value == 100 && !early.isComplete)
            try walk(bench, steps: 50, hours: -1)
            bench.clock.advance(by: 13 * 3_600)
            try await bench.refresh()
            let whole = try #require(try totals(bench)["2026-01-01"])
            #expect(whole.value == 150 && whole.isComplete)
            #expect(try days(bench, "2026-01-01", "2026-01-01").map(\.stepCount) == [150])
        }
    }

    @Test("If the device's clock jumps, samples keep the times that Health has")
    func clockChanged() async throws {
        try await withApp(.walkingApp) { bench in
            try walk(bench, steps: 100, hours: -5)
            bench.clock.advance(by: 3 * 86_400)
            try await bench.refresh()
            #expect(try days(bench, "2025-12-31", "2025-12-31").map(\.stepCount) == [100])
        }
    }

    @Test("Samples that the system condenses into one do not change the day's total")
    func condensed() async throws {
        try await withApp(.walkingApp) { bench in
            for hour in 0..<4 { try walk(bench, steps: 100, hours: -10 + hour) }
            try await bench.refresh()
            let type = SampleType.stepCount.identifier
            let count = bench.device.condense(
                type, of: bench.phone.bundle, from: bench.date(-86_400), to: bench.clock.now)
            #expect(count == 4)
            try await bench.refresh()
            #expect(try days(bench, "2025-12-31", "2025-12-31").map(\.stepCount) == [400])
            #expect(try bench.samples(.stepCount).count == 1)
        }
    }

    @Test("Nothing is ever written to Health, not even steps that were entered by hand")
    func readOnly() async throws {
        #expect(SyncPlan.walkingApp.request(.all).write.isEmpty)
        #expect(SyncPlan.walkingApp.request(.all).read == [.stepCount, .distanceWalkingRunning])
        try await withApp(.walkingApp) { bench in
            let entered = Sample.walking(
                steps: 900, meters: 700, from: try bench.at(-7_200), to: try bench.at(-3_600))
            try await bench.store.write { _ = try $0.save(entered) }
            try await bench.refresh()
            #expect(bench.device.count(of: .save) == 0 && bench.inHealth(.stepCount).isEmpty)
            #expect(try bench.status.pending == 0)
            #expect(try days(bench, "2025-12-31", "2025-12-31").map(\.stepCount) == [900])
        }
    }

    /// The number of feed requests, once no more arrive for a while.
    private func settled(_ bench: AppBench) async throws -> Int {
        var (count, quiet, since) = (-1, 0, ContinuousClock.now)
        // Many looks and a long time: on a busy machine neither alone shows that the app had its turn.
        while quiet < 300 || ContinuousClock.now - since < .seconds(1) {
            let now = bench.device.count(of: .changes)
            if now == count { quiet += 1 } else { (count, quiet, since) = (now, 0, ContinuousClock.now) }
            try await Task.sleep(for: .milliseconds(2))
        }
        return count
    }

    @Test("The running app retries after a timeout: after two seconds, after four, and then slowly")
    func timeOutWhileRunning() async throws {
        try await withApp(.walkingApp) { bench in
            bench.sync.start()
            try await eventually { try bench.status.lastSync != nil }
            try walk(bench, steps: 4_321, hours: -5)
            for number in 1...60 { bench.device.fail(.changes, number: number) }
            let first = bench.device.count(of: .changes)
            #expect(try await bench.refresh().issue?.code == .delayed)
            // Check each wait, and that no retry comes a little earlier.
            for (wait, early) in [(2.0, 1.7), (4.0, 3.5), (3_600.0, 3_000.0)] {
                let before = try await settled(bench)
                #expect(before > first)
                bench.clock.advance(by: early)
                try await Task.sleep(for: .milliseconds(60))
                #expect(bench.device.count(of: .changes) == before, "before \(wait) s are over")
                bench.clock.advance(by: wait - early + 0.2)
                try await eventually { bench.device.count(of: .changes) > before }
            }
        }
    }

    @Test("A timeout is retried, and its report reveals no data")
    func timeOut() async throws {
        try await withApp(.walkingApp) { bench in
            try await bench.refresh()
            try walk(bench, steps: 4_321, hours: -5)
            for _ in 0..<3 {
                bench.device.fail(.changes)
                let issue = try #require(try await bench.refresh().issue)
                #expect(issue.code == .delayed && !"\(issue)\(issue.message)".contains("4321"))
            }
            try await bench.refresh()
            #expect(try bench.status.issue == nil)
            #expect(try days(bench, "2025-12-31", "2025-12-31").map(\.stepCount) == [4_321])
        }
    }
}
