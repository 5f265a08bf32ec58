import ColumnFormat
import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// SEMANTICS C32: such values are refused at every door, and those that an older release let in poison no sum.
@Suite("Values that are not finite in a store")
struct NotFiniteStoreTests {
    @Test("C32: Saving, merging, groups, imports and totals refuse values that are not finite, and store nothing")
    func doors() throws {
        try withStore { store in
            let bad = Sample(.stepCount, .nan, .count, at: .day(0))
            let good = Sample(.stepCount, 5, .count, at: .day(0))
            expectError(.invalidSample) { try store.save(bad) }
            expectError(.invalidSample) { try store.write { try $0.save([good, bad]) } }
            expectError(.invalidSample) { try store.write { try $0.merge(bad) } }
            expectError(.invalidSample) { try store.write { try $0.save(group: "meal", [good, bad]) } }
            var batch = SampleBatch()
            batch.append(good)
            batch.append(bad)
            let rows = batch
            expectError(.invalidSample) { try store.write { try $0.importBatch(rows) } }
            expectError(.invalidSample) { try store.importBatch(rows, job: "j") }
            let far = try SampleBatch(
                .distanceWalkingRunning, .kilometer, source: Source(name: "s"), starts: [.day(0)],
                values: [.greatestFiniteMagnitude])
            expectError(.invalidSample) { try store.write { try $0.importBatch(far) } }
            expectError(.invalidSample) {
                try store.write { txn in
                    try txn.setTotal(
                        DailyTotal(
                            peer: "p", type: .stepCount, day: "2026-03-01", zone: "UTC", value: .infinity, unit: .count,
                            isComplete: true, time: .day(0)))
                }
            }
            #expect(try store.read { try $0.count() } == 0)
        }
    }

    /// A store as an older release left it: some values that are not finite among many that are.
    private func poisoned(_ type: SampleType, _ odd: Double, summed: Bool) throws -> SampleStore {
        let store = try SampleStore.temporary(options: GoodStore.options)
        for row in 0..<300 {
            try store.save(Sample(type, Double(row % 7) + 1, type.canonicalUnit!, at: .day(0, row * 600)))
        }
        if summed { while try store.maintain() {} }
        _ = try store.core.onWriter { [core = store.core] in
            try core.transact { txn in
                var chunk = try ChunkTable.load(
                    Lane(type: NameTable.number(of: type, in: txn.snapshot)!, duration: .hour), .least, in: txn.snapshot
                )
                let (encoder, bounds) = (txn.environment.encoder, chunk.bounds)
                for row in [1, chunk.rows.count / 2] { chunk.rows[row].value = odd }
                let plan = encoder.plan(chunk.rows[...])
                try ChunkTable.put(
                    bounds.key, encoder.encodeHot(plan, key: bounds.key, upper: bounds.upper, stamp: txn.stamp),
                    encoder.encodeDetails(chunk.rows[...], key: bounds.key, upper: bounds.upper, stamp: txn.stamp),
                    in: &txn)
            }
        }
        return store
    }

    @Test(
        "Statistics leave them out, and a check names them without a value",
        arguments: [SampleType.stepCount, .bodyMass], [Double.nan, .infinity])
    func leftOut(type: SampleType, odd: Double) throws {
        for summed in [false, true] {
            let store = try poisoned(type, odd, summed: summed)
            let days = try store.read { try $0.statistics(type, by: .day, from: .day(-1), to: .day(4)) }
            let whole = try store.read { try $0.statistics(of: type, from: .day(-1), to: .day(4)) }
            let values = try store.read { try $0.samples(of: type) }.map(\.quantity.value)
            #expect(values.count == 300 && values.count { !$0.isFinite } == 2)
            for cell in days + [whole] {
                for number in [cell.sum, cell.average, cell.minimum, cell.maximum] {
                    #expect(number?.isFinite ?? true, "\(type) \(odd) \(summed)")
                }
            }
            // Where hours were summed up before, they still hold what the two samples were.
            if !summed {
                let finite = values.filter(\.isFinite)
                #expect(whole.count == finite.count && days.map(\.count).reduce(0, +) == finite.count)
                if type.aggregation == .cumulative {
                    #expect(whole.sum == finite.reduce(0, +) && days.compactMap(\.sum).reduce(0, +) == whole.sum)
                } else {
                    #expect(whole.minimum == finite.min() && whole.maximum == finite.max())
                    let mean = finite.reduce(0, +) / Double(finite.count)
                    #expect(abs(try #require(whole.average) - mean) < 1e-9)
                }
            }
            let report = try store.check()
            #expect(Set(report.findings.map(\.kind.rawValue)) == ["valueNotFinite"], "\(report.findings)")
            #expect(report.findings.count == 2)
            try store.close()
        }
    }

    @Test("Meals and days of nutrition leave them out", arguments: [Double.nan, .infinity])
    func nutrition(odd: Double) throws {
        let store = try poisoned(.dietaryProtein, odd, summed: false)
        let group = Sample(.dietaryProtein, 3, .gram, at: .day(0, 5))
        try store.write { _ = try $0.save(group: "meal", [group]) }
        try store.read { txn in
            let meals = try txn.meals(from: .day(-1), to: .day(4))
            #expect(meals.count == 301)
            let amounts = meals.flatMap(\.amounts.values)
            #expect(amounts.allSatisfy { $0.isFinite })
            #expect(meals.count(where: \.amounts.isEmpty) == 2)
            let days = try txn.nutrition(from: .day(-1), to: .day(4))
            let sums = days.flatMap(\.amounts.values)
            #expect(!sums.isEmpty && sums.allSatisfy { $0.isFinite })
        }
        try store.close()
    }

    @Test("Hours that an older release summed up with them are read from samples")
    func oldSummaries() throws {
        let store = try poisoned(.stepCount, .nan, summed: true)
        _ = try store.core.onWriter { [core = store.core] in
            try core.transact { txn in
                let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
                let block = SummaryPeriod.block(of: Instant.day(0).nanoseconds)
                var content = try #require(try SummaryTable.summary(type, block, .cumulative, in: txn.snapshot))
                for index in content.hours.indices where content.hours[index].count > 0 {
                    content.hours[index].sum = .nan
                }
                let key = SummaryTable.key(type, block)
                try txn.put(.summaries, key, content.value(key: key, block: block, .cumulative, stamp: txn.stamp))
            }
        }
        let sum = try store.read { try $0.statistics(of: .stepCount, from: .day(-1), to: .day(4)).sum }
        #expect(sum?.isFinite == true && sum ?? 0 > 0)
        let days = try store.read { try $0.statistics(.stepCount, by: .hour, from: .day(-1), to: .day(4)) }
        #expect(days.allSatisfy { $0.sum?.isFinite ?? true } && days.count > 40)
        try store.close()
    }
}
