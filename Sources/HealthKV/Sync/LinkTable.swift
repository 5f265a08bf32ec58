import ColumnFormat
import HealthModel
import LMDB

// Recent links are records of their own, all others are packed in levels (docs/decisions/0030). A packed link of a
// live sample names it by a hash only. That is exact: see `WriteTransaction.keepLinks(ofLeaving:)`.

extension Snapshot {
    func recentLink(_ peer: [UInt8], _ kind: LinkKey.Kind, _ id: SampleID) throws -> RecentLink? {
        try record(LinkKey.recent(peer, kind, id), as: RecentLink.self)
    }

    /// The peers that have links, by their keys.
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

    /// The keys of a kind of a peer's records; those of one level only, if it is given.
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

    /// The ids of a peer that recent records are about: packed links with one of them hold no longer.
    func recentPeerIDs(_ peer: [UInt8]) throws -> Set<SampleID> {
        var ids: Set<SampleID> = []
        try forEachRecentLink(peer, .byPeerID) { ids.insert($0.link.peerID) }
        return ids
    }

    /// The link that a peer's own id leads to.
    func link(_ peer: [UInt8], peerID: SampleID, of name: String) throws -> PeerLink? {
        if let recent = try recentLink(peer, .byPeerID, peerID) { return recent.isGone ? nil : recent.link }
        return try packedLink(peer, peerID: peerID).map { try link($0, of: name) }
    }

    /// Calls `body` with each link of a peer, or with those only that can be read and whose samples can be found.
    func forEachLink(
        _ peer: [UInt8], skippingDamage: Bool = false, _ body: (PeerLink) throws -> Void
    ) throws {
        try forEachRecentLink(peer, .bySample) { try body($0.link) }
        let levels = try linkLevels(peer).levels
        guard let name = levels.first?.directory.peer else { return }
        // Of ids that something newer is about no older link holds.
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
    /// What a peer calls a sample.
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

    /// The link that a peer's own id leads to.
    public func link(peer: String, peerID: SampleID) throws -> PeerLink? {
        let snapshot = snapshot
        return try snapshot.link(PeerKey.peer(peer, snapshot.header.hashKey), peerID: peerID, of: peer)
    }

    /// What a peer calls samples, in the order of their ids.
    package func links(of peer: String) throws -> [PeerLink] {
        let snapshot = snapshot
        var links: [PeerLink] = []
        try snapshot.forEachLink(PeerKey.peer(peer, snapshot.header.hashKey)) { links.append($0) }
        return links.sorted { $0.sample < $1.sample }
    }

    /// Whether a peer calls any sample by another id. While it calls none there is nothing to look up.
    public func hasLinks(of peer: String) throws -> Bool {
        let snapshot = snapshot
        let prefix = PeerKey.peer(peer, snapshot.header.hashKey)
        var cursor = try snapshot.view.cursor(snapshot.tables[.links])
        return try cursor.seek(prefix) && cursor.key.hasPrefix(prefix, count: prefix.count)
    }

    /// Calls `body` with the links of all peers, those of deleted samples too.
    ///
    /// - Parameter skippingDamage: leaves out links of samples that are lost to damage.
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
    /// Keeps what a peer calls a sample, in place of any earlier link of that sample or of that id of the peer.
    public mutating func setLink(_ link: PeerLink) throws {
        let bySample = try self.link(peer: link.peer, sample: link.sample)
        if bySample == link { return }
        if let older = bySample, older.peerID != link.peerID { try removeLink(older) }
        if let older = try self.link(peer: link.peer, peerID: link.peerID), older.sample != link.sample {
            try removeLink(older)
        }
        try putRecent(link, PeerKey.peer(link.peer, state.header.hashKey))
    }

    /// Forgets what a peer calls a sample, in both directions.
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

    /// Forgets a link under the peer's id; where one is packed under that, a mark stays.
    private mutating func forgetRecent(_ link: PeerLink, _ peer: [UInt8]) throws {
        let key = LinkKey.recent(peer, .byPeerID, link.peerID)
        if try snapshot.packedLink(peer, peerID: link.peerID) == nil {
            try forget(key, as: RecentLink.self)
        } else {
            try put(RecentLink(link, isGone: true), key)
        }
    }

    /// Forgets all links of a peer.
    mutating func removeLinks(of name: String) throws {
        let peer = PeerKey.peer(name, state.header.hashKey)
        context.linkLevels = nil
        while true {
            let keys = try snapshot.allLinkKeys(peer, limit: 4_096)
            for key in keys { try remove(.links, key) }
            if keys.count < 4_096 { return }
        }
    }

    /// Writes packed links of a sample out in full, before the row with its stored id goes. A packed link names its
    /// sample by 40 bits of the hash only, and that one sample has them holds while exactly one live row with a
    /// stored id of that hash is there. So links are written out when that row leaves, and when another one of that
    /// hash comes (``keepLinks(besides:)``).
    mutating func keepLinks(ofLeaving id: SampleID) throws {
        let peers = try snapshot.linkLevels()
        if peers.allSatisfy(\.levels.isEmpty) { return }
        let hash = IdentityHash.ofLinked(id, state.header.hashKey)
        for levels in peers {
            for found in try snapshot.linksByRow(levels, hash) { try writeOut(found, of: id, levels) }
        }
    }

    /// Writes packed links of a sample out in full that has the hash of another one, whose row comes.
    mutating func keepLinks(besides id: SampleID) throws {
        let peers = try snapshot.linkLevels()
        if peers.allSatisfy(\.levels.isEmpty) { return }
        let hash = IdentityHash.ofLinked(id, state.header.hashKey)
        for levels in peers {
            for found in try snapshot.linksByRow(levels, hash) {
                let others = try snapshot.storedIDs(hashed: hash).filter { $0 != id }
                // There is none where the row left before: the link was written out then.
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
    /// Some keys of a peer's links.
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
