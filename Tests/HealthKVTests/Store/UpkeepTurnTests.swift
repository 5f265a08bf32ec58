import TestSupport
import Testing

@testable import HealthKV

@Suite("Upkeep beside writes")
struct UpkeepTurnTests {
    private let begin = ContinuousClock.now

    private func after(_ milliseconds: Int) -> ContinuousClock.Instant { begin + .milliseconds(milliseconds) }

    @Test("Upkeep waits for a pause between commits") func pause() {
        var turn = UpkeepTurn()
        #expect(turn.pause(after: nil, at: begin) == nil)
        #expect(turn.pause(after: begin, at: after(30)) == .milliseconds(70))
        #expect(turn.pause(after: begin, at: after(100)) == nil)
    }

    @Test("Beside commits that come without a pause it takes two steps a second, one of each kind")
    func withoutPause() {
        var turn = UpkeepTurn()
        var steps: [Int] = []
        var kinds: Set<Bool> = []
        for time in stride(from: 0, to: 5_000, by: 10) where turn.pause(after: after(time - 5), at: after(time)) == nil
        {
            steps.append(time)
            kinds.insert(turn.takeStep())
        }
        #expect(steps == [1_000, 1_010, 2_020, 2_030, 3_040, 3_050, 4_060, 4_070])
        #expect(kinds == [true, false])
    }

    @Test("Two writers that leave the writing thread no idle moment do not keep upkeep from running")
    func besideTwoWriters() throws {
        var options = SampleStore.Options()
        (options.limits.changeRecords, options.limits.changeRecordsPerStep) = (16, 16)
        options.limits.skipsSync = true
        try withStore(options: options) { store throws in
            let began = ContinuousClock.now
            let writers = (0..<2).map { writer in
                Thread {
                    var second = 0
                    while began.duration(to: .now) < .seconds(4) {
                        let sample = Sample(.stepCount, 1, .count, at: .day(0, second * 2 + writer))
                        guard (try? store.save(sample)) != nil else { return }
                        second += 1
                    }
                }
            }
            for writer in writers { writer.join() }
            let (kept, commits) = try store.read { txn in
                var kept = 0
                try txn.forEachRecord(ofTable: "changes") { _, _ in kept += 1 }
                return (kept, Int(txn.currentToken.commit))
            }
            #expect(kept < commits * 19 / 20, "\(kept) records of \(commits) commits")
        }
    }
}
