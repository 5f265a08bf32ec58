import ColumnFormat
import HealthModel
import LMDB

/// Collects sorted links and writes them into chunks.
private struct LinkChunkWriter {
    private var encoder: LinkChunkEncoder
    private var waiting: [PackedLink] = []
    /// A hint for each link.
    private(set) var hints: [LinkHint] = []
    private(set) var chunks: UInt32 = 0
    /// Whether more links share a hash than a chunk holds, which happens only in a forged file.
    private(set) var arePartedWrongly = false

    /// This many links certainly fill a page, because each takes more than eight bytes.
    private let kept: Int

    init(pageSize: Int) { (encoder, kept) = (LinkChunkEncoder(pageSize: pageSize), pageSize / 8) }

    var links: Int { hints.count }

    /// Adds links that follow all previous ones.
    mutating func add(_ links: [PackedLink], header: StoreHeader) {
        waiting += links
        for link in links {
            hints.append(LinkHint(idAtPeer: IdentityHash.ofPeerID(link.idAtPeer, header.hashKey), sample: link.hash))
        }
    }

    /// Returns the full chunks; with `isLast`, also the remainder.
    mutating func take(
        isLast: Bool, _ stamp: CommitStamp, _ key: (UInt64) -> [UInt8]
    ) -> [(key: [UInt8], value: [UInt8])] {
        var taken: [(key: [UInt8], value: [UInt8])] = []
        var from = 0
        guard isLast || waiting.count >= 2 * kept else { return [] }
        while from < waiting.count, isLast || waiting.count - from >= kept {
            let chunk = encoder.chunk(waiting[from...], stamp: stamp, key: key)
            taken.append((chunk.key, chunk.value))
            from += chunk.count
            if from < waiting.count, waiting[from - 1].hash == waiting[from].hash { arePartedWrongly = true }
        }
        chunks += UInt32(taken.count)
        waiting.removeFirst(from)
        return taken
    }
}

/// Packs links into levels of chunks: a step of upkeep.
enum LinkPacking {
    /// Packs the recent links of a peer as a new level, and joins it with the levels that are not much larger. This is
    /// a step of upkeep. Each link is therefore rewritten only a few times per level that it passes, however many links
    /// there are.
    static func packLinks(of peer: [UInt8], in txn: inout WriteTransaction) throws {
        let levels = try LinkTable.linkLevels(peer, in: txn.snapshot).levels
        var size = UInt64(try LinkTable.linkKeys(peer, .byPeerID, in: txn.snapshot).count)
        let joined = levels.prefix { level in
            let (limit, overflows) = size.multipliedReportingOverflow(by: txn.environment.limits.linkLevelRatio)
            size &+= level.directory.links
            return overflows || level.directory.links <= limit
        }
        let left = levels.count - joined.count
        try packLinks(
            of: peer, with: left > LinkLevel.most || levels.first?.number == .max ? levels : Array(joined), in: &txn)
    }

    /// Packs the recent links of a peer together with those of its newest levels. Reads and writes the chunks of the
    /// oldest joined level in order, one after another, so that each written chunk is full; rebuilds the hints.
    private static func packLinks(of peer: [UInt8], with joined: [LinkLevel], in txn: inout WriteTransaction) throws {
        let levels = try LinkTable.linkLevels(peer, in: txn.snapshot)
        guard let name = try levels.name ?? nameOfRecentLinks(peer, in: txn.snapshot) else { return }
        let older = levels.levels.dropFirst(joined.count).first?.number
        let number = older.map { $0 + 1 } ?? 0
        var incoming = try takeRecentLinks(peer, in: &txn)
        for level in joined {
            try txn.remove(.links, LinkKey.all(peer, .directory, level.number))
            for key in try LinkTable.linkKeys(peer, .hints, level: level.number, in: txn.snapshot) {
                try txn.remove(.links, key)
            }
        }
        for level in joined.dropLast() {
            let newer = Set(incoming.lazy.map(\.idAtPeer))
            var held: [PackedLink] = []
            var from: UInt64? = 0
            while let chunk = try takeChunk(peer, level.number, from: from, in: &txn) {
                held += chunk.links.lazy.filter { !newer.contains($0.idAtPeer) }
                from = chunk.next
            }
            incoming = PackedLink.merged(held, incoming[...])
        }
        let newer = Set(incoming.lazy.map(\.idAtPeer))
        // Without an older level a mark has no effect.
        if older == nil { incoming.removeAll { $0.form == .gone } }
        var chunks = LinkChunkWriter(pageSize: linkBlockBytes(in: txn))
        var (next, from) = (0, joined.isEmpty ? nil : 0 as UInt64?)
        repeat {
            let chunk = try joined.last.flatMap { try takeChunk(peer, $0.number, from: from, in: &txn) }
            from = chunk?.next
            // The links to write now precede the chunk that is read next.
            let end = from.flatMap { bound in incoming[next...].firstIndex { $0.hash >= bound } } ?? incoming.count
            let held = (chunk?.links ?? []).filter {
                !newer.contains($0.idAtPeer) && (older != nil || $0.form != .gone)
            }
            chunks.add(PackedLink.merged(held, incoming[next..<end]), header: txn.state.header)
            next = end
            for chunk in chunks.take(isLast: from == nil, txn.stamp, { LinkKey.block(peer, .chunk, number, $0) }) {
                try txn.put(.links, chunk.key, chunk.value)
            }
        } while from != nil
        txn.state.linkLevels = nil
        if chunks.links == 0 { return }
        if chunks.arePartedWrongly { throw txn.snapshot.damaged(.linksOfOneHash) }
        var directory = LinkDirectory(peer: name)
        (directory.links, directory.chunks) = (UInt64(chunks.links), chunks.chunks)
        try putHints(chunks.hints.sorted(), of: peer, number, &directory, in: &txn)
        try PeerTables.put(directory, LinkKey.all(peer, .directory, number), in: &txn)
    }

