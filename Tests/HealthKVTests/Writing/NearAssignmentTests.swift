import HealthModel
import TestSupport
import Testing

@testable import HealthKV

@Suite("Which near row is which stored sample")
struct NearAssignmentTests {
    /// The most rows that can have a sample of their own, tried in every way.
    private func most(_ rows: ArraySlice<Int>, _ choices: [Int: [SampleID]], without taken: Set<SampleID>) -> Int {
        guard let row = rows.first else { return 0 }
        var best = most(rows.dropFirst(), choices, without: taken)
        for sample in choices[row] ?? [] where !taken.contains(sample) {
            best = max(best, 1 + most(rows.dropFirst(), choices, without: taken.union([sample])))
        }
        return best
    }

    @Test("As many rows as possible have a sample, each its own and one that it may have") func all() throws {
        var random = SeededGenerator()
        for round in 0..<400 {
            let samples = (0..<Int.random(in: 1...5, using: &random)).map { _ in SampleID() }
            let rows = Array(0..<Int.random(in: 1...6, using: &random))
            var pairs: [NearAssignment.Pair] = []
            for row in rows {
                for sample in samples where Int.random(in: 0..<5, using: &random) < 2 {
                    let difference = Double(Int.random(in: 0..<4, using: &random))
                    pairs.append(NearAssignment.Pair(row: row, sample: sample, difference: difference))
                }
            }
            let found = NearAssignment(pairs).samples
            let choices = Dictionary(grouping: pairs, by: \.row).mapValues { $0.map(\.sample) }
            #expect(Set(found.values).count == found.count, "round \(round)")
            #expect(found.allSatisfy { choices[$0.key]?.contains($0.value) == true }, "round \(round)")
            #expect(found.count == most(rows[...], choices, without: []), "round \(round)")
        }
    }

    @Test("Where nothing is scarce each row has the nearest sample") func nearest() throws {
        let samples = (0..<3).map { _ in SampleID() }
        var pairs: [NearAssignment.Pair] = []
        for row in 0..<3 {
            for (place, sample) in samples.enumerated() {
                pairs.append(NearAssignment.Pair(row: row, sample: sample, difference: abs(Double(2 - row - place))))
            }
        }
        #expect(NearAssignment(pairs).samples == [0: samples[2], 1: samples[1], 2: samples[0]])
    }
}
