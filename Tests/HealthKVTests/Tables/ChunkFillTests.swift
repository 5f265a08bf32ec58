import ColumnFormat
import Testing

@testable import HealthKV

/// How full chunks are decides what a sample costs on disk.
@Suite struct ChunkFillTests {
    private static let samples: [Sample] = (0..<12_000).map { (index: Int) -> Sample in
        let start: Int = index * 97
        let end: Int = start + 10 + index * 13 % 600
        let value = Double(index * 7919 % 400 + 1) * 0.731_254_879_1
        return Sample(.stepCount, value, .count, from: .day(0, start), to: .day(0, end))
    }

    /// Imports pages of samples, each in a commit of its own, and answers how many chunks there are in the end.
    private func chunks(after pages: [ArraySlice<Sample>]) throws -> Int {
        var chunks = 0
        try withStore { store throws in
            for page in pages {
                var batch = SampleBatch()
                for sample in page { batch.append(sample) }
                try store.importBatch(batch)
            }
            let found = try store.read { try $0.samples(of: .stepCount) }
            #expect(found.map(\.id) == Self.samples.map(\.id))
            #expect(try store.check().isClean)
            chunks = try store.info().tables.first { $0.name == "chunks" }?.entries ?? 0
        }
        return chunks
    }

    private func pages(_ range: Range<Int>) -> [ArraySlice<Sample>] {
        stride(from: range.lowerBound, to: range.upperBound, by: 1_000).map {
            Self.samples[$0..<min($0 + 1_000, range.upperBound)]
        }
    }

    @Test("After a feed that began with the newest samples chunks are nearly as full as after an import in order")
    func newestFirst() throws {
        let inOrder = try chunks(after: pages(0..<12_000))
        // What a first import reads: a window of the newest, the latest page first, then the feed up to it.
        let newestFirst = try chunks(after: pages(9_500..<12_000).reversed() + pages(0..<9_500))
        let backwards = try chunks(after: pages(0..<12_000).reversed())
        print("chunks: \(inOrder) in order, \(newestFirst) with the newest first, \(backwards) backwards")
        #expect(newestFirst * 5 <= inOrder * 6)
        #expect(backwards * 5 <= inOrder * 6)
    }

    @Test("What is saved one by one newest first rewrites a small chunk each time, and leaves full ones behind")
    func oneByOneBackwards() throws {
        let samples = Self.samples[..<1_500]
        var counts: [[Int]] = []
        for order in [Array(samples), samples.reversed()] {
            try withStore { store throws in
                var last: [Int] = []
                for from in stride(from: 0, to: order.count, by: 100) {
                    let part = Array(order[from..<from + 100])
                    try store.write { txn in for sample in part { try txn.save(sample) } }
                    last = try store.read { txn in
                        let lane = Lane(type: try NameTable.number(of: .stepCount, in: txn.snapshot)!, duration: .hour)
                        var rows: [Int] = []
                        try ChunkTable.forEachChunk(lane, from: .least, to: .greatest, in: txn.snapshot) { chunk in
                            rows.append(chunk.rows)
                            return true
                        }
                        return rows
                    }
                    if order[0].start > order[1].start { #expect(last[0] <= 64, "\(last)") }
                }
                #expect(try store.read { try $0.samples(of: .stepCount).map(\.id) } == samples.map(\.id))
                counts.append(last)
            }
        }
        #expect(counts[1].count <= counts[0].count + 1, "\(counts)")
    }

    @Test(
        "Samples that are saved newest first rewrite a small chunk each time, whatever older samples there are",
        arguments: [1, 3, 40, 300])
    func backwardsBehindOlder(older: Int) throws {
        let samples = Self.samples[..<1_000]
        let first = (0..<older).map {
            Sample(.stepCount, 5, .count, from: .day(-5_000 + $0, 0), to: .day(-5_000 + $0, 60))
        }
        var counts: [Int] = []
        for order in [Array(samples), samples.reversed()] {
            try withStore { store throws in
                for sample in first { try store.save(sample) }
                for from in stride(from: 0, to: order.count, by: 20) {
                    let part = Array(order[from..<from + 20])
                    try store.write { txn in
                        for sample in part {
                            try txn.save(sample)
                            let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
                            let point = Point(
                                start: sample.start.nanoseconds, end: sample.end.nanoseconds, id: sample.id)
                            let chunk = try ChunkTable.load(Lane(type: type, duration: .hour), point, in: txn.snapshot)
                            #expect(chunk.rows.count <= 65)
                        }
                    }
                }
                #expect(try store.read { try $0.samples(of: .stepCount).map(\.id) } == (first + samples).map(\.id))
                #expect(try store.check().isClean)
                counts.append(try store.info().tables.first { $0.name == "chunks" }?.entries ?? 0)
            }
        }
        #expect(counts[1] <= counts[0] + 2, "\(counts)")
    }

    @Test("What is saved one by one behind an import rewrites a small chunk each time, and leaves full ones behind")
    func oneByOne() throws {
        let inOrder = try chunks(after: pages(0..<12_000))
        let singles = (11_700..<12_000).map { Self.samples[$0...$0] }
        #expect(try chunks(after: pages(0..<11_700) + singles) <= inOrder + 2)
        // Some hundreds at once between them, as from a peer's feed.
        var mixed: [ArraySlice<Sample>] = []
        for from in stride(from: 0, to: 6_000, by: 200) {
            mixed.append(Self.samples[from..<from + 195])
            for single in from + 195..<from + 200 { mixed.append(Self.samples[single...single]) }
        }
        let (apart, together) = (try chunks(after: mixed + pages(6_000..<12_000)), inOrder)
        print("chunks: \(apart) of small imports with single samples between them, \(together) in order")
        #expect(apart * 5 <= together * 6)
    }

    @Test("The last chunk of a lane stays small while samples come one by one, whatever they are")
    func smallTail() throws {
        try withStore { store throws in
            var batch = SampleBatch()
            for sample in Self.samples[..<3_000] { batch.append(sample) }
            try store.importBatch(batch)
            for sample in Self.samples[3_000..<3_200] {
                try store.save(sample)
                #expect(try lastRows(store) <= 64)
            }
            // An edit and a deletion in it do not make it large.
            var edited = Self.samples[3_199]
            edited.quantity.value += 1
            let last = edited
            try store.write { txn in
                try txn.save(last)
                _ = try txn.delete(id: Self.samples[3_198].id)
            }
            #expect(try lastRows(store) <= 64)
            #expect(try store.read { try $0.count(of: .stepCount) } == 3_199)
            #expect(try store.check().isClean)
        }
    }

    private func lastRows(_ store: SampleStore) throws -> Int {
        try store.read { txn in
            let type = try #require(try NameTable.number(of: .stepCount, in: txn.snapshot))
            var rows = 0
            for duration in DurationClass.allCases {
                let lane = Lane(type: type, duration: duration)
                try ChunkTable.forEachChunk(lane, from: .least, to: .greatest, descending: true, in: txn.snapshot) {
                    chunk in
                    rows = max(rows, chunk.rows)
                    return false
                }
            }
            return rows
        }
    }
}
