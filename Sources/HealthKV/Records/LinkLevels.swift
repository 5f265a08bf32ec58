import ColumnFormat
import HealthModel

/// The levels of a peer's packed links, newest first.
struct PeerLevels {
    let peer: [UInt8]
    var levels: [LinkLevel] = []
    /// Whether the levels cannot be read.
    var areDamaged = false

    /// The name of the peer; `nil` if no links are packed.
    var name: PeerID? { levels.first?.directory.peer }
}

/// A packed link and the level in which it was found.
struct FoundLink {
    let link: PackedLink
    let level: UInt8
}

/// A level of a peer's packed links. Each packing adds a level with the links that were recent then, and levels are
/// joined before there are many. Among links with one peer id, the one of the newest level counts.
struct LinkLevel {
    let number: UInt8
    let directory: LinkDirectory
}

/// The directory of a level of a peer's links. Only the directory holds the peer's name.
struct LinkDirectory: SyncRecord, Equatable {
    let peer: PeerID
    var links: UInt64 = 0
    var chunks: UInt32 = 0
    var hintBlocks: UInt32 = 0
    /// The number of bits that the blocks keep of each hint.
    var precision = LinkHint.Precision(links: 0)

    static var table: TableCode { .links }

    init(peer: PeerID) { self.peer = peer }

    func encode(into record: inout RecordWriter) {
        record.append(peer.rawValue)
        record.append(links)
        record.append(chunks)
        record.append(hintBlocks)
        record.append(UInt8(precision.hashBits))
        record.append(UInt8(precision.placeBits))
    }

    init(from record: inout RecordReader) throws {
        peer = try PeerID(record.readText())
        links = try record.read(UInt64.self)
        chunks = try record.read(UInt32.self)
        hintBlocks = try record.read(UInt32.self)
        precision = LinkHint.Precision(
            hashBits: Int(try record.read(UInt8.self)), placeBits: Int(try record.read(UInt8.self)))
        guard precision.isValid else { throw FormatError(.invalid, "directory of links") }
    }
}

extension IdentityHash {
    private static let idAtPeer: UInt64 = 31

    /// Returns the 40 bits by which a packed link names its sample. They are those of the identity index, which points
    /// to the row.
    static func ofLinked(_ sample: SampleID, _ key: KeyedHash) -> UInt64 { IdentityEntry.hash(of(sample, key)) }

    /// Returns the 40 bits by which a hint identifies a peer id.
    static func ofPeerID(_ id: SampleID, _ key: KeyedHash) -> UInt64 {
        IdentityEntry.hash(key.hash(id.high, id.low, idAtPeer))
    }
}
