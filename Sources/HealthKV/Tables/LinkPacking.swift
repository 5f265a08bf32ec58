import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Packs the recent links of a peer as a new level, and joins it with the levels that are not much larger. This is
    /// a step of upkeep. Each link is therefore rewritten only a few times per level that it passes, however many links
    /// there are.
    mutating func packLinks(of peer: [UInt8]) throws {
        let levels = try snapshot.linkLevels(peer).levels
        var size = UInt64(try snapshot.linkKeys(peer, .byPeerID).count)
        let joined = levels.prefix { level in
            let (limit, overflows) = size.multipliedReportingOverflow(by: environment.limits.linkLevelRatio)
            size &+= level.directory.links
            return overflows || level.directory.links <= limit
        }
        let left = levels.count - joined.count
        try packLinks(of: peer, with: left > LinkLevel.most || levels.first?.number == .max ? levels : Array(joined))
    }

    /// Packs the recent links of a peer together with those of its newest levels. Reads and writes the chunks of the
    /// oldest joined level in order, one after another, so that each written chunk is full; rebuilds the hints.
    private mutating func packLinks(of peer: [UInt8], with joined: [LinkLevel]) throws {
        let levels = try snapshot.linkLevels(peer)
        guard let name = try levels.name ?? snapshot.nameOfRecentLinks(peer) else { return }
        let older = levels.levels.dropFirst(joined.count).first?.number
        let number = older.map { $0 + 1 } ?? 0
        var incoming = try takeRecentLinks(peer)
        for level in joined {
            try remove(.links, LinkKey.all(peer, .directory, level.number))
            for key in try snapshot.linkKeys(peer, .hints, level: level.number) { try remove(.links, key) }
        }
        for level in joined.dropLast() {
            let newer = Set(incoming.lazy.map(\.peerID))
            var held: [PackedLink] = []
            var from: UInt64? = 0
            while let chunk = try takeChunk(peer, level.number, from: from) {
                held += chunk.links.lazy.filter { !newer.contains($0.peerID) }
                from = chunk.next
            }
            incoming = PackedLink.merged(held, incoming[...])
        }
        let newer = Set(incoming.lazy.map(\.peerID))
        // Without an older level a mark has no effect.
        if older == nil { incoming.removeAll { $0.form == .gone } }
        var chunks = LinkChunkWriter(pageSize: linkBlockBytes)
        var (next, from) = (0, joined.isEmpty ? nil : 0 as UInt64?)
        repeat {
            let chunk = try joined.last.flatMap { try takeChunk(peer, $0.number, from: from) }
            from = chunk?.next
            // The links to write now precede the chunk that is read next.
            let end = from.flatMap { bound in incoming[next...].firstIndex { $0.hash >= bound } } ?? incoming.count
            let held = (chunk?.links ?? []).filter {
                !newer.contains($0.peerID) && (older != nil || $0.form != .gone)
            }
            chunks.add(PackedLink.merged(held, incoming[next..<end]), header: state.header)
            next = end
            for chunk in chunks.take(isLast: from == nil, commit, { LinkKey.block(peer, .chunk, number, $0) }) {
                try put(.links, chunk.key, chunk.value)
            }
        } while from != nil
        state.linkLevels = nil
        if chunks.links == 0 { return }
        if chunks.arePartedWrongly { throw snapshot.damaged("too many links have one hash") }
        var directory = LinkDirectory(peer: name)
        (directory.links, directory.chunks) = (UInt64(chunks.links), chunks.chunks)
        try putHints(chunks.hints.sorted(), of: peer, number, &directory)
        try put(directory, LinkKey.all(peer, .directory, number))
    }

    private var linkBlockBytes: Int { environment.limits.identityBlockBytes ?? environment.pageSize }

    /// Removes the recent links from the table and returns them packed and sorted.
    private mutating func takeRecentLinks(_ peer: [UInt8]) throws -> [PackedLink] {
        var links: [PeerLink] = []
        try snapshot.forEachRecentLink(peer, .bySample) { links.append($0.link) }
        var marks: [PeerLink] = []
        let known = Set(links.lazy.map(\.peerID))
        try snapshot.forEachRecentLink(peer, .byPeerID) { recent in
            if recent.isGone || !known.contains(recent.link.peerID) { marks.append(recent.link) }
        }
        var packed = links.map { snapshot.unpacked($0) }
        for link in marks {
            var mark = snapshot.unpacked(link)
            (mark.form, mark.sample) = (.gone, nil)
            packed.append(mark)
        }
        packed.sort(by: PackedLink.isBefore)
        // Lookups in the order of the index are fast.
        for index in packed.indices { try snapshot.shorten(&packed[index]) }
        for kind in [LinkKey.Kind.bySample, .byPeerID] {
            for key in try snapshot.linkKeys(peer, kind) { try remove(.links, key) }
        }
        return packed
    }

    /// Removes from the table the first chunk of a level at or after a hash, and returns it.
    private mutating func takeChunk(
        _ peer: [UInt8], _ level: UInt8, from hash: UInt64?
    ) throws -> (links: [PackedLink], next: UInt64?)? {
        guard let hash, let chunk = try snapshot.packedChunk(peer, level, from: hash) else { return nil }
        try remove(.links, chunk.key)
        return (chunk.links, chunk.next)
    }

    private mutating func putHints(
        _ hints: [LinkHint], of peer: [UInt8], _ level: UInt8, _ directory: inout LinkDirectory
    ) throws {
        directory.precision = LinkHint.Precision(links: hints.count)
        var encoder = LinkHintEncoder(pageSize: linkBlockBytes, precision: directory.precision)
        var from = 0
        while from < hints.count {
            let block = encoder.block(hints[from...], commit: commit) { LinkKey.block(peer, .hints, level, $0) }
            from += block.count
            // In a forged file, more links may share a hash than a block holds.
            guard from == hints.count || !encoder.areTogether(hints[from - 1], hints[from]) else {
                throw snapshot.damaged("too many links have one hash")
            }
            try put(.links, block.key, block.value)
            directory.hintBlocks += 1
        }
    }

    /// Rebuilds the links under peer ids from the links under sample ids, and packs all of them into one level.
    mutating func rebuildLinks() throws {
        for peer in try snapshot.peersWithLinks() {
            var links: [SampleID: PeerLink] = [:]
            try snapshot.forEachRecentLink(peer, .bySample) { links[$0.link.sample] = $0.link }
            var orphans: [PeerLink] = []
            try snapshot.forEachRecentLink(peer, .byPeerID) { recent in
                if !recent.isGone, links[recent.link.sample]?.peerID != recent.link.peerID {
                    orphans.append(recent.link)
                }
            }
            // A packed link under that id must stay removed.
            for link in orphans {
                try put(RecentLink(link, isGone: true), LinkKey.recent(peer, .byPeerID, link.peerID))
            }
            for link in links.values.sorted(by: { $0.sample < $1.sample }) {
                try put(RecentLink(link), LinkKey.recent(peer, .byPeerID, link.peerID))
            }
            try packLinks(of: peer, with: snapshot.linkLevels(peer).levels)
        }
    }
}