    private static func linkBlockBytes(in txn: borrowing WriteTransaction) -> Int {
        txn.environment.limits.identityBlockBytes ?? txn.environment.pageSize
    }

    /// Removes the recent links from the table and returns them packed and sorted.
    private static func takeRecentLinks(_ peer: [UInt8], in txn: inout WriteTransaction) throws -> [PackedLink] {
        var links: [PeerLink] = []
        try LinkTable.forEachRecentLink(peer, .bySample, in: txn.snapshot) { links.append($0.link) }
        var marks: [PeerLink] = []
        let known = Set(links.lazy.map(\.idAtPeer))
        try LinkTable.forEachRecentLink(peer, .byPeerID, in: txn.snapshot) { recent in
            if recent.isGone || !known.contains(recent.link.idAtPeer) { marks.append(recent.link) }
        }
        var packed = links.map { unpacked($0, in: txn.snapshot) }
        for link in marks {
            var mark = unpacked(link, in: txn.snapshot)
            (mark.form, mark.sample) = (.gone, nil)
            packed.append(mark)
        }
        packed.sort(by: PackedLink.isBefore)
        // Lookups in the order of the index are fast.
        for index in packed.indices { try shorten(&packed[index], in: txn.snapshot) }
        for kind in [LinkKey.Kind.bySample, .byPeerID] {
            for key in try LinkTable.linkKeys(peer, kind, in: txn.snapshot) { try txn.remove(.links, key) }
        }
        return packed
    }

    /// Removes from the table the first chunk of a level at or after a hash, and returns it.
    private static func takeChunk(
        _ peer: [UInt8], _ level: UInt8, from hash: UInt64?, in txn: inout WriteTransaction
    ) throws -> (links: [PackedLink], next: UInt64?)? {
        guard let hash, let chunk = try LinkTable.packedChunk(peer, level, from: hash, in: txn.snapshot) else {
            return nil
        }
        try txn.remove(.links, chunk.key)
        return (chunk.links, chunk.next)
    }

    private static func putHints(
        _ hints: [LinkHint], of peer: [UInt8], _ level: UInt8, _ directory: inout LinkDirectory,
        in txn: inout WriteTransaction
    ) throws {
        directory.precision = LinkHint.Precision(links: hints.count)
        var encoder = LinkHintEncoder(pageSize: linkBlockBytes(in: txn), precision: directory.precision)
        var from = 0
        while from < hints.count {
            let block = encoder.block(hints[from...], stamp: txn.stamp) { LinkKey.block(peer, .hints, level, $0) }
            from += block.count
            // In a forged file, more links may share a hash than a block holds.
            guard from == hints.count || !encoder.areTogether(hints[from - 1], hints[from]) else {
                throw txn.snapshot.damaged(.linksOfOneHash)
            }
            try txn.put(.links, block.key, block.value)
            directory.hintBlocks += 1
        }
    }

