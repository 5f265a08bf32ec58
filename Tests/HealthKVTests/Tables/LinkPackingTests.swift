import ColumnFormat
import LMDB
import TestSupport
import Testing

@testable import HealthKV

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How upkeep packs links, and what becomes of links that are damaged.
@Suite struct LinkPackingTests {
    @Test("A newer level of packed links counts before an older one, from both sides, and what was taken back stays so")
    func levels() throws {
        var options = LinkTests.options()
        options.limits.linkLevelRatio = 0
        try withStore(options: options) { store throws in
            var links = (0..<120).map { _ in PeerLink(peer: "p", sample: SampleID(), idAtPeer: SampleID(), version: 5) }
            let made = links
            try store.write { txn in
                for (index, link) in made.enumerated() {
                    try txn.save(LinkTests.weight(link.sample, day: index))
                    try txn.setLink(link)
                }
            }
            try LinkTests.pack(store)
            for round in 1..<8 {
                // One keeps its id of the peer, one gets another, two change theirs, one is taken back.
                links[round].version = 6
                links[round + 10].idAtPeer = SampleID()
                (links[round + 20].idAtPeer, links[round + 30].idAtPeer) = (
                    links[round + 30].idAtPeer, links[round + 20].idAtPeer
                )
                let (changed, taken) = (links, made[round + 40])
                try store.write { txn in
                    for index in [round, round + 10, round + 20, round + 30] { try txn.setLink(changed[index]) }
                    try txn.removeLink(taken)
                    // Its row leaves: the newest of its levels tells what is written out.
                    try txn.delete(id: changed[max(1, round - 1)].sample)
                }
                try LinkTests.pack(store)
                #expect(try LinkTests.kinds(store)[.directory] == round + 1)
                let held = links.enumerated().filter { !(41...round + 40).contains($0.offset) }.map(\.element)
                for link in held { try LinkTests.expect(link, for: link.sample, link.idAtPeer, in: store) }
                for index in 41...round + 40 {
                    try LinkTests.expect(nil, for: made[index].sample, made[index].idAtPeer, in: store)
                }
                for index in 11...round + 10 {
                    #expect(try store.read { try $0.link(peer: "p", idAtPeer: made[index].idAtPeer) } == nil)
                }
                #expect(try Set(store.read { try $0.links(of: "p") }) == Set(held))
                try store.expectClean()
            }
            try store.rebuild()
            #expect(try LinkTests.kinds(store)[.directory] == 1)
            #expect(try store.read { try $0.links(of: "p").count } == 113)
            try store.expectClean()
        }
    }

    @Test("However many times links are packed, levels stay few and each link is written again a few times")
    func growth() throws {
        var options = LinkTests.options()
        options.limits.linkLevelRatio = 8
        try withStore(options: options) { store throws in
            var written = 0
            for round in 1...100 {
                try store.write { txn in
                    for _ in 0..<10 {
                        try txn.setLink(PeerLink(peer: "p", sample: SampleID(), idAtPeer: SampleID(), version: 5))
                    }
                }
                let before = Set(try LinkTests.records(store).map(\.value))
                try LinkTests.pack(store)
                for (key, value) in try LinkTests.records(store)
                where LinkKey.kind(key) == .chunk && !before.contains(value) {
                    written += try LinkChunk(value.rawBytes, key: key.rawBytes).count
                }
                #expect(try LinkTests.kinds(store)[.directory]! <= 4, "round \(round)")
            }
            #expect(try store.read { try $0.links(of: "p").count } == 1_000)
            // All of them each time would be fifty times.
            #expect(written < 12 * 1_000, "\(written) links")
            try store.expectClean()
        }
    }

