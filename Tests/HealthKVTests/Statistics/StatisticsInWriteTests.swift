import Synchronization
import Testing

@testable import HealthKV

/// A writing transaction is a reader too.
@Suite struct StatisticsInWriteTests {
    private func steps(_ value: Double, _ start: Int) -> Sample {
        Sample(.stepCount, value, .count, from: .day(0, start), to: .day(0, start + 60))
    }

    private func filled() throws -> SampleStore {
        var options = SampleStore.Options()
        options.limits.thinSamples = 0
        options.maintainsWhenIdle = false
        let store = try SampleStore.temporary(options: options)
        try store.write { txn in for number in 0..<40 { try txn.save(steps(1, number * 600)) } }
        while try store.maintain() {}
        let blocks = try store.read { txn in
            try SummaryTable.summarizedBlocks(NameTable.number(of: .stepCount, in: txn.snapshot)!, in: txn.snapshot)
                .count
        }
        #expect(blocks > 0, "a summary stands there")
        return store
    }

    private func sum(_ txn: borrowing WriteTransaction) throws -> Double? {
        try txn.statistics(of: .stepCount, from: .day(0), to: .day(1)).sum
    }

    @Test("Statistics inside a write see what the transaction has changed, and what it undid")
    func ownChanges() throws {
        let store = try filled()
        let added = steps(100, 30)
        try store.write { txn in
            #expect(try sum(txn) == 40)
            try txn.save(added)
            #expect(try sum(txn) == 140)
            let points = try txn.series(.stepCount, from: .day(0), to: .day(1), points: 1)
            #expect(points.first?.maximum == 100)
            try txn.delete(id: added.id)
            #expect(try sum(txn) == 40)
            #expect(try txn.delete(.range(of: .stepCount, from: .day(0), to: .day(0, 6_000))) == 10)
            #expect(try sum(txn) == 30)
        }
        #expect(try store.read { try $0.statistics(of: .stepCount).sum } == 30)
        try store.expectClean()
        try store.close()
    }

    @Test("Members of one commit see what those before them changed, and nothing of those that failed")
    func members() throws {
        let store = try filled()
        let seen = Mutex<[Double?]>([])
        func member(_ value: Double, fails: Bool = false) -> WriteMember {
            let sample = steps(value, Int(value))
            return WriteMember(
                run: { txn in
                    let sum = try txn.statistics(of: .stepCount, from: .day(0), to: .day(1)).sum
                    seen.withLock { $0.append(sum) }
                    try txn.save(sample)
                    if fails { throw Refusal() }
                }, finish: { #expect(($0 == nil) != fails) })
        }
        let members = [member(100), member(1_000, fails: true), member(10_000)]
        try store.core.onWriter { [core = store.core] in core.commit(members) }
        #expect(seen.withLock { $0 } == [40, 140, 140])
        #expect(try store.read { try $0.statistics(of: .stepCount).sum } == 10_140)
        try store.expectClean()
        try store.close()
    }
}
