import ColumnFormat
import HealthModel
import LMDB

// Links are kept twice over: recent ones as records of their own, all others packed (docs/decisions/0030). A packed link of a live sample
// names it by a hash only. That is exact: see `WriteTransaction.keepLinks(ofLeaving:)`.
extension Snapshot {
    func recentLink(_ peer: [UInt8], _ kind: LinkKey.Kind, _ id: SampleID) throws -> RecentLink? {
        try record(LinkKey.recent(peer, kind, id), as: RecentLink.self)
    }

    /// Whether a packed link with an id of the peer holds: nothing recent says otherwise.
    func isHeld(_ peer: [UInt8], _ packed: PackedLink) throws -> Bool {
        try !view.contains(tables[.links], LinkKey.recent(peer, .byPeerID, packed.peerID))
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

    func linkDirectory(_ peer: [UInt8]) throws -> LinkDirectory? {
        try record(LinkKey.all(peer, .directory), as: LinkDirectory.self)
    }

    /// The peers with packed links.
    func linkDirectories() throws -> [(peer: [UInt8], directory: LinkDirectory)] {
        if let known = context.linkDirectories { return known }
        var found: [(peer: [UInt8], directory: LinkDirectory)] = []
        for peer in try peersWithLinks() {
            if let directory = try linkDirectory(peer) { found.append((peer, directory)) }
        }
        context.linkDirectories = found
        return found
    }

    /// Packed links whose hashes lie in a range, and those only that have an id of the peer if it is given. Not all of them need hold.
    func packedLinks(
        _ peer: [UInt8], _ range: ClosedRange<UInt64>, peerID: SampleID? = nil
    ) throws -> [PackedLink] {
        var links: [PackedLink] = []
        var cursor = try view.cursor(tables[.links])
        let start = LinkKey.block(peer, .chunk, range.lowerBound)
        // Links of one hash stand in one chunk, so that none before this has any of the range.
        var found = try cursor.seekAtOrBefore(start)
        if !found || !cursor.key.hasPrefix(start, count: LinkKey.prefix) { found = try cursor.seek(start) }
        while found, cursor.key.hasPrefix(start, count: LinkKey.prefix) {
            let hash = LinkKey.hash(cursor.key.copied())
            if hash > range.upperBound { break }
            let chunk = try LinkChunk(cursor.value, key: cursor.key, verified: context.verified)
            guard chunk.firstHash == hash else { throw damaged("a chunk of links begins elsewhere") }
            try chunk.find(range, peerID: peerID, into: &links)
            found = try cursor.next()
        }
        return links
    }

    /// The packed link with an id of the peer, whether or not it holds.
    func packedLink(_ peer: [UInt8], peerID: SampleID) throws -> PackedLink? {
        let hash = IdentityHash.ofPeerID(peerID, header.hashKey)
        let key = LinkKey.block(peer, .hints, hash)
        var ranges: [ClosedRange<UInt64>] = []
        do {
            var cursor = try view.cursor(tables[.links])
            guard try cursor.seekAtOrBefore(key), cursor.key.hasPrefix(key, count: LinkKey.prefix) else { return nil }
            let block = try LinkHintBlock(cursor.value, key: cursor.key, verified: context.verified)
            guard block.firstHash == LinkKey.hash(cursor.key.copied()) else {
                throw damaged("a block of hints begins elsewhere")
            }
            try block.find(hash, into: &ranges)
        }
        for range in ranges {
            if let link = try packedLinks(peer, range, peerID: peerID).first { return link }
        }
        return nil
    }

    /// The packed link of a sample that holds.
    func packedLink(_ peer: [UInt8], of sample: SampleID) throws -> PackedLink? {
        let hash = IdentityHash.ofLinked(sample, header.hashKey)
        for link in try packedLinks(peer, hash...hash) {
            let isOfSample =
                switch link.form {
                case .byID: link.sample == sample
                case .byPeerID: link.peerID == sample
                case .byRow: try isHeld(peer, link) && isStored(sample)
                }
            if isOfSample, try link.form == .byRow || isHeld(peer, link) { return link }
        }
        return nil
    }

    /// Whether there is a row with an id that it holds in full.
    private func isStored(_ id: SampleID) throws -> Bool {
        try find(id).map { !$0.row.flags.contains(.derivedID) } ?? false
    }

    /// The sample of a packed link that holds.
    func sample(of packed: PackedLink) throws -> SampleID {
        switch packed.form {
        case .byPeerID: return packed.peerID
        case .byID: return packed.sample!
        case .byRow:
            let ids = try storedIDs(hashed: packed.hash)
            guard ids.count == 1 else { throw damaged("a link leads to no sample") }
            return ids.first!
        }
    }

    func link(_ packed: PackedLink, of peer: String) throws -> PeerLink {
        PeerLink(
            peer: peer, sample: try sample(of: packed), peerID: packed.peerID, version: packed.version,
            isProvisional: packed.isProvisional)
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

    /// The first chunk of packed links from a hash on, and where the next one begins.
    func packedChunk(
        _ peer: [UInt8], from hash: UInt64
    ) throws -> (key: [UInt8], links: [PackedLink], next: UInt64?)? {
        let start = LinkKey.block(peer, .chunk, hash)
        var cursor = try view.cursor(tables[.links])
        guard try cursor.seek(start), cursor.key.hasPrefix(start, count: LinkKey.prefix) else { return nil }
        let key = cursor.key.copied()
        var links: [PackedLink] = []
        do {
            let chunk = try LinkChunk(cursor.value, key: cursor.key, verified: context.verified)
            guard chunk.firstHash == LinkKey.hash(key) else { throw damaged("a chunk of links begins elsewhere") }
            try chunk.appendAll(to: &links)
        }
        guard try cursor.next(), cursor.key.hasPrefix(start, count: LinkKey.prefix) else { return (key, links, nil) }
        let next = LinkKey.hash(cursor.key.copied())
        guard links.last!.hash < next else { throw damaged("chunks of links overlap") }
        return (key, links, next)
    }

    /// Calls `body` with each link of a peer, or with those only whose samples can be found.
    func forEachLink(
        _ peer: [UInt8], skippingDamage: Bool = false, _ body: (PeerLink) throws -> Void
    ) throws {
        try forEachRecentLink(peer, .bySample) { try body($0.link) }
        guard let directory = try linkDirectory(peer) else { return }
        let recent = try recentPeerIDs(peer)
        var from: UInt64? = 0
        while let hash = from, let chunk = try packedChunk(peer, from: hash) {
            for packed in chunk.links where !recent.contains(packed.peerID) {
                var link: PeerLink?
                do {
                    link = try self.link(packed, of: directory.peer)
                } catch  where skippingDamage && StoreError.isDamage(error) {}
                if let link { try body(link) }
            }
            from = chunk.next
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
        let key = PeerKey.peer(peer, snapshot.header.hashKey)
        if let recent = try snapshot.recentLink(key, .byPeerID, peerID) { return recent.isGone ? nil : recent.link }
        guard let packed = try snapshot.packedLink(key, peerID: peerID) else { return nil }
        return try snapshot.link(packed, of: peer)
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
            try snapshot.forEachLink(peer, skippingDamage: skippingDamage, body)
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
        context.linkDirectories = nil
        while true {
            let keys = try snapshot.allLinkKeys(peer, limit: 4_096)
            for key in keys { try remove(.links, key) }
            if keys.count < 4_096 { return }
        }
    }

    /// Writes packed links of a sample out in full, before the row with its stored id goes. A packed link names its sample by 40 bits of the
    /// hash only, and that one sample has them holds while exactly one live row with a stored id of that hash is there. So links are
    /// written out when that row leaves, and when another one of that hash comes (``keepLinks(besides:)``).
    mutating func keepLinks(ofLeaving id: SampleID) throws {
        let directories = try snapshot.linkDirectories()
        guard !directories.isEmpty else { return }
        let hash = IdentityHash.ofLinked(id, state.header.hashKey)
        for (peer, directory) in directories {
            for packed in try snapshot.packedLinks(peer, hash...hash) where packed.form == .byRow {
                try writeOut(packed, of: id, peer, directory.peer)
            }
        }
    }

    /// Writes packed links of a sample out in full that has the hash of another one, whose row comes.
    mutating func keepLinks(besides id: SampleID) throws {
        let directories = try snapshot.linkDirectories()
        guard !directories.isEmpty else { return }
        let hash = IdentityHash.ofLinked(id, state.header.hashKey)
        for (peer, directory) in directories {
            for packed in try snapshot.packedLinks(peer, hash...hash) where packed.form == .byRow {
                let others = try snapshot.storedIDs(hashed: hash).filter { $0 != id }
                // There is none where the row left before: the link was written out then.
                guard let other = others.first else { continue }
                guard others.count == 1 else { throw snapshot.damaged("a link leads to several samples") }
                try writeOut(packed, of: other, peer, directory.peer)
            }
        }
    }

    private mutating func writeOut(_ packed: PackedLink, of id: SampleID, _ peer: [UInt8], _ name: String) throws {
        guard try snapshot.isHeld(peer, packed) else { return }
        try putRecent(
            PeerLink(
                peer: name, sample: id, peerID: packed.peerID, version: packed.version,
                isProvisional: packed.isProvisional), peer)
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
