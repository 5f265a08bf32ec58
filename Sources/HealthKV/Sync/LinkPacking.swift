import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Packs the recent links of a peer with those that are packed: a step of upkeep. Chunks are read and written in order, one after another, so that
    /// each is full; the hints are made anew.
    mutating func packLinks(of peer: [UInt8]) throws {
        var directory = LinkDirectory(peer: try snapshot.name(ofLinks: peer) ?? "")
        let recent = try snapshot.recentPeerIDs(peer)
        let incoming = try takeRecentLinks(peer)
        var chunks = LinkChunkWriter(pageSize: linkBlockBytes)
        var (next, from) = (0, 0 as UInt64?)
        while let hash = from {
            let chunk = try snapshot.packedChunk(peer, from: hash)
            if let chunk { try remove(.links, chunk.key) }
            // What is written stands before the chunk that is read next.
            let end =
                chunk?.next.map { bound in incoming[next...].firstIndex { $0.hash >= bound } ?? incoming.count }
                ?? incoming.count
            chunks.add((chunk?.links ?? []).filter { !recent.contains($0.peerID) }, incoming[next..<end])
            next = end
            from = chunk?.next
            for chunk in chunks.take(isLast: from == nil, peer, commit) { try put(.links, chunk.key, chunk.value) }
        }
        (directory.links, directory.chunks) = (UInt64(chunks.links), chunks.chunks)
        try putHints(chunks.hints(header: state.header), of: peer, &directory)
        context.linkDirectories = nil
        let key = LinkKey.all(peer, .directory)
        if directory.links == 0 {
            try forget(key, as: LinkDirectory.self)
        } else {
            try put(directory, key)
        }
    }

    private var linkBlockBytes: Int { environment.limits.identityBlockBytes ?? environment.pageSize }

    /// Takes the recent links out of the table, packed and in order.
    private mutating func takeRecentLinks(_ peer: [UInt8]) throws -> [PackedLink] {
        var links: [PeerLink] = []
        try snapshot.forEachRecentLink(peer, .bySample) { links.append($0.link) }
        let packed = try links.map { try snapshot.packed($0) }
        for kind in [LinkKey.Kind.bySample, .byPeerID] {
            for key in try snapshot.linkKeys(peer, kind) { try remove(.links, key) }
        }
        return packed.sorted(by: PackedLink.isBefore)
    }

    private mutating func putHints(
        _ hints: [LinkHint], of peer: [UInt8], _ directory: inout LinkDirectory
    ) throws {
        for key in try snapshot.linkKeys(peer, .hints) { try remove(.links, key) }
        directory.precision = LinkHint.Precision(links: hints.count)
        var encoder = LinkHintEncoder(pageSize: linkBlockBytes, precision: directory.precision)
        var from = 0
        while from < hints.count {
            let block = encoder.block(hints[from...], commit: commit) { LinkKey.block(peer, .hints, $0) }
            try put(.links, block.key, block.value)
            directory.hintBlocks += 1
            from += block.count
        }
    }

    /// Makes anew how links are found under the ids of peers, from how they stand under samples.
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
            // What was packed under that id before stays forgotten.
            for link in orphans {
                try put(RecentLink(link, isGone: true), LinkKey.recent(peer, .byPeerID, link.peerID))
            }
            for link in links.values.sorted(by: { $0.sample < $1.sample }) {
                try put(RecentLink(link), LinkKey.recent(peer, .byPeerID, link.peerID))
            }
            try packLinks(of: peer)
        }
    }
}

/// Links on their way into chunks, in order.
private struct LinkChunkWriter {
    private var encoder: LinkChunkEncoder
    private var waiting: [PackedLink] = []
    private var ids: [(peerID: SampleID, sample: UInt64)] = []
    private(set) var chunks: UInt32 = 0

    /// So many fill a page for certain, since each takes more than eight bytes.
    private let kept: Int

    init(pageSize: Int) { (encoder, kept) = (LinkChunkEncoder(pageSize: pageSize), pageSize / 8) }

    var links: Int { ids.count }

