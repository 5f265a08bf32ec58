import ColumnFormat
import HealthModel
import LMDB

/// What peers call samples. Recent links are individual records, all others are packed in levels
/// (docs/decisions/0030). A packed link of a live sample names it by a hash only. That is exact: see
/// `keepLinks(ofLeaving:in:)`.
enum LinkTable {
    /// Returns `true` if a packed link is valid: no recent record and no newer level overrides its peer id.
    static func isHeld(_ levels: PeerLevels, _ found: FoundLink, in snapshot: Snapshot) throws -> Bool {
        let (peer, id) = (levels.peer, found.link.idAtPeer)
        if try snapshot.view.contains(snapshot.tables[.links], LinkKey.recent(peer, .byPeerID, id)) { return false }
        for level in levels.levels where level.number > found.level {
            if try packedLink(peer, level.number, idAtPeer: id, in: snapshot) != nil { return false }
        }
        return found.link.form != .gone
    }

    /// Returns the levels of every peer with packed links.
    static func linkLevels(in snapshot: Snapshot) throws -> [PeerLevels] {
        if let known = snapshot.context.state.linkLevels { return known }
        var found: [PeerLevels] = []
        for peer in try peersWithLinks(in: snapshot) {
            do { found.append(try readLevels(peer, in: snapshot)) } catch  where StoreError.isDamage(error) {
                found.append(PeerLevels(peer: peer, areDamaged: true))
            }
        }
        snapshot.context.state.linkLevels = found
        return found
    }

    static func linkLevels(_ peer: [UInt8], in snapshot: Snapshot) throws -> PeerLevels {
        let levels = try linkLevels(in: snapshot).first { $0.peer == peer } ?? PeerLevels(peer: peer)
        return levels.areDamaged ? try readLevels(peer, in: snapshot) : levels
    }

    private static func readLevels(_ peer: [UInt8], in snapshot: Snapshot) throws -> PeerLevels {
        var levels = PeerLevels(peer: peer)
        for key in try linkKeys(peer, .directory, in: snapshot) {
            guard LinkKey.kind(key) == .directory,
                let directory = try PeerTables.record(key, as: LinkDirectory.self, in: snapshot)
            else {
                throw snapshot.damaged(.linkDirectoryMisplaced)
            }
            levels.levels.insert(LinkLevel(number: LinkKey.level(key), directory: directory), at: 0)
        }
        return levels
    }

    /// Appends the packed links of a level whose hashes are in a range; with `idAtPeer`, only links with that id. The
    /// result may include links that are no longer valid.
    static func findPacked(
        _ peer: [UInt8], _ level: UInt8, _ range: ClosedRange<UInt64>, idAtPeer: SampleID? = nil,
        into links: inout [PackedLink], in snapshot: Snapshot
    ) throws {
        var cursor = try snapshot.view.cursor(snapshot.tables[.links])
        let start = LinkKey.block(peer, .chunk, level, range.lowerBound)
        // Links with one hash are in one chunk, so no earlier chunk has links of the range.
        var found = try cursor.seekAtOrBefore(start)
        if !found || !cursor.key.hasPrefix(start, count: LinkKey.levelPrefix) { found = try cursor.seek(start) }
        while found, cursor.key.hasPrefix(start, count: LinkKey.levelPrefix) {
            let hash = LinkKey.hash(cursor.key.copied())
            if hash > range.upperBound { break }
            let chunk = try LinkChunk(cursor.value, key: cursor.key, verified: snapshot.context.verified)
            guard chunk.firstHash == hash else { throw snapshot.damaged(.linkChunkMisplaced) }
            try chunk.find(range, idAtPeer: idAtPeer, into: &links)
            found = try cursor.next()
        }
    }

