import ColumnFormat
import LMDB

/// A sum over the short records of a store, kept in the header. Each record contributes its table, key and commit.
///
/// LMDB's pages carry no version. A leaf that never reached the disk, or was put back, may be complete and consistent
/// in itself and yet hold records of an older commit. This sum detects it: every commit rewrites the header, which
/// names LMDB's transaction. Chunks carry their commit in their key, so the sum verifies the keys, and each key
/// verifies its chunk; details are verified by their chunk.
enum RecordSum {
    /// Returns `true` if the sum covers the record. It leaves out details, which their chunks verify, and blocks of the
    /// identity index, which are only ever rewritten under other keys. It leaves out `meta`, since the header itself
    /// holds the sum.
    static func covers(_ table: TableCode, _ key: [UInt8]) -> Bool {
        switch table {
        case .details, .meta: false
        case .identity: key.first != IdentityPartition.blockTag
        default: true
        }
    }

    /// Returns what a record adds to the sum.
    static func term(_ table: TableCode, _ key: [UInt8], commit: UInt64) -> UInt64 {
        var writer = ByteWriter(reserving: key.count + 9)
        writer.append(table.rawValue)
        writer.bytes.append(contentsOf: key)
        writer.append(commit)
        return Checksum.hash(writer.bytes, 0..<writer.bytes.count)
    }

    /// Returns the commit that the key contains. Then the value, which may be on another page, need not be touched.
    static func commit(_ key: [UInt8], _ table: TableCode) -> UInt64? {
        table == .chunks ? ChunkKey.commit(key.rawBytes) : nil
    }

    /// Returns what a stored value adds to the sum. `head` needs to hold the value's header only.
    static func term(_ table: TableCode, _ key: [UInt8], head: RawSpan) -> UInt64 {
        term(table, key, commit: StoredValue.commit(head: head))
    }
}
