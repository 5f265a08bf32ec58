import Foundation
import Testing
import TestSupport

@testable import HealthKV

/// All slices together are the whole answer.
@Suite struct StatisticsSlicesTests {
    @Test("Buckets come one by one as in the whole answer, whatever the length of a slice") func equality() throws {
        var random = SeededGenerator()
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = TimeZone(identifier: "America/New_York")!
        var samples: [Sample] = []
        for number in 0..<400 {
            let start = Instant.day(random.number(0..<120), random.number(0..<86_400))
            let end = start + Int64(random.number(0..<200_000)) * 1_000_000_000
            let source = Source(name: "S\(number % 3)")
            samples.append(
                Sample(.stepCount, Double(random.number(1..<900)), .count, from: start, to: end, source: source))
            samples.append(Sample(.bodyMass, Double(random.number(40..<90)), .kilogram, at: start))
        }
        let all = samples
        let zoned = calendar
        try withStore { store in
            try store.write { txn in for sample in all { try txn.save(sample) } }
            for (type, unit) in [
                (SampleType.stepCount, StatisticsInterval.Unit.hour), (.stepCount, .week), (.bodyMass, .month),
            ] {
                for fills in [true, false] {
                    let query = StatisticsQuery(
                        type, by: .every(1, unit), from: .day(3, 7_000), calendar: zoned, fillsEmptyBuckets: fills)
                    try store.read { txn in
                        let whole = Array(try txn.statistics(query))
                        for limit in [1, 7, 8_192] {
                            var sliced: [Statistics] = []
                            var shares: [Double] = []
                            try txn.forEachStatistics(query, sliceLimit: limit) {
                                shares.append($0)
                            } _: {
                                sliced.append($0)
                            }
                            #expect(sliced.count == whole.count)
                            for (one, other) in zip(sliced, whole) {
                                #expect(one.start == other.start && one.end == other.end && one.count == other.count)
                                #expect(abs((one.sum ?? 0) - (other.sum ?? 0)) < 1e-6)
                                #expect(one.average == other.average && one.minimum == other.minimum)
                                #expect(one.maximum == other.maximum && one.unit == other.unit)
                            }
                            #expect(shares == shares.sorted() && shares.first == 0 && shares.last == 1)
                        }
                    }
                }
            }
        }
    }
}
