import HealthModel
import Testing
import TestSupport

@testable import ColumnFormat

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Damaged values are refused and never end the process, whether their checksums fail or are forged to match.
@Suite struct DamageTests {
    private static let isLong = ProcessInfo.processInfo.environment["HEALTHKV_LONG"] != nil
    private static let rounds = isLong ? 400_000 : 4_000

    @Test("Each flipped bit and each truncation of either value of a chunk is refused")
    func chunkFlips() throws {
        var random = SeededGenerator()
        for count in [1, 40] {
            let chunk = TestChunk(count, &random)
            let (hot, details) = chunk.encode()
            _ = try readEverything(hot, details, chunk.key)
            for bit in 0..<hot.count * 8 {
                var damaged = hot
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(failure { try readEverything(damaged, details, chunk.key) } != nil, "hot, bit \(bit)")
            }
            for bit in 0..<details.count * 8 {
                var damaged = details
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(failure { try readEverything(hot, damaged, chunk.key) } != nil, "details, bit \(bit)")
            }
            for length in 0..<hot.count {
                #expect(failure { try readEverything(Array(hot[..<length]), details, chunk.key) } != nil)
            }
            for length in 0..<details.count {
                #expect(failure { try readEverything(hot, Array(details[..<length]), chunk.key) } != nil)
            }
        }
    }

    @Test("With a flipped bit in the details, reading one row returns the right row or is refused")
    func singleRows() throws {
        var random = SeededGenerator()
        for _ in 0..<3 {
            let chunk = TestChunk(150, &random)
            let (hot, details) = chunk.encode()
            let key = chunk.key.bytes
            for bit in stride(from: random.number(0..<7), to: details.count * 8, by: 7) {
                var damaged = details
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                let row = random.number(0..<150)
                let expected = chunk.rows[row]
                _ = failure {
                    let hotChunk = try HotChunk(hot.rawBytes, key: key.rawBytes)
                    try hotChunk.verify()
                    let cold = try DetailsChunk(damaged.rawBytes, key: key.rawBytes)
                    let decoder = try ChunkDecoder(hot: hotChunk, details: cold)
                    let near = try hotChunk.find(startingIn: expected.start...expected.start)
                    let single = try decoder.row(at: row, of: near, TestNames())
                    #expect(single.everything == expected.everything, "bit \(bit)")
                    let found = try cold.row(of: expected.id, in: row..<row + 1)
                    #expect(found == row || expected.flags.contains(.derivedID), "bit \(bit)")
                    let part = try decoder.rows(row..<row + 1, TestNames())
                    #expect(part.map(\.everything) == [expected.everything], "bit \(bit)")
                }
            }
        }
    }

    @Test("Chunks with forged checksums are refused or read, and never end the process")
    func forgedChunks() {
        var random = SeededGenerator()
        var read = 0
        for round in 0..<Self.rounds {
            let chunk = TestChunk(random.pick([1, 2, 17, round % 50 == 0 ? 300 : 5]), &random)
            var (hot, details) = chunk.encode()
            if random.chance(0.6) { hot = Forgery.resealed(Forgery.damaged(hot, &random)) ?? hot }
            if random.chance(0.6) { details = Forgery.resealed(Forgery.damaged(details, &random)) ?? details }
            if failure({ try readEverything(hot, details, chunk.key) }) == nil { read += 1 }
        }
        #expect(read > 0 && read < Self.rounds)
    }

    @Test("Identity blocks with forged checksums are refused or read, and never end the process")
    func forgedIdentityBlocks() {
        var random = SeededGenerator()
        for _ in 0..<Self.rounds {
            let entries = (0..<random.pick([1, 3, 60])).map { _ in
                let lane = Lane(type: UInt32(random.number(0..<3)), duration: .day)
                return IdentityEntry(hash: random.next(), start: Int64(bitPattern: random.next()), lane: lane)
            }.sorted()
            var encoder = IdentityBlockEncoder(pageSize: 1_024)
            let block = encoder.block(entries[...], stamp: CommitStamp(commit: 1, session: 5)) { _ in [1] }
            let forged = Forgery.resealed(Forgery.damaged(block.value, &random)) ?? block.value
            readBlock(forged, entries.map(\.hash) + [0, random.next() >> 24])
        }
    }

