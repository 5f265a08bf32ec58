import ColumnFormat
import HealthModel
import LMDB

// Recent links are individual records, all others are packed in levels (docs/decisions/0030). A packed link of a live
// sample names it by a hash only. That is exact: see `WriteTransaction.keepLinks(ofLeaving:)`.

extension Snapshot {
    func recentLink(_ peer: [UInt8], _ kind: LinkKey.Kind, _ id: SampleID) throws -> RecentLink? {
        try record(LinkKey.recent(peer, kind, id), as: RecentLink.self)
    }

    /// Returns the keys of the peers that have links.
    func peersWithLinks() throws -> [[UInt8]] {
        var peers: [[UInt8]] = []
        var cursor = try view.cursor(tables[.links])
        var found = try cursor.first()
        while found {
            let key = cursor.key.copied()
            guard key.count >= LinkKey.prefix else { throw damaged("a key of the links is too short") }
            peers.append(Array(key[..<16]))
            found = try cursor.seek(PeerKey.behind(peerOf: key))
        }
        return peers
    }

    /// Returns the keys of a peer's records of one kind; with `level`, only those of that level.
    func linkKeys(_ peer: [UInt8], _ kind: LinkKey.Kind, level: UInt8? = nil) throws -> [[UInt8]] {
        let prefix = level.map { LinkKey.all(peer, kind, $0) } ?? LinkKey.all(peer, kind)
        var keys: [[UInt8]] = []
        var cursor = try view.cursor(tables[.links])
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: prefix.count) {
            keys.append(cursor.key.copied())
            found = try cursor.next()
        }
        return keys
    }

    /// Calls `body` with each recent record of a kind, in the order of their ids.
    func forEachRecentLink(
        _ peer: [UInt8], _ kind: LinkKey.Kind, _ body: (RecentLink) throws -> Void
    ) throws {
        let prefix = LinkKey.all(peer, kind)
        var cursor = try view.cursor(tables[.links])
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: LinkKey.prefix) {
            let stored = try StoredSync<RecentLink>(recordBytes: cursor.value)
            guard stored.key == SyncKey(keyBytes: cursor.key) else {
                throw damaged("a record of sync stands under another's key")
            }
            try body(stored.record)
            found = try cursor.next()
        }
    }

    /// Returns the peer ids that have recent records. Packed links with these ids are no longer valid.
    func recentPeerIDs(_ peer: [UInt8]) throws -> Set<SampleID> {
        var ids: Set<SampleID> = []
        try forEachRecentLink(peer, .byPeerID) { ids.insert($0.link.peerID) }
        return ids
    }

    /// Returns the link with an id of the peer.
    func link(_ peer: [UInt8], peerID: SampleID, of name: String) throws -> PeerLink? {
        if let recent = try recentLink(peer, .byPeerID, peerID) { return recent.isGone ? nil : recent.link }
        return try packedLink(peer, peerID: peerID).map { try link($0, of: name) }
    }

    /// Calls `body` with each link of a peer. With `skippingDamage`, leaves out links that cannot be read or whose
    /// samples cannot be found.
    func forEachLink(
        _ peer: [UInt8], skippingDamage: Bool = false, _ body: (PeerLink) throws -> Void
    ) throws {
        try forEachRecentLink(peer, .bySample) { try body($0.link) }
        let levels = try linkLevels(peer).levels
        guard let name = levels.first?.directory.peer else { return }
        // A newer record or level with the same peer id overrides an older link.
        var newer = try recentPeerIDs(peer)
        for level in levels {
            let isOldest = level.number == levels.last?.number
            var here: [SampleID] = []
            for key in try linkKeys(peer, .chunk, level: level.number) {
                var links: [PackedLink] = []
                do {
                    links = try packedChunk(peer, level.number, from: LinkKey.hash(key))?.links ?? []
                } catch  where skippingDamage && StoreError.isDamage(error) {}
                for packed in links where !newer.contains(packed.peerID) {
                    if !isOldest { here.append(packed.peerID) }
                    if packed.form == .gone { continue }
                    var link: PeerLink?
                    do {
                        link = try self.link(packed, of: name)
                    } catch  where skippingDamage && StoreError.isDamage(error) {}
                    if let link { try body(link) }
                }
            }
            newer.formUnion(here)
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the link of a sample for a peer.
    public func link(peer: String, sample: SampleID) throws -> PeerLink? {
        let snapshot = snapshot
        let key = PeerKey.peer(peer, snapshot.header.hashKey)
        if let recent = try snapshot.recentLink(key, .bySample, sample) { return recent.link }
        return try snapshot.packedLink(key, of: sample).map { packed in
            PeerLink(
                peer: peer, sample: sample, peerID: packed.peerID, version: packed.version,
                isProvisional: packed.isProvisional)
        }
    }

    /// Returns the link with an id of the peer.
    public func link(peer: String, peerID: SampleID) throws -> PeerLink? {
        let snapshot = snapshot
        return try snapshot.link(PeerKey.peer(peer, snapshot.header.hashKey), peerID: peerID, of: peer)
    }

    /// Returns all links of a peer, in the order of the samples' ids.
    package func links(of peer: String) throws -> [PeerLink] {
        let snapshot = snapshot
        var links: [PeerLink] = []
        try snapshot.forEachLink(PeerKey.peer(peer, snapshot.header.hashKey)) { links.append($0) }
        return links.sorted { $0.sample < $1.sample }
    }

    /// Returns `true` if there are links of a peer, that is, if the peer may hold a sample under another id. Otherwise
    /// no lookup is needed.
    public func hasLinks(of peer: String) throws -> Bool {
        let snapshot = snapshot
        let prefix = PeerKey.peer(peer, snapshot.header.hashKey)
        var cursor = try snapshot.view.cursor(snapshot.tables[.links])
        return try cursor.seek(prefix) && cursor.key.hasPrefix(prefix, count: prefix.count)
    }

    /// Calls `body` with the links of all peers, including those of deleted samples.
    ///
    /// - Parameters:
    ///   - skippingDamage: leaves out links of samples that are lost to damage.
    ///   - body: called with each link. If it throws, the call ends with the same error.
    public func forEachLink(skippingDamage: Bool = false, _ body: (PeerLink) throws -> Void) throws {
        let snapshot = snapshot
        for peer in try snapshot.peersWithLinks() {
            do { try snapshot.forEachLink(peer, skippingDamage: skippingDamage, body) } catch
                where skippingDamage && StoreError.isDamage(error)
            {}
        }
    }
}

extension WriteTransaction {
    /// Sets the link of a sample. Replaces any earlier link of that sample or of that id of the peer.
    public mutating func setLink(_ link: PeerLink) throws {
        let bySample = try self.link(peer: link.peer, sample: link.sample)
        if bySample == link { return }
        if let older = bySample, older.peerID != link.peerID { try removeLink(older) }
        if let older = try self.link(peer: link.peer, peerID: link.peerID), older.sample != link.sample {
            try removeLink(older)
        }
        try putRecent(link, PeerKey.peer(link.peer, state.header.hashKey))
    }

    /// Removes a link in both directions.
    public mutating func removeLink(_ link: PeerLink) throws {
        guard let held = try self.link(peer: link.peer, sample: link.sample) else { return }
        let peer = PeerKey.peer(link.peer, state.header.hashKey)
        try forget(LinkKey.recent(peer, .bySample, held.sample), as: RecentLink.self)
        try forgetRecent(held, peer)
    }

    private mutating func putRecent(_ link: PeerLink, _ peer: [UInt8]) throws {
        try put(RecentLink(link), LinkKey.recent(peer, .bySample, link.sample))
        try put(RecentLink(link), LinkKey.recent(peer, .byPeerID, link.peerID))
    }

    /// Removes the record of a link under the peer's id. If a packed link has this id, writes a mark instead.
    private mutating func forgetRecent(_ link: PeerLink, _ peer: [UInt8]) throws {
        let key = LinkKey.recent(peer, .byPeerID, link.peerID)
        if try snapshot.packedLink(peer, peerID: link.peerID) == nil {
            try forget(key, as: RecentLink.self)
        } else {
            try put(RecentLink(link, isGone: true), key)
        }
    }

    /// Removes all links of a peer.
    mutating func removeLinks(of name: String) throws {
        let peer = PeerKey.peer(name, state.header.hashKey)
        state.linkLevels = nil
        while true {
            let keys = try snapshot.allLinkKeys(peer, limit: 4_096)
            for key in keys { try remove(.links, key) }
            if keys.count < 4_096 { return }
        }
    }

    /// Writes the packed links of a sample out as full records before the row with its stored id leaves. A packed link
    /// names its sample by 40 bits of a hash. This is unambiguous while exactly one live row with a stored id has that
    /// hash. So links are written out when that row leaves, and when another row with the same hash arrives
    /// (``keepLinks(besides:)``).
    mutating func keepLinks(ofLeaving id: SampleID) throws {
        let peers = try snapshot.linkLevels()
        if peers.allSatisfy(\.levels.isEmpty) { return }
        let hash = IdentityHash.ofLinked(id, state.header.hashKey)
        for levels in peers {
            for found in try snapshot.linksByRow(levels, hash) { try writeOut(found, of: id, levels) }
        }
    }

    /// Writes the packed links of another sample out as full records before a row with the same hash arrives.
    mutating func keepLinks(besides id: SampleID) throws {
        let peers = try snapshot.linkLevels()
        if peers.allSatisfy(\.levels.isEmpty) { return }
        let hash = IdentityHash.ofLinked(id, state.header.hashKey)
        for levels in peers {
            for found in try snapshot.linksByRow(levels, hash) {
                let others = try snapshot.storedIDs(hashed: hash).filter { $0 != id }
                // If the other row has left before, there is none: the link was written out then.
                guard let other = others.first else { continue }
                guard others.count == 1 else { throw snapshot.damaged("a link leads to several samples") }
                try writeOut(found, of: other, levels)
            }
        }
    }

    private mutating func writeOut(_ found: FoundLink, of id: SampleID, _ levels: PeerLevels) throws {
        let packed = found.link
        guard try snapshot.isHeld(levels, found), let name = levels.name else { return }
        try putRecent(
            PeerLink(
                peer: name, sample: id, peerID: packed.peerID, version: packed.version,
                isProvisional: packed.isProvisional), levels.peer)
    }
}

extension Snapshot {
    /// Returns at most `limit` keys of a peer's links.
    fileprivate func allLinkKeys(_ peer: [UInt8], limit: Int) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var cursor = try view.cursor(tables[.links])
        var found = try cursor.seek(peer)
        while found, keys.count < limit, cursor.key.hasPrefix(peer, count: peer.count) {
            keys.append(cursor.key.copied())
            found = try cursor.next()
        }
        return keys
    }
}
