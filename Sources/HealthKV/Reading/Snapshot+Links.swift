import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    /// Returns `true` if a packed link is valid: no recent record and no newer level overrides its peer id.
    func isHeld(_ levels: PeerLevels, _ found: FoundLink) throws -> Bool {
        let (peer, id) = (levels.peer, found.link.peerID)
        if try view.contains(tables[.links], LinkKey.recent(peer, .byPeerID, id)) { return false }
        for level in levels.levels where level.number > found.level {
            if try packedLink(peer, level.number, peerID: id) != nil { return false }
        }
        return found.link.form != .gone
    }

    /// Returns the levels of every peer with packed links.
    func linkLevels() throws -> [PeerLevels] {
        if let known = context.state.linkLevels { return known }
        var found: [PeerLevels] = []
        for peer in try peersWithLinks() {
            do { found.append(try readLevels(peer)) } catch  where StoreError.isDamage(error) {
                found.append(PeerLevels(peer: peer, areDamaged: true))
            }
        }
        context.state.linkLevels = found
        return found
    }

    func linkLevels(_ peer: [UInt8]) throws -> PeerLevels {
        let levels = try linkLevels().first { $0.peer == peer } ?? PeerLevels(peer: peer)
        return levels.areDamaged ? try readLevels(peer) : levels
    }

    private func readLevels(_ peer: [UInt8]) throws -> PeerLevels {
        var levels = PeerLevels(peer: peer)
        for key in try linkKeys(peer, .directory) {
            guard LinkKey.kind(key) == .directory, let directory = try record(key, as: LinkDirectory.self) else {
                throw damaged("a directory of links has another's key")
            }
            levels.levels.insert(LinkLevel(number: LinkKey.level(key), directory: directory), at: 0)
        }
        return levels
    }

    /// Appends the packed links of a level whose hashes are in a range; with `peerID`, only links with that id. The
    /// result may include links that are no longer valid.
    func findPacked(
        _ peer: [UInt8], _ level: UInt8, _ range: ClosedRange<UInt64>, peerID: SampleID? = nil,
        into links: inout [PackedLink]
    ) throws {
        var cursor = try view.cursor(tables[.links])
        let start = LinkKey.block(peer, .chunk, level, range.lowerBound)
        // Links with one hash are in one chunk, so no earlier chunk has links of the range.
        var found = try cursor.seekAtOrBefore(start)
        if !found || !cursor.key.hasPrefix(start, count: LinkKey.levelPrefix) { found = try cursor.seek(start) }
        while found, cursor.key.hasPrefix(start, count: LinkKey.levelPrefix) {
            let hash = LinkKey.hash(cursor.key.copied())
            if hash > range.upperBound { break }
            let chunk = try LinkChunk(cursor.value, key: cursor.key, verified: context.verified)
            guard chunk.firstHash == hash else { throw damaged("a chunk of links begins elsewhere") }
            try chunk.find(range, peerID: peerID, into: &links)
            found = try cursor.next()
        }
    }

    /// Returns the link of a level with an id of the peer, valid or not.
    private func packedLink(_ peer: [UInt8], _ level: UInt8, peerID: SampleID) throws -> PackedLink? {
        let hash = IdentityHash.ofPeerID(peerID, header.hashKey)
        let key = LinkKey.block(peer, .hints, level, hash)
        var ranges: [ClosedRange<UInt64>] = []
        do {
            var cursor = try view.cursor(tables[.links])
            guard try cursor.seekAtOrBefore(key), cursor.key.hasPrefix(key, count: LinkKey.levelPrefix) else {
                return nil
            }
            let block = try LinkHintBlock(cursor.value, key: cursor.key, verified: context.verified)
            guard block.firstHash == LinkKey.hash(cursor.key.copied()) else {
                throw damaged("a block of hints begins elsewhere")
            }
            try block.find(hash, into: &ranges)
        }
        var links: [PackedLink] = []
        for range in ranges where links.isEmpty { try findPacked(peer, level, range, peerID: peerID, into: &links) }
        return links.first
    }

    /// Returns the packed link with an id of the peer. It is valid only if no recent record overrides it.
    func packedLink(_ peer: [UInt8], peerID: SampleID) throws -> PackedLink? {
        for level in try linkLevels(peer).levels {
            guard let link = try packedLink(peer, level.number, peerID: peerID) else { continue }
            return link.form == .gone ? nil : link
        }
        return nil
    }

    /// Returns the valid packed link of a sample.
    func packedLink(_ peer: [UInt8], of sample: SampleID) throws -> PackedLink? {
        let hash = IdentityHash.ofLinked(sample, header.hashKey)
        let levels = try linkLevels(peer)
        for level in levels.levels {
            var links: [PackedLink] = []
            try findPacked(peer, level.number, hash...hash, into: &links)
            for link in links {
                let isOfSample =
                    switch link.form {
                    case .byID: link.sample == sample
                    case .byPeerID: link.peerID == sample
                    case .byRow: try isStored(sample)
                    case .gone: false
                    }
                if isOfSample, try isHeld(levels, FoundLink(link: link, level: level.number)) { return link }
            }
        }
        return nil
    }

    /// Returns `true` if a row stores this id in full.
    private func isStored(_ id: SampleID) throws -> Bool {
        try isStored(id, among: hints(IdentityHash.of(id, header.hashKey)))
    }

    /// Returns the sample of a valid packed link.
    func sample(of packed: PackedLink) throws -> SampleID {
        switch packed.form {
        case .byPeerID: return packed.peerID
        case .byID: return packed.sample!
        case .byRow:
            let ids = try storedIDs(hashed: packed.hash)
            guard ids.count == 1 else { throw damaged("a link leads to no sample") }
            return ids.first!
        case .gone: throw damaged("a link holds that was taken back")
        }
    }

    func link(_ packed: PackedLink, of peer: String) throws -> PeerLink {
        PeerLink(
            peer: peer, sample: try sample(of: packed), peerID: packed.peerID, version: packed.version,
            isProvisional: packed.isProvisional)
    }

    /// Returns the first chunk of a level at or after a hash, and the hash at which the next chunk begins.
    func packedChunk(
        _ peer: [UInt8], _ level: UInt8, from hash: UInt64
    ) throws -> (key: [UInt8], links: [PackedLink], next: UInt64?)? {
        let start = LinkKey.block(peer, .chunk, level, hash)
        var cursor = try view.cursor(tables[.links])
        guard try cursor.seek(start), cursor.key.hasPrefix(start, count: LinkKey.levelPrefix) else { return nil }
        let key = cursor.key.copied()
        var links: [PackedLink] = []
        do {
            let chunk = try LinkChunk(cursor.value, key: cursor.key, verified: context.verified)
            guard chunk.firstHash == LinkKey.hash(key) else { throw damaged("a chunk of links begins elsewhere") }
            links.reserveCapacity(chunk.count)
            try chunk.appendAll(to: &links)
        }
        guard try cursor.next(), cursor.key.hasPrefix(start, count: LinkKey.levelPrefix) else {
            return (key, links, nil)
        }
        let next = LinkKey.hash(cursor.key.copied())
        guard links.last!.hash < next else { throw damaged("chunks of links overlap") }
        return (key, links, next)
    }

    /// Returns the packed links that identify a sample only by its hash. Skips a damaged chunk: its links are lost
    /// anyway, and must not prevent a sample from being changed.
    func linksByRow(_ levels: PeerLevels, _ hash: UInt64) throws -> [FoundLink] {
        var found: [FoundLink] = []
        for level in levels.levels {
            var links: [PackedLink] = []
            do { try findPacked(levels.peer, level.number, hash...hash, into: &links) } catch
                where StoreError.isDamage(error)
            {
                continue
            }
            for link in links where link.form == .byRow { found.append(FoundLink(link: link, level: level.number)) }
        }
        return found
    }
}
