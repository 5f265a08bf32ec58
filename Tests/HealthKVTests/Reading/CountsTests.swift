import ColumnFormat
import Testing

@testable import HealthKV

/// Counts are derived: wrong ones are found and never trusted with memory.
@Suite struct CountsTests {
    @Test("Wrong counts are an error of columns, a finding of check, and mended by rebuild") func wrongCounts() throws {
        try withStore { store throws in
            let samples = (0..<5).map { Sample(.stepCount, Double($0), .count, at: .day($0)) }
            try store.write { try $0.save(samples) }
            let type = try #require(SampleType.stepCount.catalogNumber)
            try store.write { txn in
                var counts = try SummaryTable.counts(of: type, in: txn.snapshot)
                counts.sources[counts.sources.keys.first!]!.samples = 2
                txn.context.state.counts[type] = counts
                txn.state.isChanged = true
            }
            expectError(.damaged) { try store.read { try $0.series(.stepCount) } }
            #expect(try store.check().findings.map(\.kind) == [.countsWrong])
            try store.rebuild()
            #expect(try store.read { try $0.series(.stepCount).count } == 5)
        }
    }
}