extension LinkLevel {
    /// The maximum number of levels beside the newest. Sizes that grow by a factor never reach it.
    fileprivate static let most = 12
}

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
            hints.append(LinkHint(peerID: IdentityHash.ofPeerID(link.peerID, header.hashKey), sample: link.hash))
        }
    }

    /// Returns the full chunks; with `isLast`, also the remainder.
    mutating func take(
        isLast: Bool, _ commit: UInt64, _ key: (UInt64) -> [UInt8]
    ) -> [(key: [UInt8], value: [UInt8])] {
        var taken: [(key: [UInt8], value: [UInt8])] = []
        var from = 0
        guard isLast || waiting.count >= 2 * kept else { return [] }
        while from < waiting.count, isLast || waiting.count - from >= kept {
            let chunk = encoder.chunk(waiting[from...], commit: commit, key: key)
            taken.append((chunk.key, chunk.value))
            from += chunk.count
            if from < waiting.count, waiting[from - 1].hash == waiting[from].hash { arePartedWrongly = true }
        }
        chunks += UInt32(taken.count)
        waiting.removeFirst(from)
        return taken
    }
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

extension Snapshot {
    /// Converts a link to its packed form, with the sample's id in full.
    fileprivate func unpacked(_ link: PeerLink) -> PackedLink {
        PackedLink(
            hash: IdentityHash.ofLinked(link.sample, header.hashKey), form: .byID, sample: link.sample,
            peerID: link.peerID, version: link.version, isProvisional: link.isProvisional)
    }

    /// Omits the sample's id if it can be found by other means. A link refers to its sample by hash only if the index
    /// shows that exactly one live row has the hash; if the index is damaged, the link keeps the id.
    fileprivate func shorten(_ link: inout PackedLink) throws {
        guard let sample = link.sample else { return }
        if sample == link.peerID {
            (link.form, link.sample) = (.byPeerID, nil)
            return
        }
        do {
            let hints = try hints(IdentityHash.of(sample, header.hashKey)).filter { !$0.kind.isTombstone }
            if hints.count == 1, try isStored(sample, among: hints) { (link.form, link.sample) = (.byRow, nil) }
        } catch  where StoreError.isDamage(error) {}
    }

    /// Returns the name of the peer to which recent links belong.
    fileprivate func nameOfRecentLinks(_ peer: [UInt8]) throws -> String? {
        for kind in [LinkKey.Kind.bySample, .byPeerID] {
            let prefix = LinkKey.all(peer, kind)
            var cursor = try view.cursor(tables[.links])
            if try cursor.seek(prefix), cursor.key.hasPrefix(prefix, count: LinkKey.prefix) {
                return try StoredSync<RecentLink>(recordBytes: cursor.value).record.link.peer
            }
        }
        return nil
    }

    /// Returns the peer with the most recent links if there are enough recent links to pack; otherwise `nil`.
    func peerToPack(_ limits: EngineLimits) throws -> [UInt8]? {
        let entries = try view.statistics(tables[.links]).entries
        guard entries > 2 * limits.recentLinks else { return nil }
        var (packed, links) = (0, 0 as UInt64)
        for level in try linkLevels().flatMap(\.levels) {
            packed += Int(level.directory.chunks) + Int(level.directory.hintBlocks) + 1
            links &+= level.directory.links
        }
        // Each recent link has two records, one for each direction.
        let share = links / max(1, limits.linksPerRecentLink)
        let limit = 2 * max(limits.recentLinks, Int(clamping: min(share, 1 << 40)))
        guard entries - packed > limit else { return nil }
        var most: (peer: [UInt8], count: Int)?
        for peer in try peersWithLinks() {
            let count = try linkKeys(peer, .bySample).count + linkKeys(peer, .byPeerID).count
            if count > most?.count ?? 0 { most = (peer, count) }
        }
        return most?.peer
    }
}
