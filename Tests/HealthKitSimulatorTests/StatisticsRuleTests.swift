import Foundation
import HealthKitSimulator
import Testing

/// Statistics (SEMANTICS A19 to A22).
@Suite struct StatisticsRuleTests {
    private let hour = DateComponents(hour: 1)

    private func sums(_ bench: Bench, _ options: HKStatisticsOptions = .cumulativeSum, step: DateComponents? = nil)
        async throws -> [HKStatistics]
    {
        let predicate = HKSamplePredicate<HKSample>.quantitySample(type: bench.steps)
        return try await HKStatisticsCollectionQueryDescriptor(
            predicate: predicate, options: options, anchorDate: bench.clock.now, intervalComponents: step ?? hour
        ).result(for: bench.store).statistics()
    }

    private func counts(_ statistics: [HKStatistics]) -> [Double?] {
        statistics.map { $0.sumQuantity()?.doubleValue(for: HKUnit(from: "count")) }
    }

    @Test("A19: cumulative and discrete options cannot be combined; sources are merged unless separated")
    func merging() async throws {
        let bench = try await Bench()
        let misuse = await SimulatedMisuse.recording {
            _ = try? await sums(bench, [.cumulativeSum, .discreteAverage])
        }
        #expect(!misuse.isEmpty)
        let phone = bench.device.install(bundle: "com.apple.health.phone", name: "Phone", kind: .phone)
        try bench.watch.record("StepCount", 100, "count", from: bench.at(0), to: bench.at(600))
        try phone.record("StepCount", 90, "count", from: bench.at(0), to: bench.at(600))
        let merged = try await sums(bench)
        #expect(counts(merged) == [100])
        let separate = try await sums(bench, [.cumulativeSum, .separateBySource])[0]
        #expect(separate.sources?.count == 2)
        #expect(separate.sumQuantity(for: phone.source)?.doubleValue(for: HKUnit(from: "count")) == 90)
    }

    @Test(
        "A20: the order is user-entered, watch, phone, other apps by most recent first use; the user may reorder it")
    func priorities() async throws {
        let bench = try await Bench()
        let phone = bench.device.install(bundle: "com.apple.health.phone", name: "Phone", kind: .phone)
        let other = bench.device.install(bundle: "app.other", name: "Other")
        func add(_ app: SimulatedApp, _ steps: Double, entered: Bool = false) throws {
            let metadata: [String: Any]? = entered ? [HKMetadataKeyWasUserEntered: true] : nil
            try app.record("StepCount", steps, "count", from: bench.at(0), to: bench.at(60), metadata: metadata)
        }
        try add(bench.app, 1)
        #expect(counts(try await sums(bench)) == [1])
        try add(other, 2)
        #expect(counts(try await sums(bench)) == [2])
        try add(phone, 3)
        #expect(counts(try await sums(bench)) == [3])
        try add(bench.watch, 4)
        #expect(counts(try await sums(bench)) == [4])
        try add(bench.app, 5, entered: true)
        #expect(counts(try await sums(bench)) == [5])
        bench.device.setPriority(of: ["app.other"], for: Bench.steps)
        #expect(counts(try await sums(bench)) == [2])
    }

    @Test("A21: buckets tile both ways from the anchor, days have 23 or 25 hours, and missing data has three forms")
    func buckets() async throws {
        let bench = try await Bench()
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
        func day(_ day: Int, _ hour: Int = 0) throws -> Date {
            try #require(calendar.date(from: DateComponents(year: 2026, month: 3, day: day, hour: hour)))
        }
        try bench.watch.record("StepCount", 10, "count", from: day(28, 23))
        try bench.watch.record("StepCount", 20, "count", from: day(29, 12))
        try bench.watch.record("StepCount", 40, "count", from: day(31, 1))
        let collection = try await HKStatisticsCollectionQueryDescriptor(
            predicate: .quantitySample(type: bench.steps), options: .cumulativeSum, anchorDate: day(30),
            intervalComponents: DateComponents(calendar: calendar, day: 1)
        ).result(for: bench.store)
        #expect(counts(collection.statistics()) == [10, 20, 40])
        let short = try #require(collection.statistics(for: day(29, 12)))
        #expect(short.endDate.timeIntervalSince(short.startDate) == 23 * 3_600)
        let empty = try #require(collection.statistics(for: day(30, 12)))
        #expect(empty.sumQuantity() == nil)
        #expect(try empty.startDate == day(30))
        let none = await code {
            let predicate = HKQuery.predicateForSamples(
                withStart: try day(30), end: try day(31), options: .strictStartDate)
            _ = try await HKStatisticsQueryDescriptor(
                predicate: .quantitySample(type: bench.steps, predicate: predicate), options: .cumulativeSum
            ).result(for: bench.store)
        }
        #expect(none == .errorNoData)
    }

    @Test(
        "A22: a sample across a border is split in proportion to time, or counted where it starts",
        arguments: [true, false])
    func borders(splits: Bool) async throws {
        var options = SimulationOptions()
        options.splitsAtBorders = splits
        let bench = try await Bench(options)
        try bench.watch.record("StepCount", 100, "count", from: bench.at(3_000), to: bench.at(4_000))
        #expect(counts(try await sums(bench)) == (splits ? [60, 40] : [100]))
    }
}
