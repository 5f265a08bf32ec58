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

/// Links that are packed say what they said before, whatever becomes of their samples.
@Suite struct LinkTests {
    /// Ids whose hashes under the key (1, 2) have the same upper 40 bits.
    static let alike = [
        (3_653_281, 7_556_164), (1_458_468, 8_385_376), (655_085, 3_384_688), (4_484_441, 5_534_055),
        (3_714_158, 5_351_468), (3_762_624, 5_032_912),
    ].map { (alikeID($0.0), alikeID($0.1)) }

    private static func alikeID(_ number: Int) -> SampleID {
        SampleID(high: UInt64(number) << 16 | 0x4000, low: 1 << 63 | UInt64(number))
    }

    /// A store in which all links are packed by upkeep, in blocks of a few.
    static func options(linkLimit: Int = 0) -> SampleStore.Options {
        var header = StoreHeader()
        header.hashKey = KeyedHash(key0: 1, key1: 2)
        var options = tightOptions()
        options.limits.header = header
        options.limits.recentLinks = linkLimit
        options.limits.identityBlockBytes = 400
        options.limits.linksPerRecentLink = .max
        return options
    }

    private func weight(_ id: SampleID, day: Int = 1, version: Int64 = 0) -> Sample {
        var sample = Sample(.bodyMass, 70, .kilogram, at: .day(day), id: id)
        sample.version = version
        return sample
    }

    private func pack(_ store: SampleStore) throws {
        while try store.maintain() {}
        let kinds = try LinkTests.kinds(store)
        #expect(kinds[.bySample] == nil && kinds[.byPeerID] == nil)
    }

    /// How many records of each kind there are.
    static func kinds(_ store: SampleStore) throws -> [LinkKey.Kind: Int] {
        try records(store).reduce(into: [:]) { $0[LinkKey.kind($1.key)!, default: 0] += 1 }
    }

    private static func records(_ store: SampleStore) throws -> [(key: [UInt8], value: [UInt8])] {
        try store.read { txn in
            var records: [(key: [UInt8], value: [UInt8])] = []
            var cursor = try txn.snapshot.view.cursor(txn.snapshot.tables[.links])
            while try cursor.next() { records.append((cursor.key.copied(), cursor.value.copied())) }
            return records
        }
    }

    private func expect(
        _ link: PeerLink?, for sample: SampleID, _ peerID: SampleID, in store: SampleStore,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try store.read { txn in
            let bySample = try txn.link(peer: "p", sample: sample)
            let byPeerID = try txn.link(peer: "p", peerID: peerID)
            #expect(bySample == link, sourceLocation: sourceLocation)
            #expect(byPeerID == link, sourceLocation: sourceLocation)
        }
    }

    @Test("A packed link is found from both sides, changed, and taken back before it is packed again")
    func packed() throws {
        try withStore(options: Self.options()) { store throws in
            let samples = (0..<300).map { _ in SampleID() }
            let links = samples.map { PeerLink(peer: "p", sample: $0, peerID: SampleID(), version: 5) }
            try store.write { txn in
                for (index, id) in samples.enumerated() { try txn.save(weight(id, day: index)) }
                for link in links { try txn.setLink(link) }
            }
            try pack(store)
            let kinds = try Self.kinds(store)
            #expect(kinds[.chunk]! > 5 && kinds[.hints]! > 1)
            for link in links { try expect(link, for: link.sample, link.peerID, in: store) }
            #expect(try store.read { try $0.links(of: "p") } == links.sorted { $0.sample < $1.sample })
            let packed = try Self.records(store).map(\.value)
            // What is set as it is leaves no trace.
            try store.write { try $0.setLink(links[0]) }
            #expect(try Self.records(store).map(\.value) == packed)
            var changed = links[1]
            (changed.peerID, changed.version, changed.isProvisional) = (SampleID(), 7, true)
            let moved = changed
            let taken = PeerLink(peer: "p", sample: samples[3], peerID: links[2].peerID, version: 8)
            try store.write { txn in
                try txn.setLink(moved)
                try txn.removeLink(links[4])
                try txn.setLink(taken)
            }
            // A few changes rewrite no block.
            let kept = try Self.records(store).filter { LinkKey.kind($0.key)!.rawValue >= 2 }.map(\.value)
            #expect(kept == packed)
            for _ in 0..<2 {
                try expect(moved, for: samples[1], moved.peerID, in: store)
                try expect(nil, for: samples[4], links[1].peerID, in: store)
                try expect(nil, for: samples[2], links[4].peerID, in: store)
                try expect(taken, for: samples[3], links[2].peerID, in: store)
                try expect(nil, for: samples[4], links[3].peerID, in: store)
                #expect(try store.read { try $0.links(of: "p").count } == 298)
                try store.expectClean()
                try pack(store)
            }
            try store.write { try $0.removePeer("p") }
            #expect(try Self.records(store).isEmpty)
        }
    }

