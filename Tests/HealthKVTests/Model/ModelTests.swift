import TestSupport
import Testing

@testable import HealthKV

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Random histories against plain dictionaries and arrays, which are the judge.
///
/// `HEALTHKV_SEED` runs one sequence again, `HEALTHKV_SEQUENCES` sets how many there are, `HEALTHKV_LONG` runs
/// thousands of long ones.
@Suite struct ModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let isLong = environment["HEALTHKV_LONG"] != nil
    private static let workers = 4
    private static let sequences = environment["HEALTHKV_SEQUENCES"].flatMap { Int($0) } ?? (isLong ? 4_000 : 200)
    /// About three operations each: some sixty in all, or two hundred.
    private static let steps = isLong ? 60 : 20

    @Test("Whatever is done, the store holds and tells what a dictionary does", arguments: 0..<workers)
    func histories(worker: Int) throws {
        if let seed = Self.environment["HEALTHKV_SEED"].flatMap({ UInt64($0) }) {
            if worker == 0 { run(seed) }
            return
        }
        var seeds = SeededGenerator(seed: SeededGenerator().seed, part: worker)
        for _ in 0..<max(1, Self.sequences / Self.workers) where !run(seeds.next()) { return }
    }

    /// Runs one sequence; a failure is recorded with all that led to it.
    @discardableResult
    private func run(_ seed: UInt64) -> Bool {
        var sequence: ModelRun?
        do {
            let run = try ModelRun(seed: seed)
            sequence = run
            try run.run(steps: Self.steps)
            return true
        } catch {
            let log = sequence?.log.suffix(80).joined(separator: "\n") ?? ""
            Issue.record("seed \(seed)\n\(log)\n\(error)")
            return false
        }
    }

    @Test("A planted fault is found without a check, and by a check where tables disagree", arguments: Fault.allCases)
    func plantedFaults(fault: Fault) throws {
        var planted = 0
        for seed in 0..<UInt64(40) where planted < 3 {
            let run = try ModelRun(seed: seed)
            try run.run(steps: 12, closing: false)
            guard try run.plant(fault) else { continue }
            planted += 1
            #expect(throws: (any Error).self, "\(fault) with seed \(seed)") { try run.compareAll() }
            if let finding = fault.finding {
                let report = try run.store.check()
                #expect(report.findings.contains { $0.kind == finding }, "\(fault) with seed \(seed)")
            }
            try run.store.close()
        }
        #expect(planted == 3, "the fault could be planted")
    }
}