    /// Rebuilds the links under peer ids from the links under sample ids, and packs all of them into one level.
    static func rebuild(in txn: inout WriteTransaction) throws {
        for peer in try LinkTable.peersWithLinks(in: txn.snapshot) {
            var links: [SampleID: PeerLink] = [:]
            try LinkTable.forEachRecentLink(peer, .bySample, in: txn.snapshot) { links[$0.link.sample] = $0.link }
            var orphans: [PeerLink] = []
            try LinkTable.forEachRecentLink(peer, .byPeerID, in: txn.snapshot) { recent in
                if !recent.isGone, links[recent.link.sample]?.idAtPeer != recent.link.idAtPeer {
                    orphans.append(recent.link)
                }
            }
            // A packed link under that id must stay removed.
            for link in orphans {
                try PeerTables.put(
                    RecentLink(link, isGone: true), LinkKey.recent(peer, .byPeerID, link.idAtPeer), in: &txn)
            }
            for link in links.values.sorted(by: { $0.sample < $1.sample }) {
                try PeerTables.put(RecentLink(link), LinkKey.recent(peer, .byPeerID, link.idAtPeer), in: &txn)
            }
            try packLinks(of: peer, with: LinkTable.linkLevels(peer, in: txn.snapshot).levels, in: &txn)
        }
    }

    /// Converts a link to its packed form, with the sample's id in full.
    private static func unpacked(_ link: PeerLink, in snapshot: Snapshot) -> PackedLink {
        PackedLink(
            hash: IdentityHash.ofLinked(link.sample, snapshot.header.hashKey), form: .byID, sample: link.sample,
            idAtPeer: link.idAtPeer, version: link.version, isProvisional: link.isProvisional)
    }

    /// Omits the sample's id if it can be found by other means. A link refers to its sample by hash only if the index
    /// shows that exactly one live row has the hash; if the index is damaged, the link keeps the id.
    private static func shorten(_ link: inout PackedLink, in snapshot: Snapshot) throws {
        guard let sample = link.sample else { return }
        if sample == link.idAtPeer {
            (link.form, link.sample) = (.byPeerID, nil)
            return
        }
        do {
            let hints = try IdentityIndex.hints(IdentityHash.of(sample, snapshot.header.hashKey), in: snapshot).filter {
                !$0.kind.isTombstone
            }
            if hints.count == 1, try SampleLookup.isStored(sample, among: hints, in: snapshot) {
                (link.form, link.sample) = (.byRow, nil)
            }
        } catch  where StoreError.isDamage(error) {}
    }

    /// Returns the name of the peer to which recent links belong.
    private static func nameOfRecentLinks(_ peer: [UInt8], in snapshot: Snapshot) throws -> PeerID? {
        for kind in [LinkKey.Kind.bySample, .byPeerID] {
            let prefix = LinkKey.all(peer, kind)
            var cursor = try snapshot.view.cursor(snapshot.tables[.links])
            if try cursor.seek(prefix), cursor.key.hasPrefix(prefix, count: LinkKey.prefix) {
                return try StoredSync<RecentLink>(recordBytes: cursor.value).record.link.peer
            }
        }
        return nil
    }

    /// Returns the peer with the most recent links if there are enough recent links to pack; otherwise `nil`.
    static func peerToPack(_ limits: EngineLimits, in snapshot: Snapshot) throws -> [UInt8]? {
        let entries = try snapshot.view.count(snapshot.tables[.links])
        guard entries > 2 * limits.recentLinks else { return nil }
        var (packed, links) = (0, 0 as UInt64)
        for level in try LinkTable.linkLevels(in: snapshot).flatMap(\.levels) {
            packed += Int(level.directory.chunks) + Int(level.directory.hintBlocks) + 1
            links &+= level.directory.links
        }
        // Each recent link has two records, one for each direction.
        let share = links / max(1, limits.linksPerRecentLink)
        let limit = 2 * max(limits.recentLinks, Int(clamping: min(share, 1 << 40)))
        guard entries - packed > limit else { return nil }
        var most: (peer: [UInt8], count: Int)?
        for peer in try LinkTable.peersWithLinks(in: snapshot) {
            let count =
                try LinkTable.linkKeys(peer, .bySample, in: snapshot).count
                + LinkTable.linkKeys(peer, .byPeerID, in: snapshot).count
            if count > most?.count ?? 0 { most = (peer, count) }
        }
        return most?.peer
    }
}

extension LinkLevel {
    /// The maximum number of levels beside the newest. Sizes that grow by a factor never reach it.
    fileprivate static let most = 12
}

extension PackedLink {
    /// Merges two sorted lists.
    fileprivate static func merged(_ one: [PackedLink], _ other: ArraySlice<PackedLink>) -> [PackedLink] {
        if other.isEmpty { return one }
        var merged: [PackedLink] = []
        merged.reserveCapacity(one.count + other.count)
        var (index, next) = (0, other.startIndex)
        while index < one.count || next < other.endIndex {
            let takesOne = next == other.endIndex || index < one.count && !isBefore(other[next], one[index])
            merged.append(takesOne ? one[index] : other[next])
            if takesOne { index += 1 } else { next += 1 }
        }
        return merged
    }
}