    @Test("Links that cannot be read keep no sample from being saved or deleted, and no other work from being done")
    func damaged() throws {
        try withStore(options: LinkTests.options()) { store throws in
            let links = (0..<80).map { _ in PeerLink(peer: "p", sample: SampleID(), idAtPeer: SampleID(), version: 5) }
            try store.write { txn in
                for (index, link) in links.enumerated() {
                    try txn.save(LinkTests.weight(link.sample, day: index))
                    try txn.setLink(link)
                }
            }
            try LinkTests.pack(store)
            let late = PeerLink(peer: "p", sample: SampleID(), idAtPeer: SampleID(), version: 6)
            try store.write { txn in
                for key in try LinkTable.linkKeys(PeerKey.peer("p", txn.state.header.hashKey), .chunk, in: txn.snapshot)
                {
                    try txn.put(.links, key, [1, 2, 3])
                }
                try txn.delete(id: links[0].sample)
                try txn.save(LinkTests.weight(links[1].sample, day: 200, version: 9))
                try txn.save(LinkTests.weight(late.sample, day: 201))
            }
            while try store.maintain() {}
            #expect(throws: StoreError.self) { try store.read { try $0.link(peer: "p", sample: links[2].sample) } }
            // Nor does what cannot be read of their directory.
            try store.write { txn in
                for key in try LinkTable.linkKeys(
                    PeerKey.peer("p", txn.state.header.hashKey), .directory, in: txn.snapshot)
                {
                    try txn.put(.links, key, [1, 2, 3])
                }
                try txn.delete(id: links[3].sample)
            }
            while try store.maintain() {}
            #expect(throws: StoreError.self) { try store.read { try $0.link(peer: "p", sample: links[2].sample) } }
            #expect(try store.read { try $0.count() } == 79)
            #expect(try !store.check().isClean)
            try store.write { txn in
                try txn.removePeer("p")
                try txn.setLink(late)
            }
            try store.rebuild()
            try LinkTests.pack(store)
            try LinkTests.expect(late, for: late.sample, late.idAtPeer, in: store)
        }
    }

