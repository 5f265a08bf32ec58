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
}
