import Foundation
import HealthKitSimulator
import Testing

/// Long histories, as imports and their benchmarks read them.
@Suite struct LargeHistoryTests {
    @Test("Twenty thousand samples are written, read by pages and enumerated latest first, each within a time limit")
    func pages() async throws {
        let bench = try await Bench()
        let count = 20_000
        let unit = HKUnit(from: "count")
        for part in 0..<(count / 1_000) {
            try bench.watch.write(
                (0..<1_000).map { index in
                    let start = bench.at(Double(part * 1_000 + index) * -60)
                    return HKQuantitySample(
                        type: bench.steps, quantity: HKQuantity(unit: unit, doubleValue: 5), start: start,
                        end: start.addingTimeInterval(60), device: nil, metadata: nil)
                })
        }
        var anchor: HKQueryAnchor?
        var found = 0
        while true {
            let page = try await bench.changes(of: bench.steps, after: anchor, limit: 5_000)
            if page.addedSamples.isEmpty { break }
            found += page.addedSamples.count
            anchor = page.newAnchor
        }
        #expect(found == count)
        let latest = try await HKSampleQueryDescriptor(
            predicates: [.sample(type: bench.steps)],
            sortDescriptors: [SortDescriptor(\HKSample.startDate, order: .reverse)],
            limit: 10
        ).result(for: bench.store)
        #expect(latest.map(\.startDate) == (0..<10).map { bench.at(Double($0) * -60) })
    }
}
