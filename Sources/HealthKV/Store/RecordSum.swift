import ColumnFormat
import LMDB

/// A sum over the short records of a store, kept in the header: of each record's table, key and commit.
///
/// LMDB's pages carry no version, so a leaf that never reached the disk, or was put back, may be whole and right in
/// itself and yet hold records of an older commit. This sum shows it: the header is rewritten by every commit and names
/// LMDB's transaction. Chunks have their commit in their key, so the sum tells whether the keys are right, and each key
/// whether its chunk is; details tell by their chunk.
enum RecordSum {
    /// Chunks and details vouch for each other; blocks of the identity index are only written anew under other keys. The
    /// header itself holds the sum.
    static func covers(_ table: TableCode, _ key: [UInt8]) -> Bool {
        switch table {
        case .details, .meta: false
        // A chunk of an older store has no commit in its key.
        case .chunks: ChunkKey.commit(key.rawBytes) != nil
        case .identity: key.first != IdentityPartition.blockTag
        default: true
        }
    }

    /// What a record adds to the sum.
    static func term(_ table: TableCode, _ key: [UInt8], commit: UInt64) -> UInt64 {
        var writer = ByteWriter(reserving: key.count + 9)
        writer.append(table.rawValue)
        writer.bytes.append(contentsOf: key)
        writer.append(commit)
        return Checksum.hash(writer.bytes, 0..<writer.bytes.count)
    }

    /// The commit that a key tells: then the value, which may be on another page, need not be touched.
    static func commit(_ key: [UInt8], _ table: TableCode) -> UInt64? {
        table == .chunks ? ChunkKey.commit(key.rawBytes) : nil
    }

    /// The same from a value as it stands, its head at least.
    static func term(_ table: TableCode, _ key: [UInt8], head: RawSpan) -> UInt64 {
        term(table, key, commit: StoredValue.commit(head: head))
    }
}

extension Snapshot {
    /// The sum, counted anew.
    func countRecordSum() throws -> UInt64 {
        var sum: UInt64 = 0
        for table in TableCode.allCases where table != .details && table != .meta {
            var cursor = try view.cursor(tables[table])
            while try cursor.next() {
                let key = cursor.key.copied()
                guard RecordSum.covers(table, key) else { continue }
                sum &+= RecordSum.term(
                    table, key, commit: RecordSum.commit(key, table) ?? StoredValue.commit(head: cursor.value))
            }
        }
        return sum
    }
}

extension WriteTransaction {
    /// Puts or removes a record that the sum covers: takes the old one out of it and the new one in.
    mutating func account(_ table: TableCode, _ key: [UInt8], _ value: [UInt8]?) throws(LMDBError) {
        guard let sum = state.header.recordSum, RecordSum.covers(table, key) else { return }
        var changed = sum
        if let old = try lmdb.view.get(context.tables[table], key) {
            changed &-= RecordSum.term(table, key, head: old)
        }
        if let value { changed &+= RecordSum.term(table, key, head: value.rawBytes) }
        state.header.recordSum = changed
    }

    /// Empties a derived table that is built anew. The sum is counted anew too, at the end.
    mutating func clear(_ table: TableCode) throws(LMDBError) {
        state.isChanged = true
        state.header.recordSum = nil
        state.recountsRecords = true
        try lmdb.clear(context.tables[table])
    }
}
