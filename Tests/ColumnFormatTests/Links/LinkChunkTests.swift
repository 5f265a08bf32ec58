import HealthModel
import TestSupport
import Testing

@testable import ColumnFormat

/// Compares chunks of links and blocks of hints with a linear search.
@Suite struct LinkChunkTests {
    private let key: [UInt8] = Array("a key of twenty-two by".utf8)

    /// Sorted links: dense or sparse hashes, some of them equal, of one form or all, with random ids or others.
    static func links(_ count: Int, _ random: inout SeededGenerator) -> [PackedLink] {
        let bits = UInt64(random.pick([1, 4, 12, 24, 39, 40]))
        let mask: UInt64 = .max >> (64 - bits)
        let base = random.next() & (1 << 40 - 1) & ~mask
        let forms: [PackedLink.Form] = random.pick([[.byRow], [.byID], [.byRow, .byPeerID, .byID]])
        let others = random.pick([0, 0, 0.02, 1])
        let numbers = random.chance(0.5)
        return (0..<count).map { _ in
            let form = random.pick(forms)
            let isOther = random.chance(others)
            let id = isOther ? SampleID(high: random.next(), low: random.next()) : SampleID(using: &random)
            let number = 1 << 52 | 1 << 20 | Int64(random.number(0..<2_048))
            return PackedLink(
                hash: base | random.next() & mask, form: form,
                sample: form == .byID ? SampleID(high: random.next(), low: random.next()) : nil, idAtPeer: id,
                version: isOther ? random.pick([-3, -1, 0, .max, .min]) : numbers ? number : 1,
                isProvisional: random.chance(0.3))
        }.sorted(by: PackedLink.isBefore)
    }

    static func encode(
        _ all: [PackedLink], key: [UInt8], pageSize: Int
    ) -> [(value: [UInt8], links: ArraySlice<PackedLink>)] {
        var encoder = LinkChunkEncoder(pageSize: pageSize)
        var rest = all[...]
        var chunks: [(value: [UInt8], links: ArraySlice<PackedLink>)] = []
        while !rest.isEmpty {
            let chunk = encoder.chunk(rest, stamp: CommitStamp(commit: 3, session: 5)) { _ in key }
            chunks.append((chunk.value, rest.prefix(chunk.count)))
            rest = rest.dropFirst(chunk.count)
        }
        return chunks
    }

    @Test("Chunks hold all links in order, fill their page, never split a hash, and find what a linear search finds")
    func chunks() throws {
        var random = SeededGenerator()
        for round in 0..<60 {
            let pageSize = random.pick([512, 4_096, 16_384])
            let all = Self.links(random.pick([1, 2, 63, 200, 900]), &random)
            var last: UInt64?
            for (value, expected) in Self.encode(all, key: key, pageSize: pageSize) {
                let isOneHash = expected.first!.hash == expected.last!.hash
                #expect(value.count <= pageSize - 16 || isOneHash || expected.count == 1, "round \(round)")
                #expect(last != expected.first!.hash)
                last = expected.last!.hash
                let chunk = try LinkChunk(value.rawBytes, key: key.rawBytes)
                var read: [PackedLink] = []
                try chunk.appendAll(to: &read)
                #expect(read == Array(expected), "round \(round)")
                #expect(chunk.firstHash == expected.first!.hash)
                for _ in 0..<10 {
                    let wanted = random.pick(Array(expected))
                    let range =
                        random.chance(0.5)
                        ? wanted.hash...wanted.hash : (wanted.hash &- 900 & 1 << 39 - 1)...wanted.hash | 0xFFF
                    var found: [PackedLink] = []
                    try chunk.find(range, into: &found)
                    #expect(found == expected.filter { range.contains($0.hash) }, "round \(round)")
                    var one: [PackedLink] = []
                    try chunk.find(range, idAtPeer: wanted.idAtPeer, into: &one)
                    #expect(one == expected.filter { range.contains($0.hash) && $0.idAtPeer == wanted.idAtPeer })
                }
            }
        }
    }

    @Test(
        "In full pages, a link takes less than 24 bytes including its hint, for 100,000 to 10,000,000 links",
        arguments: [100_000, 1_000_000, 10_000_000])
    func size(of all: Int) {
        var random = SeededGenerator()
        // A sample of the hashes with the density that all of them would have.
        let count = 20_000
        let range = (1 << 40) / UInt64(all / count)
        let links = (0..<count).map { _ in
            PackedLink(
                hash: .random(in: 0..<range, using: &random), form: .byRow, idAtPeer: SampleID(using: &random),
                version: 1 << 52 | 1 << 20 | Int64(random.number(0..<2_048)), isProvisional: random.chance(0.5))
        }.sorted(by: PackedLink.isBefore)
        let chunks = Self.encode(links, key: key, pageSize: 4_096)
        // All chunks but the last are full.
        for chunk in chunks.dropLast() { #expect(chunk.value.count > 4_040) }
        let hints = links.map {
            LinkHint(idAtPeer: .random(in: 0..<range, using: &random), sample: $0.hash)
        }.sorted()
        var encoder = LinkHintEncoder(pageSize: 4_096, precision: LinkHint.Precision(links: all))
        var (from, blocks) = (0, 0)
        while from < hints.count {
            from += encoder.block(hints[from...], stamp: CommitStamp(commit: 1, session: 5)) { _ in key }.count
            blocks += 1
        }
        // Each page also has an entry in the tree.
        let bytes = Double((chunks.count + blocks - 1) * (4_096 + 56)) / Double(count)
        print("\(all) links: \(bytes) bytes each")
        #expect(bytes < 24)
    }

    @Test("Blocks of hints lead to the hash of each link's sample") func hints() throws {
        var random = SeededGenerator()
        for round in 0..<40 {
            let count = random.pick([1, 2, 64, 1_000, 5_000])
            let pairs = (0..<count).map { _ in (idAtPeer: random.next() >> 24, sample: random.next() >> 24) }
            let hints = pairs.map { LinkHint(idAtPeer: $0.idAtPeer, sample: $0.sample) }.sorted()
            let precision = LinkHint.Precision(links: random.pick([count, 1, 1 << 30]))
            var encoder = LinkHintEncoder(pageSize: 4_096, precision: precision)
            var from = 0
            var read: [(hash: UInt64, place: UInt64)] = []
            var blocks: [[UInt8]] = []
            while from < hints.count {
                let block = encoder.block(hints[from...], stamp: CommitStamp(commit: 1, session: 5)) { _ in key }
                try LinkHintBlock(block.value.rawBytes, key: key.rawBytes).appendAll(to: &read)
                blocks.append(block.value)
                from += block.count
            }
            let kept = hints.map { $0.kept(precision) }
            #expect(read.map(\.hash) == kept.map(\.hash) && read.map(\.place) == kept.map(\.place), "round \(round)")
            for pair in pairs.prefix(50) {
                var ranges: [ClosedRange<UInt64>] = []
                for block in blocks {
                    try LinkHintBlock(block.rawBytes, key: key.rawBytes).find(pair.idAtPeer, into: &ranges)
                }
                #expect(ranges.contains { $0.contains(pair.sample) }, "round \(round)")
            }
        }
    }
}