    /// Returns the link of a level with an id of the peer, valid or not.
    private static func packedLink(_ peer: [UInt8], _ level: UInt8, idAtPeer: SampleID, in snapshot: Snapshot) throws
        -> PackedLink?
    {
        let hash = IdentityHash.ofPeerID(idAtPeer, snapshot.header.hashKey)
        let key = LinkKey.block(peer, .hints, level, hash)
        var ranges: [ClosedRange<UInt64>] = []
        do {
            var cursor = try snapshot.view.cursor(snapshot.tables[.links])
            guard try cursor.seekAtOrBefore(key), cursor.key.hasPrefix(key, count: LinkKey.levelPrefix) else {
                return nil
            }
            let block = try LinkHintBlock(cursor.value, key: cursor.key, verified: snapshot.context.verified)
            guard block.firstHash == LinkKey.hash(cursor.key.copied()) else {
                throw snapshot.damaged(.hintBlockMisplaced)
            }
            try block.find(hash, into: &ranges)
        }
        var links: [PackedLink] = []
        for range in ranges where links.isEmpty {
            try findPacked(peer, level, range, idAtPeer: idAtPeer, into: &links, in: snapshot)
        }
        return links.first
    }

    /// Returns the packed link with an id of the peer. It is valid only if no recent record overrides it.
    static func packedLink(_ peer: [UInt8], idAtPeer: SampleID, in snapshot: Snapshot) throws -> PackedLink? {
        for level in try linkLevels(peer, in: snapshot).levels {
            guard let link = try packedLink(peer, level.number, idAtPeer: idAtPeer, in: snapshot) else { continue }
            return link.form == .gone ? nil : link
        }
        return nil
    }

    /// Returns the valid packed link of a sample.
    static func packedLink(_ peer: [UInt8], of sample: SampleID, in snapshot: Snapshot) throws -> PackedLink? {
        let hash = IdentityHash.ofLinked(sample, snapshot.header.hashKey)
        let levels = try linkLevels(peer, in: snapshot)
        for level in levels.levels {
            var links: [PackedLink] = []
            try findPacked(peer, level.number, hash...hash, into: &links, in: snapshot)
            for link in links {
                let isOfSample =
                    switch link.form {
                    case .byID: link.sample == sample
                    case .byPeerID: link.idAtPeer == sample
                    case .byRow: try isStored(sample, in: snapshot)
                    case .gone: false
                    }
                if isOfSample, try isHeld(levels, FoundLink(link: link, level: level.number), in: snapshot) {
                    return link
                }
            }
        }
        return nil
    }

    /// Returns `true` if a row stores this id in full.
    private static func isStored(_ id: SampleID, in snapshot: Snapshot) throws -> Bool {
        try SampleLookup.isStored(
            id, among: IdentityIndex.hints(IdentityHash.of(id, snapshot.header.hashKey), in: snapshot), in: snapshot)
    }

    /// Returns the sample of a valid packed link.
    static func sample(of packed: PackedLink, in snapshot: Snapshot) throws -> SampleID {
        switch packed.form {
        case .byPeerID: return packed.idAtPeer
        case .byID: return packed.sample!
        case .byRow:
            let ids = try SampleLookup.storedIDs(hashed: packed.hash, in: snapshot)
            guard ids.count == 1 else { throw snapshot.damaged(.linkLeadsNowhere) }
            return ids.first!
        case .gone: throw snapshot.damaged(.linkTakenBack)
        }
    }

    static func link(_ packed: PackedLink, of peer: PeerID, in snapshot: Snapshot) throws -> PeerLink {
        PeerLink(
            peer: peer, sample: try sample(of: packed, in: snapshot), idAtPeer: packed.idAtPeer,
            version: packed.version,
            isProvisional: packed.isProvisional)
    }

    /// Returns the first chunk of a level at or after a hash, and the hash at which the next chunk begins.
    static func packedChunk(
        _ peer: [UInt8], _ level: UInt8, from hash: UInt64, in snapshot: Snapshot
    ) throws -> (key: [UInt8], links: [PackedLink], next: UInt64?)? {
        let start = LinkKey.block(peer, .chunk, level, hash)
        var cursor = try snapshot.view.cursor(snapshot.tables[.links])
        guard try cursor.seek(start), cursor.key.hasPrefix(start, count: LinkKey.levelPrefix) else { return nil }
        let key = cursor.key.copied()
        var links: [PackedLink] = []
        do {
            let chunk = try LinkChunk(cursor.value, key: cursor.key, verified: snapshot.context.verified)
            guard chunk.firstHash == LinkKey.hash(key) else {
                throw snapshot.damaged(.linkChunkMisplaced)
            }
            links.reserveCapacity(chunk.count)
            try chunk.appendAll(to: &links)
        }
        guard try cursor.next(), cursor.key.hasPrefix(start, count: LinkKey.levelPrefix) else {
            return (key, links, nil)
        }
        let next = LinkKey.hash(cursor.key.copied())
        guard links.last!.hash < next else { throw snapshot.damaged(.linkChunksOverlap) }
        return (key, links, next)
    }

