import ColumnFormat
import LMDB
import TestSupport
import Testing

@testable import HealthKV

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

    /// A store in which all links are packed by upkeep as one level, in blocks of a few.
    static func options(linkLimit: Int = 0) -> SampleStore.Options {
        var header = StoreHeader()
        header.hashKey = KeyedHash(key0: 1, key1: 2)
        var options = tightOptions()
        options.limits.header = header
        options.limits.recentLinks = linkLimit
        options.limits.identityBlockBytes = 400
        options.limits.linksPerRecentLink = .max
        options.limits.linkLevelRatio = .max
        return options
    }

    static func weight(_ id: SampleID, day: Int = 1, version: Int64 = 0) -> Sample {
        var sample = Sample(.bodyMass, 70, .kilogram, at: .day(day), id: id)
        sample.version = version
        return sample
    }

    static func pack(_ store: SampleStore) throws {
        while try store.maintain() {}
        let kinds = try LinkTests.kinds(store)
        #expect(kinds[.bySample] == nil && kinds[.byPeerID] == nil)
    }

    /// How many records of each kind there are.
    static func kinds(_ store: SampleStore) throws -> [LinkKey.Kind: Int] {
        try records(store).reduce(into: [:]) { $0[LinkKey.kind($1.key)!, default: 0] += 1 }
    }

    static func records(_ store: SampleStore) throws -> [(key: [UInt8], value: [UInt8])] {
        try store.read { txn in
            var records: [(key: [UInt8], value: [UInt8])] = []
            var cursor = try txn.snapshot.view.cursor(txn.snapshot.tables[.links])
            while try cursor.next() { records.append((cursor.key.copied(), cursor.value.copied())) }
            return records
        }
    }

    static func expect(
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
                for (index, id) in samples.enumerated() { try txn.save(Self.weight(id, day: index)) }
                for link in links { try txn.setLink(link) }
            }
            try Self.pack(store)
            let kinds = try Self.kinds(store)
            #expect(kinds[.chunk]! > 5 && kinds[.hints]! > 1)
            for link in links { try Self.expect(link, for: link.sample, link.peerID, in: store) }
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
                try Self.expect(moved, for: samples[1], moved.peerID, in: store)
                try Self.expect(nil, for: samples[4], links[1].peerID, in: store)
                try Self.expect(nil, for: samples[2], links[4].peerID, in: store)
                try Self.expect(taken, for: samples[3], links[2].peerID, in: store)
                try Self.expect(nil, for: samples[4], links[3].peerID, in: store)
                #expect(try store.read { try $0.links(of: "p").count } == 298)
                try store.expectClean()
                try Self.pack(store)
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
                for (index, id) in samples.enumerated() { try txn.save(Self.weight(id, day: index)) }
                for link in links { try txn.setLink(link) }
            }
            try Self.pack(store)
            try store.write { txn in
                try txn.delete(id: samples[0])
                try txn.purge(id: samples[1])
                var longer = Self.weight(samples[2], version: 9)
                longer.end = .day(30)
                try txn.save(longer)
                // More at once than one step takes.
                try txn.delete(.range(of: .bodyMass, from: .day(20), to: .day(60)))
            }
            for _ in 0..<2 {
                for link in links { try Self.expect(link, for: link.sample, link.peerID, in: store) }
                try store.expectClean()
                try Self.pack(store)
            }
            #expect(try store.read { try $0.count() } == 18)
        }
    }

    @Test("A closure that fails undoes what it did to packed links") func undone() throws {
        try withStore(options: Self.options()) { store throws in
            let link = PeerLink(peer: "p", sample: SampleID(), peerID: SampleID(), version: 5)
            try store.write { txn in
                try txn.save(Self.weight(link.sample))
                try txn.setLink(link)
            }
            try Self.pack(store)
            #expect(throws: Refusal.self) {
                try store.write { txn in
                    try txn.delete(id: link.sample)
                    try txn.removePeer("p")
                    throw Refusal()
                }
            }
            try Self.expect(link, for: link.sample, link.peerID, in: store)
            try store.write { try $0.delete(id: link.sample) }
            try Self.expect(link, for: link.sample, link.peerID, in: store)
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
                batch.append(Self.weight(pair.1, day: 3))
                let later = batch
                try store.write { txn in
                    try txn.save(Self.weight(pair.0))
                    try txn.setLink(link)
                }
                try Self.pack(store)
                try Self.expect(nil, for: pair.1, other.peerID, in: store)
                try store.write { txn in
                    if isImported { _ = try txn.importBatch(later) } else { try txn.save(Self.weight(pair.1, day: 3)) }
                }
                for round in 0..<2 {
                    try Self.expect(link, for: pair.0, link.peerID, in: store)
                    try Self.expect(nil, for: pair.1, other.peerID, in: store)
                    if round == 0 { try Self.pack(store) }
                }
                try store.write { try $0.setLink(other) }
                try Self.pack(store)
                try Self.expect(link, for: pair.0, link.peerID, in: store)
                try Self.expect(other, for: pair.1, other.peerID, in: store)
                // The one that is left is packed by its hash, and the other one comes again.
                try store.write { txn in
                    try txn.purge(id: pair.1)
                    try txn.removeLink(other)
                    try txn.setLink(PeerLink(peer: "p", sample: pair.0, peerID: link.peerID, version: 7))
                }
                try Self.pack(store)
                try store.write { _ = try $0.importBatch(later) }
                #expect(try store.read { try $0.link(peer: "p", sample: pair.1) } == nil)
                #expect(try store.read { try $0.link(peer: "p", peerID: link.peerID) }?.sample == pair.0)
                try store.expectClean()
            }
        }
    }

    @Test("Rebuilding makes links under the peer's ids from those under samples") func rebuilding() throws {
        try withStore(options: Self.options()) { store throws in
            let links = (0..<80).map { _ in PeerLink(peer: "p", sample: SampleID(), peerID: SampleID(), version: 5) }
            let late = PeerLink(peer: "p", sample: SampleID(), peerID: SampleID(), version: 6)
            try store.write { txn in
                for link in links { try txn.save(Self.weight(link.sample)) }
                for link in links { try txn.setLink(link) }
            }
            try Self.pack(store)
            try store.write { txn in
                try txn.setLink(late)
                let peer = PeerKey.peer("p", txn.state.header.hashKey)
                try PeerTables.forget(LinkKey.recent(peer, .byPeerID, late.peerID), as: RecentLink.self, in: &txn)
                for key in try LinkTable.linkKeys(peer, .hints, in: txn.snapshot) { try txn.remove(.links, key) }
            }
            #expect(try store.check().findings.map(\.kind) == [.linksDiffer, .linksDiffer])
            #expect(try store.read { try $0.link(peer: "p", peerID: links[0].peerID) } == nil)
            try store.rebuild()
            for link in links + [late] { try Self.expect(link, for: link.sample, link.peerID, in: store) }
            try store.expectClean()
        }
    }
}
