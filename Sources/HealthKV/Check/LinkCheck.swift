import ColumnFormat
import HealthModel
import LMDB

/// Checks links: reads each record and chunk, and compares both directions of recent and of packed links.
struct LinkCheck {
    let log: CheckLog

    /// The contents of one level of a peer's packed links, as far as they were read.
    private struct Packed {
        var directory: LinkDirectory?
        var (links, chunks, hintBlocks) = (0 as UInt64, 0 as UInt32, 0 as UInt32)
        /// One direction adds its terms, the other subtracts them.
        var sum: UInt64 = 0
        var lastHash: UInt64?
        var lastHint: UInt64?
        /// Whether a part of the level could not be read.
        var isDamaged = false
    }

    func run(_ snapshot: borrowing Snapshot) {
        let hashKey = snapshot.header.hashKey
        var recent: UInt64 = 0
        // The levels, by the keys of their directories.
        var packed: [[UInt8]: Packed] = [:]
        let hasNewer = log.forEachValue(snapshot, .links) { value, key in
            guard let kind = LinkKey.kind(key) else { throw FormatError(.invalid, "key of a link") }
            switch kind {
            case .bySample: recent &+= LinkCheck.term(of: try PeerCheck.record(value, key, as: RecentLink.self).link)
            case .byPeerID:
                let link = try PeerCheck.record(value, key, as: RecentLink.self)
                if !link.isGone { recent &-= LinkCheck.term(of: link.link) }
            case .directory, .chunk, .hints:
                let level = LinkKey.all(Array(key[..<16]), .directory, LinkKey.level(key))
                do {
                    try look(at: value, key, kind, &packed[level, default: Packed()], hashKey)
                } catch {
                    packed[level, default: Packed()].isDamaged = true
                    throw error
                }
            }
        }
        if recent != 0, !hasNewer {
            log.add(.linksDiffer, .links, "links by sample and links by the peer's id are not the same")
        }
        // If a part is unreadable or sums differ, findings that only follow from that are not reported separately.
        var (damaged, unequal) = (Set<ArraySlice<UInt8>>(), Set<ArraySlice<UInt8>>())
        for (level, packed) in packed {
            if packed.isDamaged {
                damaged.insert(level[..<16])
            } else if !compare(packed) {
                unequal.insert(level[..<16])
            }
        }
        guard log.damagedChunks.isEmpty else { return }
        for peer in Set(packed.keys.map { $0[..<16] }).subtracting(damaged) {
            let isEqual = recent == 0 && !unequal.contains(peer)
            do {
                try LinkTable.forEachLink(Array(peer), in: snapshot) { link in
                    guard isEqual else { return }
                    guard try LinkTable.link(Array(peer), idAtPeer: link.idAtPeer, of: link.peer, in: snapshot) == link
                    else {
                        throw snapshot.damaged(.peerIDLeadsElsewhere)
                    }
                }
            } catch {
                log.add(Finding.Kind(error, else: .linksDiffer), .links, "\(error)")
            }
        }
    }

    private func look(
        at value: RawSpan, _ key: [UInt8], _ kind: LinkKey.Kind, _ packed: inout Packed, _ hashKey: KeyedHash
    ) throws {
        switch kind {
        case .chunk: try look(atChunk: value, key, &packed, hashKey)
        case .hints: try look(atHints: value, key, &packed)
        default: packed.directory = try PeerCheck.record(value, key, as: LinkDirectory.self)
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
        // Directories come before chunks.
        guard let precision = packed.directory?.precision else { return }
        for link in links {
            let hint = LinkHint(idAtPeer: IdentityHash.ofPeerID(link.idAtPeer, hashKey), sample: link.hash)
            packed.sum &+= LinkCheck.term(of: hint.kept(precision))
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
        for hint in hints { packed.sum &-= LinkCheck.term(of: hint) }
    }

    /// Reports the differences of a level. Returns `true` if there are none.
    private func compare(_ packed: Packed) -> Bool {
        guard let directory = packed.directory, directory.links == packed.links, directory.chunks == packed.chunks,
            directory.hintBlocks == packed.hintBlocks
        else {
            log.add(.linksDiffer, .links, "the recorded number of packed links of a peer is wrong")
            return false
        }
        if packed.sum != 0 {
            log.add(.linksDiffer, .links, "packed links and the hints that lead to them are not the same")
        }
        return packed.sum == 0
    }

    private static func term(of link: PeerLink) -> UInt64 {
        let bytes = StoredSync(RecentLink(link), key: SyncKey([]), stamp: CommitStamp(commit: 0, session: 0))
            .recordBytes
        return Checksum.hash(bytes, 0..<bytes.count)
    }

    private static func term(of hint: (hash: UInt64, place: UInt64)) -> UInt64 {
        var writer = ByteWriter(reserving: 16)
        writer.append(hint.hash)
        writer.append(hint.place)
        return Checksum.hash(writer.bytes, 0..<16)
    }
}
