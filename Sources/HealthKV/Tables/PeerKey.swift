import ColumnFormat
import HealthModel

/// Keys of the tables of sync. A peer's name is hashed to sixteen bytes, so that all keys have one length whatever the
/// name; the name itself is in the record.
enum PeerKey {
    static func peer(_ peer: PeerID, _ hashKey: KeyedHash) -> [UInt8] { text(peer.rawValue, hashKey) }

    /// The sixteen bytes that stand for a text in a key.
    static func text(_ text: String, _ hashKey: KeyedHash) -> [UInt8] {
        let words = IdentityHash.words(of: Array(text.utf8), hashKey)
        var writer = ByteWriter(reserving: 16)
        writer.appendBigEndian(words.0)
        writer.appendBigEndian(words.1)
        return writer.bytes
    }

    static func anchor(_ peer: PeerID, _ type: UInt32, _ scope: String, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 36)
        writer.bytes = PeerKey.peer(peer, hashKey)
        writer.appendBigEndian(type)
        writer.bytes += PeerKey.text(scope, hashKey)
        return writer.bytes
    }

    /// The key of a queue's directory sorts before its operations; the keys of the places of samples sort after them.
    static func directory(_ peer: PeerID, _ hashKey: KeyedHash) -> [UInt8] { section(peer, 0, hashKey) }

    static func section(_ peer: PeerID, _ number: UInt32, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 36)
        writer.bytes = PeerKey.peer(peer, hashKey)
        writer.appendBigEndian(number)
        return writer.bytes
    }

    static func pending(_ peer: PeerID, _ number: UInt32, _ sequence: UInt64, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 28)
        writer.bytes = section(peer, number, hashKey)
        writer.appendBigEndian(sequence)
        return writer.bytes
    }

    static func place(_ peer: PeerID, _ id: SampleID, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 36)
        writer.bytes = section(peer, .max, hashKey)
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
        return writer.bytes
    }

    static func isDirectory(_ key: [UInt8]) -> Bool { key.count == 20 }

    static func isOperation(_ key: [UInt8]) -> Bool { key.count == 28 }

    /// Returns a key after all keys of the peer to which the given key belongs.
    static func behind(peerOf key: [UInt8]) -> [UInt8] { key.prefix(16) + [UInt8](repeating: .max, count: 24) }

    static func audit(_ commit: UInt64, _ ordinal: UInt32) -> [UInt8] {
        var writer = ByteWriter(reserving: 12)
        writer.appendBigEndian(commit)
        writer.appendBigEndian(ordinal)
        return writer.bytes
    }
}
