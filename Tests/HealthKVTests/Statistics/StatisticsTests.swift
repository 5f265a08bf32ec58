import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// Statistics against an oracle that knows the rules only, over random histories, zones, sources and priorities.
///
/// `HEALTHKV_SEED` runs one history again, `HEALTHKV_SEQUENCES` sets how many there are, `HEALTHKV_LONG` runs
/// thousands.
@Suite struct StatisticsTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let isLong = environment["HEALTHKV_LONG"] != nil
    private static let workers = 2
    private static let histories = environment["HEALTHKV_SEQUENCES"].flatMap { Int($0) } ?? (isLong ? 4_000 : 60)

    @Test("Statistics are what the rules say, after any sequence of edits", arguments: 0..<workers)
    func histories(worker: Int) throws {
        if let seed = Self.environment["HEALTHKV_SEED"].flatMap({ UInt64($0) }) {
            if worker == 0 { run(seed) }
            return
        }
        var seeds = SeededGenerator(seed: SeededGenerator().seed, part: worker)
        for _ in 0..<Self.histories / Self.workers where !run(seeds.next()) { return }
    }

    @discardableResult
    private func run(_ seed: UInt64) -> Bool {
        var history: StatisticsRun?
        do {
            let run = try StatisticsRun(seed: seed)
            history = run
            for _ in 0..<8 {
                for _ in 0..<4 { try run.step() }
                for _ in 0..<3 { try run.compare() }
            }
            try run.store.expectClean()
            try run.store.close()
            return true
        } catch {
            Issue.record("seed \(seed)\n\(history?.log.joined(separator: "\n") ?? "")\n\(error)")
            return false
        }
    }

    @Test("A summary that is changed in one place is noticed, by the oracle and by a check")
    func damagedSummary() throws {
        var (found, checked, planted) = (0, 0, 0)
        for seed in UInt64(100)..<130 {
            let run = try StatisticsRun(seed: seed)
            for _ in 0..<24 { try run.step() }
            while try run.store.maintain() {}
            guard try run.damageSummary() else { continue }
            planted += 1
            if try run.store.check().findings.contains(where: { $0.kind == .summaryWrong }) { checked += 1 }
            do { for _ in 0..<60 { try run.compare() } } catch is StatisticsMismatch { found += 1 }
            try run.store.close()
        }
        #expect(planted >= 10)
        #expect(checked == planted)
        #expect(found >= planted * 3 / 4, "\(found) of \(planted)")
    }

    @Test("An oracle with the ranks the wrong way round disagrees")
    func control() throws {
        var found = 0
        for seed in UInt64(0)..<20 {
            let run = try StatisticsRun(seed: seed)
            run.reversesRanks = true
            do {
                for _ in 0..<8 {
                    for _ in 0..<4 { try run.step() }
                    for _ in 0..<3 { try run.compare() }
                }
            } catch is StatisticsMismatch {
                found += 1
            }
            try run.store.close()
        }
        #expect(found >= 15)
    }
}
