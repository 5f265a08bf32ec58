import ColumnFormat
import HealthModel

/// Keys of the table of links. The sixteen bytes of the peer are followed by the kind of the record; keys of packed
/// data continue with the level.
enum LinkKey {
    /// The numbers are embedded on disk.
    enum Kind: UInt8 {
        /// A recent link under the sample's id.
        case bySample = 0
        /// A recent link under the peer's id, or the mark that a packed link of that id is no longer valid.
        case byPeerID = 1
        /// The directory of a level of a peer's packed links.
        case directory = 2
        /// A chunk of packed links, under the hash of its first sample.
        case chunk = 3
        /// A block of hints, under the hash of its first peer id.
        case hints = 4
    }

    static let prefix = 17
    static let levelPrefix = 18
    private static let recentBytes = 33
    private static let blockBytes = 23

    static func all(_ peer: [UInt8], _ kind: Kind) -> [UInt8] { peer + [kind.rawValue] }

    /// Returns the key of a level's directory, or the common prefix of the keys of its chunks or blocks.
    static func all(_ peer: [UInt8], _ kind: Kind, _ level: UInt8) -> [UInt8] { peer + [kind.rawValue, level] }

    static func recent(_ peer: [UInt8], _ kind: Kind, _ id: SampleID) -> [UInt8] {
        var writer = ByteWriter(reserving: recentBytes)
        writer.bytes = all(peer, kind)
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
        return writer.bytes
    }

    /// - Parameter hash: 40 bits.
    static func block(_ peer: [UInt8], _ kind: Kind, _ level: UInt8, _ hash: UInt64) -> [UInt8] {
        var writer = ByteWriter(reserving: blockBytes)
        writer.bytes = all(peer, kind, level)
        writer.append(UInt8(truncatingIfNeeded: hash >> 32))
        writer.appendBigEndian(UInt32(truncatingIfNeeded: hash))
        return writer.bytes
    }

    /// Returns the level in a key of packed data.
    static func level(_ key: [UInt8]) -> UInt8 { key[prefix] }

    /// Returns the kind of a record; `nil` if the key is not one of a link.
    static func kind(_ key: [UInt8]) -> Kind? {
        guard key.count >= prefix, let kind = Kind(rawValue: key[16]) else { return nil }
        let count =
            switch kind {
            case .bySample, .byPeerID: recentBytes
            case .directory: levelPrefix
            case .chunk, .hints: blockBytes
            }
        return key.count == count ? kind : nil
    }

    /// Returns the hash in the key of a chunk or of a block of hints.
    static func hash(_ key: [UInt8]) -> UInt64 { key.dropFirst(levelPrefix).reduce(0) { $0 << 8 | UInt64($1) } }
}

/// A link that is not packed yet, or the mark that a packed link is no longer valid.
///
/// Every change to a packed link leaves a record under the peer id of that link. So a packed link is valid exactly
/// while there is no such record.
struct RecentLink: SyncRecord, Equatable {
    let link: PeerLink
    var isGone = false

    static var table: TableCode { .links }

    init(_ link: PeerLink, isGone: Bool = false) { (self.link, self.isGone) = (link, isGone) }

    func encode(into record: inout RecordWriter) {
        record.append(link.peer.rawValue)
        record.append(link.sample)
        record.append(link.idAtPeer)
        record.append(link.version)
        record.append(isGone ? 2 : link.isProvisional ? 1 : 0 as UInt8)
    }

    init(from record: inout RecordReader) throws {
        let peer = try PeerID(record.readText())
        let (sample, idAtPeer) = (try record.readID(), try record.readID())
        let version = try record.read(Int64.self)
        let flag = try record.read(UInt8.self)
        guard flag <= 2 else { throw FormatError(.unknown, "flag of a link") }
        link = PeerLink(peer: peer, sample: sample, idAtPeer: idAtPeer, version: version, isProvisional: flag == 1)
        isGone = flag == 2
    }

    func belongs(under key: [UInt8]) -> Bool {
        switch LinkKey.kind(key) {
        case .bySample: key.ends(with: link.sample)
        case .byPeerID: key.ends(with: link.idAtPeer)
        default: false
        }
    }
}