    private func readBlock(_ bytes: [UInt8], _ hashes: [UInt64]) {
        _ = failure {
            let block = try IdentityBlock(StoredValue(bytes.rawBytes, table: .identity))
            var entries: [IdentityEntry] = []
            _ = block.lastHash
            for hash in hashes { _ = failure { try block.find(hash, into: &entries) } }
            var probe = IdentityBlock.Probe()
            for hash in hashes.sorted() { _ = failure { _ = try block.contains(hash, &probe) } }
            entries = []
            try block.appendAll(to: &entries)
            for entry in entries { _ = (entry.kind.lane, entry.starts) }
        }
    }

    @Test(
        "Chunks of links and blocks of hints with forged checksums are refused or read in order, and never end the process"
    )
    func forgedLinks() {
        var random = SeededGenerator()
        let key: [UInt8] = Array("a key of twenty-two by".utf8)
        var read = 0
        for _ in 0..<Self.rounds {
            let links = LinkChunkTests.links(random.pick([1, 2, 30, 150]), &random)
            let chunk = LinkChunkTests.encode(links, key: key, pageSize: 4_096)[0].value
            let hints = links.map { LinkHint(idAtPeer: random.next() >> 24, sample: $0.hash) }.sorted()
            var encoder = LinkHintEncoder(pageSize: 4_096, precision: LinkHint.Precision(links: hints.count))
            let block = encoder.block(hints[...], stamp: CommitStamp(commit: 1, session: 5)) { _ in key }.value
            let values = [chunk, block].map { Forgery.resealed(Forgery.damaged($0, &random)) ?? $0 }
            if failure({ try self.readLinks(values[0], key, random.next() >> 24) }) == nil { read += 1 }
            _ = failure { try self.readHints(values[1], key, random.next() >> 24) }
        }
        #expect(read > 0)
    }

    private func readLinks(_ bytes: [UInt8], _ key: [UInt8], _ hash: UInt64) throws {
        let chunk = try LinkChunk(bytes.rawBytes, key: key.rawBytes)
        var links: [PackedLink] = []
        try chunk.find(hash...hash, into: &links)
        try chunk.find(0...hash, into: &links)
        #expect(links.count <= 2 * chunk.count)
        links = []
        try chunk.appendAll(to: &links)
        #expect(links.count == chunk.count && zip(links, links.dropFirst()).allSatisfy { $0.hash <= $1.hash })
        #expect(links.allSatisfy { $0.hash < 1 << 40 && ($0.form == .byID) == ($0.sample != nil) })
    }

    private func readHints(_ bytes: [UInt8], _ key: [UInt8], _ hash: UInt64) throws {
        let block = try LinkHintBlock(bytes.rawBytes, key: key.rawBytes)
        var ranges: [ClosedRange<UInt64>] = []
        try block.find(hash, into: &ranges)
        var hints: [(hash: UInt64, place: UInt64)] = []
        try block.appendAll(to: &hints)
        #expect(hints.count == block.count && zip(hints, hints.dropFirst()).allSatisfy { $0.hash <= $1.hash })
        #expect(ranges.allSatisfy { $0.upperBound < 1 << 40 })
    }

    @Test("Random bytes are refused as any value, even with correct checksums")
    func randomBytes() {
        var random = SeededGenerator()
        for _ in 0..<Self.rounds {
            var bytes = (0..<random.number(0..<600)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            if bytes.count > 40, random.chance(0.8) {
                // Plausible header fields, so that decoding gets further.
                (bytes[0], bytes[1], bytes[2], bytes[3]) = (random.pick([4, 5, 7, 1]), 1, 0, random.pick([0, 1, 6]))
                (bytes[4], bytes[5], bytes[6], bytes[7]) = (UInt8(bytes.count & 255), UInt8(bytes.count >> 8), 0, 0)
                (bytes[24], bytes[25], bytes[26]) = (
                    random.pick([0, 37]), random.pick([0, 32]), UInt8(random.number(8..<17))
                )
                bytes = Forgery.resealed(bytes) ?? bytes
            }
            let key = ChunkKey(lane: Lane(type: 1, duration: .hour), lower: .least)
            #expect(failure { try readEverything(bytes, bytes, key) } != nil)
            readBlock(bytes, [0, 1, random.next() >> 24])
            for table in TableCode.allCases {
                _ = failure { _ = try RecordReader(bytes.rawBytes, table: table, key: []) }
            }
        }
    }
}
