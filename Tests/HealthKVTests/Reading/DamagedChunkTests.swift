import ColumnFormat
import TestSupport
import Testing

@testable import HealthKV

/// One damaged chunk costs that chunk and no other.
@Suite struct DamagedChunkTests {
    private let folder = TemporaryFolder()

    /// A store of which the first of two chunks of steps is damaged; behind them there is nothing yet.
    private func damagedStore() throws -> SampleStore {
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        let store = try SampleStore.open(at: folder.path, options: options)
        var batch = SampleBatch()
        for row in 0..<300 {
            batch.append(Sample(.stepCount, Double(row), .count, at: .day(row / 24, row % 24 * 3_600)))
        }
        let steps = batch
        try store.write { _ = try $0.importBatch(steps) }
        try store.save(Sample(.stepCount, 1, .count, at: .day(20)))
        var chunks: [(key: [UInt8], value: [UInt8])] = []
        try store.read { try $0.forEachRecord(ofTable: "chunks") { chunks.append(($0, $1)) } }
        #expect(chunks.count == 2)
        chunks[0].value[chunks[0].value.count - 9] ^= 0x10
        try store.put([chunks[0]])
        try store.close()
        return try SampleStore.open(at: folder.path, options: options)
    }

    @Test("Whatever is appended behind a damaged chunk is saved")
    func appended() throws {
        let store = try damagedStore()
        for number in 0..<200 {
            try #expect(store.save(Sample(.stepCount, 1, .count, at: .day(30, number * 60))) == .inserted)
        }
        #expect(try store.read { try $0.samples(of: .stepCount, from: .day(30)).count } == 200)
        for sample in try store.read({ try $0.samples(of: .stepCount, from: .day(29)) }) {
            #expect(try store.write { try $0.delete(id: sample.id) })
        }
        try store.close()
    }

    @Test(
        "Types without damage are summed up; of what could not be summed up the end of the work tells, and samples answer"
    )
    func summaries() throws {
        let store = try damagedStore()
        try store.write { txn in
            for row in 0..<400 {
                try txn.save(Sample(.stepCount, 1, .count, at: .day(50, row * 60)))
                try txn.save(Sample(.bodyMass, 70, .kilogram, at: .day(3, row * 60)))
            }
        }
        expectError(.damaged) { while try store.maintain() {} }
        try store.read { txn in
            let snapshot = txn.snapshot
            let weight = try #require(try NameTable.number(of: .bodyMass, in: snapshot))
            #expect(try SummaryTable.summarizedBlocks(weight, in: snapshot).count == 1)
            #expect(try StaleTable.firstRange(in: snapshot)?.type == NameTable.number(of: .stepCount, in: snapshot))
            #expect(try txn.statistics(of: .stepCount, from: .day(50), to: .day(51)).sum == 400)
        }
        var batch = SampleBatch()
        for day in 0..<50 { batch.append(Sample(.height, 1.8, .meter, at: .day(day))) }
        #expect(try store.importAll([batch], job: "heights").inserted == 50)
        try store.write { try $0.setPriority([RankedSource(SourceIdentity(name: "Phone"))], of: .stepCount) }
        try store.close()
    }

    @Test("A write whose error was caught after counts had changed is undone")
    func caught() throws {
        try withStore { store in
            try store.save(Sample(.stepCount, 1, .count, at: .day(0)))
            expectError(.unfinished) {
                try store.write { txn in
                    let lane = Lane(
                        type: try #require(try NameTable.number(of: .stepCount, in: txn.snapshot)), duration: .hour)
                    do {
                        try txn.whole { txn in
                            var edit = LaneEdit(
                                inserts: try ChunkTable.load(lane, .least, in: txn.snapshot).rows, removals: [])
                            try LaneWriter.account(lane, edit.merge([], before: .greatest), in: &txn)
                            throw Refusal()
                        }
                    } catch is Refusal {}
                }
            }
            #expect(try store.read { try $0.count(of: .stepCount) } == 1)
        }
    }
}