    /// Adds two sorted lists of links, which stand behind all before.
    mutating func add(_ held: [PackedLink], _ incoming: ArraySlice<PackedLink>) {
        let from = waiting.count
        var (index, next) = (0, incoming.startIndex)
        while index < held.count || next < incoming.endIndex {
            let takesHeld =
                next == incoming.endIndex || index < held.count && !PackedLink.isBefore(incoming[next], held[index])
            waiting.append(takesHeld ? held[index] : incoming[next])
            if takesHeld { index += 1 } else { next += 1 }
        }
        for link in waiting[from...] { ids.append((link.peerID, link.hash)) }
    }

    /// The chunks that are full, and with the last one all that is left.
    mutating func take(isLast: Bool, _ peer: [UInt8], _ commit: UInt64) -> [(key: [UInt8], value: [UInt8])] {
        var taken: [(key: [UInt8], value: [UInt8])] = []
        var from = 0
        guard isLast || waiting.count >= 2 * kept else { return [] }
        while from < waiting.count, isLast || waiting.count - from >= kept {
            let chunk = encoder.chunk(waiting[from...], commit: commit) { LinkKey.block(peer, .chunk, $0) }
            taken.append((chunk.key, chunk.value))
            from += chunk.count
        }
        chunks += UInt32(taken.count)
        waiting.removeFirst(from)
        return taken
    }

    /// The hints of all links, in order.
    func hints(header: StoreHeader) -> [LinkHint] {
        ids.map { LinkHint(peerID: IdentityHash.ofPeerID($0.peerID, header.hashKey), sample: $0.sample) }.sorted()
    }
}

extension Snapshot {
    /// A link as it is packed. Only what the index shows to be the one live row of its hash is named by that.
    fileprivate func packed(_ link: PeerLink) throws -> PackedLink {
        let hash = IdentityHash.of(link.sample, header.hashKey)
        var packed = PackedLink(
            hash: IdentityEntry.hash(hash), form: .byID, peerID: link.peerID, version: link.version,
            isProvisional: link.isProvisional)
        if link.sample == link.peerID {
            packed.form = .byPeerID
            return packed
        }
        let hints = try hints(hash).filter { !$0.kind.isTombstone }
        if hints.count == 1, let found = try find(link.sample, among: hints), !found.row.flags.contains(.derivedID) {
            packed.form = .byRow
        } else {
            packed.sample = link.sample
        }
        return packed
    }

    /// The keys of a kind of a peer's records.
    func linkKeys(_ peer: [UInt8], _ kind: LinkKey.Kind) throws -> [[UInt8]] {
        let prefix = LinkKey.all(peer, kind)
        var keys: [[UInt8]] = []
        var cursor = try view.cursor(tables[.links])
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: LinkKey.prefix) {
            keys.append(cursor.key.copied())
            found = try cursor.next()
        }
        return keys
    }

    /// The name of the peer that some links are of.
    fileprivate func name(ofLinks peer: [UInt8]) throws -> String? {
        if let directory = try linkDirectory(peer) { return directory.peer }
        for kind in [LinkKey.Kind.bySample, .byPeerID] {
            let prefix = LinkKey.all(peer, kind)
            var cursor = try view.cursor(tables[.links])
            if try cursor.seek(prefix), cursor.key.hasPrefix(prefix, count: LinkKey.prefix) {
                return try StoredSync<RecentLink>(recordBytes: cursor.value).record.link.peer
            }
        }
        return nil
    }

    /// The peer with the most recent links, where there are so many that they are to be packed.
    func peerToPack(_ limits: EngineLimits) throws -> [UInt8]? {
        let entries = try view.statistics(tables[.links]).entries
        guard entries > 2 * limits.recentLinks else { return nil }
        var (packed, links) = (0, 0 as UInt64)
        for (_, directory) in try linkDirectories() {
            packed += Int(directory.chunks) + Int(directory.hintBlocks) + 1
            links &+= directory.links
        }
        // Each stands there twice, once in each direction.
        let limit = 2 * max(limits.recentLinks, Int(clamping: links / limits.linksPerRecentLink))
        guard entries - packed > limit else { return nil }
        var most: (peer: [UInt8], count: Int)?
        for peer in try peersWithLinks() {
            let count = try linkKeys(peer, .bySample).count + linkKeys(peer, .byPeerID).count
            if count > most?.count ?? 0 { most = (peer, count) }
        }
        return most?.peer
    }
}
