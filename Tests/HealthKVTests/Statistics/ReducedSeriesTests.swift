import Testing
import TestSupport

@testable import HealthKV

@Suite struct ReducedSeriesTests {
    @Test("Each point has the least, greatest and mean value of its stretch, from summaries or from samples")
    func points() throws {
        var options = SampleStore.Options()
        options.limits.thinSamples = 3
        options.limits.skipsSync = true
        try withStore(options: options) { store in
            var random = SeededGenerator(seed: 7)
            var batch = SampleBatch()
            for type in [SampleType.stepCount, .bodyMass] {
                let unit: HealthUnit = type == .bodyMass ? .kilogram : .count
                let kind = batch.kind(type, unit, source: Source(name: "S"))
                for _ in 0..<3_000 {
                    let start = Instant.day(0, random.number(0..<60 * 86_400))
                    batch.append(
                        kind: kind, start: start, end: start + (type == .bodyMass ? 0 : 600_000_000_000),
                        value: Double.random(in: 1...100, using: &random), id: SampleID(using: &random))
                }
            }
            let made = batch
            try store.importBatch(made)
            for isFresh in [false, true] {
                if isFresh { while try store.maintain() {} }
                for type in [SampleType.stepCount, .bodyMass] {
                    for points in [1, 7, 100, 500, 1_400, 2_700] {
                        let (from, to) = (Instant.day(1, 1_234), Instant.day(55, 77))
                        let samples = try store.read {
                            try $0.samples(SampleQuery(type, from: from, to: to, rule: .strictStart))
                        }
                        let series = try store.read { try $0.series(type, from: from, to: to, points: points) }
                        #expect(series.count <= points && series.reduce(0) { $0 + $1.count } == samples.count)
                        for point in series {
                            let inside = samples.filter { $0.start >= point.start && $0.start < point.end }
                            let values = inside.map(\.quantity.value)
                            #expect(point.count == values.count && point.minimum == values.min())
                            #expect(point.maximum == values.max())
                            let mean = values.reduce(0, +) / Double(values.count)
                            #expect(abs(point.mean - mean) <= 1e-9 * mean)
                        }
                    }
                }
            }
        }
    }
}