    /// Returns the packed links that identify a sample only by its hash. Skips a damaged chunk: its links are lost
    /// anyway, and must not prevent a sample from being changed.
    static func linksByRow(_ levels: PeerLevels, _ hash: UInt64, in snapshot: Snapshot) throws -> [FoundLink] {
        var found: [FoundLink] = []
        for level in levels.levels {
            var links: [PackedLink] = []
            do { try findPacked(levels.peer, level.number, hash...hash, into: &links, in: snapshot) } catch
                where StoreError.isDamage(error)
            {
                continue
            }
            for link in links where link.form == .byRow { found.append(FoundLink(link: link, level: level.number)) }
        }
        return found
    }

    /// Returns the record of a recent link: it overrides every packed link with its id of the peer.
    static func recentLink(_ peer: [UInt8], _ kind: LinkKey.Kind, _ id: SampleID, in snapshot: Snapshot) throws
        -> RecentLink?
    {
        try PeerTables.record(LinkKey.recent(peer, kind, id), as: RecentLink.self, in: snapshot)
    }

    /// Returns the keys of the peers that have links.
    static func peersWithLinks(in snapshot: Snapshot) throws -> [[UInt8]] {
        var peers: [[UInt8]] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.links])
        var found = try cursor.first()
        while found {
            let key = cursor.key.copied()
            guard key.count >= LinkKey.prefix else { throw snapshot.damaged(.linkKeyShort) }
            peers.append(Array(key[..<16]))
            found = try cursor.seek(PeerKey.behind(peerOf: key))
        }
        return peers
    }

    /// Returns the keys of a peer's records of one kind; with `level`, only those of that level.
    static func linkKeys(_ peer: [UInt8], _ kind: LinkKey.Kind, level: UInt8? = nil, in snapshot: Snapshot) throws
        -> [[UInt8]]
    {
        let prefix = level.map { LinkKey.all(peer, kind, $0) } ?? LinkKey.all(peer, kind)
        var keys: [[UInt8]] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.links])
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: prefix.count) {
            keys.append(cursor.key.copied())
            found = try cursor.next()
        }
        return keys
    }

    /// Calls `body` with each recent record of a kind, in the order of their ids.
    static func forEachRecentLink(
        _ peer: [UInt8], _ kind: LinkKey.Kind, in snapshot: Snapshot, _ body: (RecentLink) throws -> Void
    ) throws {
        let prefix = LinkKey.all(peer, kind)
        var cursor = try snapshot.view.cursor(snapshot.tables[.links])
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: LinkKey.prefix) {
            let stored = try StoredSync<RecentLink>(recordBytes: cursor.value)
            guard stored.key == SyncKey(keyBytes: cursor.key) else {
                throw snapshot.damaged(.syncRecordMisplaced)
            }
            try body(stored.record)
            found = try cursor.next()
        }
    }

    /// Returns the peer ids that have recent records. Packed links with these ids are no longer valid.
    static func recentPeerIDs(_ peer: [UInt8], in snapshot: Snapshot) throws -> Set<SampleID> {
        var ids: Set<SampleID> = []
        try forEachRecentLink(peer, .byPeerID, in: snapshot) { ids.insert($0.link.idAtPeer) }
        return ids
    }

    /// Returns the link with an id of the peer.
    static func link(_ peer: [UInt8], idAtPeer: SampleID, of name: PeerID, in snapshot: Snapshot) throws -> PeerLink? {
        if let recent = try recentLink(peer, .byPeerID, idAtPeer, in: snapshot) {
            return recent.isGone ? nil : recent.link
        }
        return try packedLink(peer, idAtPeer: idAtPeer, in: snapshot).map { try link($0, of: name, in: snapshot) }
    }

    /// Calls `body` with each link of a peer. With `skippingDamage`, leaves out links that cannot be read or whose
    /// samples cannot be found.
    static func forEachLink(
        _ peer: [UInt8], skippingDamage: Bool = false, in snapshot: Snapshot, _ body: (PeerLink) throws -> Void
    ) throws {
        try forEachRecentLink(peer, .bySample, in: snapshot) { try body($0.link) }
        let levels = try linkLevels(peer, in: snapshot).levels
        guard let name = levels.first?.directory.peer else { return }
        // A newer record or level with the same peer id overrides an older link.
        var newer = try recentPeerIDs(peer, in: snapshot)
        for level in levels {
            let isOldest = level.number == levels.last?.number
            var here: [SampleID] = []
            for key in try linkKeys(peer, .chunk, level: level.number, in: snapshot) {
                var links: [PackedLink] = []
                do {
                    links = try packedChunk(peer, level.number, from: LinkKey.hash(key), in: snapshot)?.links ?? []
                } catch  where skippingDamage && StoreError.isDamage(error) {}
                for packed in links where !newer.contains(packed.idAtPeer) {
                    if !isOldest { here.append(packed.idAtPeer) }
                    if packed.form == .gone { continue }
                    var link: PeerLink?
                    do {
                        link = try LinkTable.link(packed, of: name, in: snapshot)
                    } catch  where skippingDamage && StoreError.isDamage(error) {}
                    if let link { try body(link) }
                }
            }
            newer.formUnion(here)
        }
    }

    static func putRecent(_ link: PeerLink, _ peer: [UInt8], in txn: inout WriteTransaction) throws {
        try PeerTables.put(RecentLink(link), LinkKey.recent(peer, .bySample, link.sample), in: &txn)
        try PeerTables.put(RecentLink(link), LinkKey.recent(peer, .byPeerID, link.idAtPeer), in: &txn)
    }

    /// Removes the record of a link under the peer's id. If a packed link has this id, writes a mark instead.
    static func forgetRecent(_ link: PeerLink, _ peer: [UInt8], in txn: inout WriteTransaction) throws {
        let key = LinkKey.recent(peer, .byPeerID, link.idAtPeer)
        if try packedLink(peer, idAtPeer: link.idAtPeer, in: txn.snapshot) == nil {
            try PeerTables.forget(key, as: RecentLink.self, in: &txn)
        } else {
            try PeerTables.put(RecentLink(link, isGone: true), key, in: &txn)
        }
    }

    /// Removes all links of a peer.
    static func removeLinks(of name: PeerID, in txn: inout WriteTransaction) throws {
        let peer = PeerKey.peer(name, txn.state.header.hashKey)
        txn.state.linkLevels = nil
        while true {
            let keys = try allLinkKeys(peer, limit: 4_096, in: txn.snapshot)
            for key in keys { try txn.remove(.links, key) }
            if keys.count < 4_096 { return }
        }
    }

    /// Writes the packed links of a sample out as full records before the row with its stored id leaves. A packed link
    /// names its sample by 40 bits of a hash. This is unambiguous while exactly one live row with a stored id has that
    /// hash. So links are written out when that row leaves, and when another row with the same hash arrives
    /// (``keepLinks(besides:)``).
    static func keepLinks(ofLeaving id: SampleID, in txn: inout WriteTransaction) throws {
        let peers = try linkLevels(in: txn.snapshot)
        if peers.allSatisfy(\.levels.isEmpty) { return }
        let hash = IdentityHash.ofLinked(id, txn.state.header.hashKey)
        for levels in peers {
            for found in try linksByRow(levels, hash, in: txn.snapshot) {
                try writeOut(found, of: id, levels, in: &txn)
            }
        }
    }

    /// Writes the packed links of another sample out as full records before a row with the same hash arrives.
    static func keepLinks(besides id: SampleID, in txn: inout WriteTransaction) throws {
        let peers = try linkLevels(in: txn.snapshot)
        if peers.allSatisfy(\.levels.isEmpty) { return }
        let hash = IdentityHash.ofLinked(id, txn.state.header.hashKey)
        for levels in peers {
            for found in try linksByRow(levels, hash, in: txn.snapshot) {
                let others = try SampleLookup.storedIDs(hashed: hash, in: txn.snapshot).filter { $0 != id }
                // If the other row has left before, there is none: the link was written out then.
                guard let other = others.first else { continue }
                guard others.count == 1 else { throw txn.snapshot.damaged(.linkAmbiguous) }
                try writeOut(found, of: other, levels, in: &txn)
            }
        }
    }

    private static func writeOut(
        _ found: FoundLink, of id: SampleID, _ levels: PeerLevels, in txn: inout WriteTransaction
    ) throws {
        let packed = found.link
        guard try isHeld(levels, found, in: txn.snapshot), let name = levels.name else { return }
        try putRecent(
            PeerLink(
                peer: name, sample: id, idAtPeer: packed.idAtPeer, version: packed.version,
                isProvisional: packed.isProvisional), levels.peer, in: &txn)
    }

    /// Returns at most `limit` keys of a peer's links.
    private static func allLinkKeys(_ peer: [UInt8], limit: Int, in snapshot: Snapshot) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.links])
        var found = try cursor.seek(peer)
        while found, keys.count < limit, cursor.key.hasPrefix(peer, count: peer.count) {
            keys.append(cursor.key.copied())
            found = try cursor.next()
        }
        return keys
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the link of a sample for a peer.
    public func link(peer: PeerID, sample: SampleID) throws -> PeerLink? {
        let snapshot = snapshot
        let key = PeerKey.peer(peer, snapshot.header.hashKey)
        if let recent = try LinkTable.recentLink(key, .bySample, sample, in: snapshot) { return recent.link }
        return try LinkTable.packedLink(key, of: sample, in: snapshot).map { packed in
            PeerLink(
                peer: peer, sample: sample, idAtPeer: packed.idAtPeer, version: packed.version,
                isProvisional: packed.isProvisional)
        }
    }

    /// Returns the link with an id of the peer.
    public func link(peer: PeerID, idAtPeer: SampleID) throws -> PeerLink? {
        let snapshot = snapshot
        return try LinkTable.link(
            PeerKey.peer(peer, snapshot.header.hashKey), idAtPeer: idAtPeer, of: peer, in: snapshot)
    }

    /// Returns all links of a peer, in the order of the samples' ids.
    package func links(of peer: PeerID) throws -> [PeerLink] {
        let snapshot = snapshot
        var links: [PeerLink] = []
        try LinkTable.forEachLink(PeerKey.peer(peer, snapshot.header.hashKey), in: snapshot) { links.append($0) }
        return links.sorted { $0.sample < $1.sample }
    }

    /// Returns what every peer calls a sample.
    package func links(sample: SampleID) throws -> [PeerLink] {
        let snapshot = snapshot
        var links: [PeerLink] = []
        for peer in try LinkTable.peersWithLinks(in: snapshot) {
            if let recent = try LinkTable.recentLink(peer, .bySample, sample, in: snapshot) {
                links.append(recent.link)
            } else if let packed = try LinkTable.packedLink(peer, of: sample, in: snapshot),
                let name = try LinkTable.linkLevels(peer, in: snapshot).levels.first?.directory.peer
            {
                links.append(
                    PeerLink(
                        peer: name, sample: sample, idAtPeer: packed.idAtPeer, version: packed.version,
                        isProvisional: packed.isProvisional))
            }
        }
        return links.sorted { $0.peer < $1.peer }
    }

    /// Returns `true` if there are links of a peer, that is, if the peer may hold a sample under another id. Otherwise
    /// no lookup is needed.
    package func hasLinks(of peer: PeerID) throws -> Bool {
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
    package func forEachLink(skippingDamage: Bool = false, _ body: (PeerLink) throws -> Void) throws {
        let snapshot = snapshot
        for peer in try LinkTable.peersWithLinks(in: snapshot) {
            do { try LinkTable.forEachLink(peer, skippingDamage: skippingDamage, in: snapshot, body) } catch
                where skippingDamage && StoreError.isDamage(error)
            {}
        }
    }
}