    @Test("Links that were forged are refused or read, are found by a check, and end no process") func forged() throws {
        var random = SeededGenerator()
        let store = try SampleStore.temporary(options: LinkTests.options())
        let links = (0..<60).map { _ in PeerLink(peer: "p", sample: SampleID(), idAtPeer: SampleID(), version: 5) }
        try store.write { txn in
            for link in links { try txn.save(LinkTests.weight(link.sample)) }
            for link in links { try txn.setLink(link) }
        }
        try LinkTests.pack(store)
        let good = try LinkTests.records(store)
        for _ in 0..<120 {
            let block = random.pick(good.filter { $0.key.count == 23 })
            let forged = try Self.forged(block, &random)
            try store.write { try $0.put(.links, block.key, forged) }
            do {
                try store.read { txn in
                    for link in links {
                        _ = try? txn.link(peer: "p", sample: link.sample)
                        _ = try? txn.link(peer: "p", idAtPeer: link.idAtPeer)
                    }
                    _ = try txn.links(of: "p")
                }
            } catch { #expect(StoreError.isDamage(error), "\(error)") }
            #expect(try !store.check().isClean)
            do { try store.rebuild() } catch { #expect(StoreError.isDamage(error), "\(error)") }
            try store.write { txn in
                try txn.removePeer("p")
                for record in good { try txn.put(.links, record.key, record.value) }
            }
            try store.expectClean()
        }
        try store.close()
    }

    /// A block whose checksums are right and which says something else.
    private static func forged(
        _ block: (key: [UInt8], value: [UInt8]), _ random: inout SeededGenerator
    ) throws -> [UInt8] {
        guard LinkKey.kind(block.key) == .chunk else {
            var hints: [(hash: UInt64, place: UInt64)] = []
            let read = try LinkHintBlock(block.value.rawBytes, key: block.key.rawBytes)
            try read.appendAll(to: &hints)
            let precision = read.precision
            var forged = hints.map { hint in
                LinkHint(
                    idAtPeer: hint.hash << UInt64(40 - precision.hashBits),
                    sample: hint.place << UInt64(40 - precision.placeBits))
            }
            let index = random.number(0..<forged.count)
            forged[index].packed ^= 1 << UInt64(random.number(24 - precision.placeBits..<24))
            if random.chance(0.3) { forged = forged.map { LinkHint(idAtPeer: $0.packed >> 30, sample: 7) } }
            forged.sort()
            var encoder = LinkHintEncoder(pageSize: 65_536, precision: precision)
            return encoder.block(forged[...], stamp: CommitStamp(commit: 9, session: 5)) { _ in block.key }.value
        }
        var links: [PackedLink] = []
        try LinkChunk(block.value.rawBytes, key: block.key.rawBytes).appendAll(to: &links)
        let (one, other) = (random.number(0..<links.count), random.number(0..<links.count))
        switch random.number(0..<4) {
        case 0: links[one].hash = random.next() >> 24
        case 1: for index in links.indices { links[index].hash = random.next() >> 24 }
        case 2 where one != other: links[one].idAtPeer = links[other].idAtPeer
        case 3: links.removeFirst(max(1, one))
        default:
            links = links.map { link in
                PackedLink(hash: 1 << 40 - 1, form: .byRow, idAtPeer: link.idAtPeer, version: 1, isProvisional: false)
            }
        }
        if links.isEmpty {
            links = [PackedLink(hash: 0, form: .byRow, idAtPeer: .zero, version: 0, isProvisional: true)]
        }
        links.sort(by: PackedLink.isBefore)
        var encoder = LinkChunkEncoder(pageSize: 65_536)
        return encoder.chunk(links[...], stamp: CommitStamp(commit: 9, session: 5)) { _ in block.key }.value
    }

    private static let isLong = ProcessInfo.processInfo.environment["HEALTHKV_LONG"] != nil

    /// The bound covers 50,000 links or more after upkeep, of samples that live, and own ones in their first version.
    /// Fewer links take more bytes each: their hashes are farther apart, and the last page is not full.
    @Test(
        "From 50,000 links on, a link takes at most 24 bytes, whole pages and those that are not packed yet included",
        arguments: [true, false])
    func size(areOwn: Bool) throws {
        var random = SeededGenerator()
        var options = SampleStore.Options()
        options.limits.skipsSync = true
        options.maintainsWhenIdle = false
        try withStore(options: options) { store throws in
            // A hundred thousand take minutes without optimisation.
            let count = Self.isLong ? 500_000 : 50_000
            var batch = SampleBatch()
            var links: [PeerLink] = []
            // As many as are left as they are.
            let recent = max(options.limits.recentLinks, count / Int(options.limits.linksPerRecentLink))
            for row in 0..<count + recent {
                let sample = Sample(.bodyMass, 70, .kilogram, at: .day(1, row * 600), id: SampleID(using: &random))
                batch.append(sample)
                let clock = ChangeClock(time: sample.start, replica: 7)
                links.append(
                    areOwn
                        ? PeerLink(
                            peer: "HealthKit", sample: sample.id, idAtPeer: SampleID(using: &random),
                            version: PeerNumber.next(version: 1, clock, above: 0), isProvisional: random.chance(0.1))
                        : PeerLink(
                            peer: "HealthKit", sample: sample.id, idAtPeer: sample.id, version: -2))
            }
            let (rows, made) = (batch, links)
            try store.write { txn in
                try txn.importBatch(rows)
                for link in made[..<count] { try txn.setLink(link) }
            }
            while try store.maintain() {}
            try store.write { txn in for link in made[count...] { try txn.setLink(link) } }
            while try store.maintain() {}
            #expect(try LinkTests.kinds(store)[.bySample] == recent)
            let pages = try store.read { txn in
                let table = try txn.snapshot.view.statistics(txn.snapshot.tables[.links])
                return table.branchPages + table.leafPages + table.overflowPages
            }
            let bytes = Double(pages * store.core.file.environment.pageSize) / Double(links.count)
            #expect(bytes <= 24, "\(bytes) bytes a link")
        }
    }
}