    @Test("A packed link outlives its sample: deleted, purged, taken by a mass operation, or moved to another lane")
    func leaving() throws {
        try withStore(options: Self.options()) { store throws in
            let samples = (0..<60).map { _ in SampleID() }
            let links = samples.map { PeerLink(peer: "p", sample: $0, peerID: SampleID(), version: 5) }
            try store.write { txn in
                for (index, id) in samples.enumerated() { try txn.save(weight(id, day: index)) }
                for link in links { try txn.setLink(link) }
            }
            try pack(store)
            try store.write { txn in
                try txn.delete(id: samples[0])
                try txn.purge(id: samples[1])
                var longer = weight(samples[2], version: 9)
                longer.end = .day(30)
                try txn.save(longer)
                // More at once than one step takes.
                try txn.deleteRange(of: .bodyMass, from: .day(20), to: .day(60))
            }
            for _ in 0..<2 {
                for link in links { try expect(link, for: link.sample, link.peerID, in: store) }
                try store.expectClean()
                try pack(store)
            }
            #expect(try store.read { try $0.count() } == 18)
        }
    }

    @Test("A closure that fails undoes what it did to packed links") func undone() throws {
        try withStore(options: Self.options()) { store throws in
            let link = PeerLink(peer: "p", sample: SampleID(), peerID: SampleID(), version: 5)
            try store.write { txn in
                try txn.save(weight(link.sample))
                try txn.setLink(link)
            }
            try pack(store)
            #expect(throws: Refusal.self) {
                try store.write { txn in
                    try txn.delete(id: link.sample)
                    try txn.removePeer("p")
                    throw Refusal()
                }
            }
            try expect(link, for: link.sample, link.peerID, in: store)
            try store.write { try $0.delete(id: link.sample) }
            try expect(link, for: link.sample, link.peerID, in: store)
        }
    }

    @Test(
        "Of two samples whose hashes are the same each has its own link, and one without has none, whichever comes first"
    )
    func alike() throws {
        for (index, pair) in Self.alike.enumerated() {
            let key = KeyedHash(key0: 1, key1: 2)
            #expect(IdentityHash.ofLinked(pair.0, key) == IdentityHash.ofLinked(pair.1, key))
            try withStore(options: Self.options()) { store throws in
                let link = PeerLink(peer: "p", sample: pair.0, peerID: SampleID(), version: 5)
                let other = PeerLink(peer: "p", sample: pair.1, peerID: SampleID(), version: 6)
                let isImported = index % 2 == 0
                var batch = SampleBatch()
                batch.append(weight(pair.1, day: 3))
                let later = batch
                try store.write { txn in
                    try txn.save(weight(pair.0))
                    try txn.setLink(link)
                }
                try pack(store)
                try expect(nil, for: pair.1, other.peerID, in: store)
                try store.write { txn in
                    if isImported { _ = try txn.importBatch(later) } else { try txn.save(weight(pair.1, day: 3)) }
                }
                for round in 0..<2 {
                    try expect(link, for: pair.0, link.peerID, in: store)
                    try expect(nil, for: pair.1, other.peerID, in: store)
                    if round == 0 { try pack(store) }
                }
                try store.write { try $0.setLink(other) }
                try pack(store)
                try expect(link, for: pair.0, link.peerID, in: store)
                try expect(other, for: pair.1, other.peerID, in: store)
                // The one that is left is packed by its hash, and the other one comes again.
                try store.write { txn in
                    try txn.purge(id: pair.1)
                    try txn.removeLink(other)
                    try txn.setLink(PeerLink(peer: "p", sample: pair.0, peerID: link.peerID, version: 7))
                }
                try pack(store)
                try store.write { _ = try $0.importBatch(later) }
                #expect(try store.read { try $0.link(peer: "p", sample: pair.1) } == nil)
                #expect(try store.read { try $0.link(peer: "p", peerID: link.peerID) }?.sample == pair.0)
                try store.expectClean()
            }
        }
    }

    @Test("Rebuilding makes links under the peer's ids anew from those under samples") func rebuilding() throws {
        try withStore(options: Self.options()) { store throws in
            let links = (0..<80).map { _ in PeerLink(peer: "p", sample: SampleID(), peerID: SampleID(), version: 5) }
            let late = PeerLink(peer: "p", sample: SampleID(), peerID: SampleID(), version: 6)
            try store.write { txn in
                for link in links { try txn.save(weight(link.sample)) }
                for link in links { try txn.setLink(link) }
            }
            try pack(store)
            try store.write { txn in
                try txn.setLink(late)
                let peer = PeerKey.peer("p", txn.state.header.hashKey)
                try txn.forget(LinkKey.recent(peer, .byPeerID, late.peerID), as: RecentLink.self)
                for key in try txn.snapshot.linkKeys(peer, .hints) { try txn.remove(.links, key) }
            }
            #expect(try store.check().findings.map(\.kind) == [.linksDiffer, .linksDiffer])
            #expect(try store.read { try $0.link(peer: "p", peerID: links[0].peerID) } == nil)
            try store.rebuild()
            for link in links + [late] { try expect(link, for: link.sample, link.peerID, in: store) }
            try store.expectClean()
        }
    }

    @Test("Links that were forged are refused or read, are found by a check, and end no process") func forged() throws {
        var random = SeededGenerator()
        let store = try SampleStore.temporary(options: Self.options())
        let links = (0..<60).map { _ in PeerLink(peer: "p", sample: SampleID(), peerID: SampleID(), version: 5) }
        try store.write { txn in
            for link in links { try txn.save(weight(link.sample)) }
            for link in links { try txn.setLink(link) }
        }
        try pack(store)
        let good = try Self.records(store)
        for _ in 0..<120 {
            let block = random.pick(good.filter { $0.key.count == 22 })
            let forged = try Self.forged(block, &random)
            try store.write { try $0.put(.links, block.key, forged) }
            do {
                try store.read { txn in
                    for link in links {
                        _ = try? txn.link(peer: "p", sample: link.sample)
                        _ = try? txn.link(peer: "p", peerID: link.peerID)
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
                    peerID: hint.hash << UInt64(40 - precision.hashBits),
                    sample: hint.place << UInt64(40 - precision.placeBits))
            }
            let index = random.number(0..<forged.count)
            forged[index].packed ^= 1 << UInt64(random.number(24 - precision.placeBits..<24))
            if random.chance(0.3) { forged = forged.map { LinkHint(peerID: $0.packed >> 30, sample: 7) } }
            forged.sort()
            var encoder = LinkHintEncoder(pageSize: 65_536, precision: precision)
            return encoder.block(forged[...], commit: 9) { _ in block.key }.value
        }
        var links: [PackedLink] = []
        try LinkChunk(block.value.rawBytes, key: block.key.rawBytes).appendAll(to: &links)
        let (one, other) = (random.number(0..<links.count), random.number(0..<links.count))
        switch random.number(0..<4) {
        case 0: links[one].hash = random.next() >> 24
        case 1: for index in links.indices { links[index].hash = random.next() >> 24 }
        case 2 where one != other: links[one].peerID = links[other].peerID
        case 3: links.removeFirst(max(1, one))
        default:
            links = links.map { link in
                PackedLink(hash: 1 << 40 - 1, form: .byRow, peerID: link.peerID, version: 1, isProvisional: false)
            }
        }
        if links.isEmpty { links = [PackedLink(hash: 0, form: .byRow, peerID: .zero, version: 0, isProvisional: true)] }
        links.sort(by: PackedLink.isBefore)
        var encoder = LinkChunkEncoder(pageSize: 65_536)
        return encoder.chunk(links[...], commit: 9) { _ in block.key }.value
    }

    private static let isLong = ProcessInfo.processInfo.environment["HEALTHKV_LONG"] != nil

    @Test("Links of live samples take at most 24 bytes each where there are many, whole pages counted") func size()
        throws
    {
        var random = SeededGenerator()
        var options = SampleStore.Options()
        options.limits.skipsSync = true
        options.limits.recentLinks = 0
        options.limits.linksPerRecentLink = .max
        options.maintainsWhenIdle = false
        try withStore(options: options) { store throws in
            // A hundred thousand take minutes without optimisation. Of fewer each takes some more: hashes lie farther apart.
            let (count, most) = Self.isLong ? (100_000, 24.0) : (20_000, 24.5)
            for part in 0..<10 {
                var batch = SampleBatch()
                var links: [PeerLink] = []
                for row in 0..<count / 10 {
                    let sample = Sample(
                        .bodyMass, 70, .kilogram, at: .day(part * 100, row * 600), id: SampleID(using: &random))
                    batch.append(sample)
                    let clock = ChangeClock(time: sample.start, replica: 7)
                    links.append(
                        PeerLink(
                            peer: "HealthKit", sample: sample.id, peerID: SampleID(using: &random),
                            version: PeerNumber.next(version: 1, clock, above: 0), isProvisional: random.chance(0.1)))
                }
                let (rows, made) = (batch, links)
                try store.write { txn in
                    try txn.importBatch(rows)
                    for link in made { try txn.setLink(link) }
                }
            }
            while try store.maintain() {}
            let pages = try store.read { txn in
                let table = try txn.snapshot.view.statistics(txn.snapshot.tables[.links])
                return table.branchPages + table.leafPages + table.overflowPages
            }
            let bytes = Double(pages * store.core.file.environment.pageSize) / Double(count)
            #expect(bytes <= most, "\(bytes) bytes a link")
        }
    }
}
