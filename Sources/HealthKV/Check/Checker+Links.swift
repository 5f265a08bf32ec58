import ColumnFormat
import HealthModel
import LMDB

/// Links: each record and chunk is read, and both directions of recent and of packed links are compared.
extension Checker {
    /// What was met of one peer's packed links.
    private struct Packed {
        var directory: LinkDirectory?
        var (links, chunks, hintBlocks) = (0 as UInt64, 0 as UInt32, 0 as UInt32)
        /// What one direction adds, the other takes away.
        var sum: UInt64 = 0
        var lastHash: UInt64?
        var lastHint: UInt64?
        /// A part of it could not be read: what only follows from that is no finding of its own.
        var isDamaged = false

        var isEmpty: Bool { directory == nil && chunks == 0 && hintBlocks == 0 }
    }

    mutating func checkLinks(_ snapshot: borrowing Snapshot) {
        let hashKey = snapshot.header.hashKey
        var recent: UInt64 = 0
        var packed: [ArraySlice<UInt8>: Packed] = [:]
        forEachValue(snapshot, .links) { checker, value, key in
            guard let kind = LinkKey.kind(key) else { throw FormatError(.invalid, "key of a link") }
            let peer = key[..<16]
            switch kind {
            case .bySample: recent &+= Checker.term(of: try Checker.record(value, key, as: RecentLink.self).link)
            case .byPeerID:
                let link = try Checker.record(value, key, as: RecentLink.self)
                if !link.isGone { recent &-= Checker.term(of: link.link) }
            case .directory, .chunk, .hints:
                do {
                    try checker.look(at: value, key, kind, &packed[peer, default: Packed()], hashKey)
                } catch {
                    packed[peer, default: Packed()].isDamaged = true
                    throw error
                }
            }
        }
        if recent != 0 { add(.linksDiffer, .links, "links by sample and links by the peer's id are not the same") }
        for (peer, packed) in packed { compare(packed, Array(peer), snapshot) }
    }

    private func look(
        at value: RawSpan, _ key: [UInt8], _ kind: LinkKey.Kind, _ packed: inout Packed, _ hashKey: KeyedHash
    ) throws {
        switch kind {
        case .chunk: try look(atChunk: value, key, &packed, hashKey)
        case .hints: try look(atHints: value, key, &packed)
        default: packed.directory = try Checker.record(value, key, as: LinkDirectory.self)
        }
    }

    private func look(
        atChunk value: RawSpan, _ key: [UInt8], _ packed: inout Packed, _ hashKey: KeyedHash
    ) throws {
        var links: [PackedLink] = []
        let chunk = try LinkChunk(value, key: key.rawBytes)
        try chunk.appendAll(to: &links)
        guard chunk.firstHash == LinkKey.hash(key), packed.lastHash.map({ $0 < chunk.firstHash }) ?? true else {
            throw FormatError(.misplaced, "chunk of links")
        }
        packed.lastHash = links.last!.hash
        packed.links += UInt64(links.count)
        packed.chunks += 1
        // The directory stands before chunks.
        guard let precision = packed.directory?.precision else { return }
        for link in links {
            let hint = LinkHint(peerID: IdentityHash.ofPeerID(link.peerID, hashKey), sample: link.hash)
            packed.sum &+= Checker.term(of: hint.kept(precision))
        }
    }

    private func look(atHints value: RawSpan, _ key: [UInt8], _ packed: inout Packed) throws {
        var hints: [(hash: UInt64, place: UInt64)] = []
        let block = try LinkHintBlock(value, key: key.rawBytes)
        try block.appendAll(to: &hints)
        guard block.firstHash == LinkKey.hash(key), packed.lastHint.map({ $0 < hints[0].hash }) ?? true,
            packed.directory.map({ $0.precision == block.precision }) ?? true
        else { throw FormatError(.misplaced, "block of hints") }
        packed.lastHint = hints.last!.hash
        packed.hintBlocks += 1
        for hint in hints { packed.sum &-= Checker.term(of: hint) }
    }

    private mutating func compare(_ packed: Packed, _ peer: [UInt8], _ snapshot: borrowing Snapshot) {
        if packed.isDamaged || packed.isEmpty { return }
        guard let directory = packed.directory, directory.links == packed.links, directory.chunks == packed.chunks,
            directory.hintBlocks == packed.hintBlocks
        else { return add(.linksDiffer, .links, "a peer has more or fewer packed links than it says") }
        if packed.sum != 0 {
            add(.linksDiffer, .links, "packed links and the hints that lead to them are not the same")
        }
        // What leads to a chunk that is damaged is no finding of its own.
        guard damagedChunks.isEmpty else { return }
        do {
            try snapshot.forEachLink(peer) { _ in }
        } catch {
            add(.linksDiffer, .links, "\(error)")
        }
    }

    private static func term(of link: PeerLink) -> UInt64 {
        let bytes = StoredSync(RecentLink(link), key: SyncKey([]), commit: 0).recordBytes
        return Checksum.hash(bytes, 0..<bytes.count)
    }

    private static func term(of hint: (hash: UInt64, place: UInt64)) -> UInt64 {
        var writer = ByteWriter(reserving: 16)
        writer.append(hint.hash)
        writer.append(hint.place)
        return Checksum.hash(writer.bytes, 0..<16)
    }
}
