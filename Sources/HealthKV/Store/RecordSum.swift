import ColumnFormat
import LMDB

/// A sum over the short records of a store, kept in the header: of each record's table, key and commit.
///
/// LMDB's pages carry no version, so a leaf that never reached the disk, or was put back, may be whole and right in itself
/// and yet hold records of an older commit. Chunks show that by their details, which stand on another page. For all
/// others this sum does: the header is rewritten by every commit and names LMDB's transaction.
enum RecordSum {
    /// Chunks and details vouch for each other; blocks of the identity index are only written anew under other keys. The
    /// header itself holds the sum.
    static func covers(_ table: TableCode, _ key: [UInt8]) -> Bool {
        switch table {
        case .chunks, .details, .meta: false
        case .identity: key.first != IdentityPartition.blockTag
        default: true
        }
    }

    /// What a record adds to the sum.
    static func term(_ table: TableCode, _ key: [UInt8], commit: UInt64) -> UInt64 {
        var bytes = [table.rawValue]
        bytes.reserveCapacity(key.count + 9)
        bytes += key
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: commit >> UInt64(shift))) }
        return Checksum.hash(bytes, 0..<bytes.count)
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
        for table in TableCode.allCases where table != .chunks && table != .details && table != .meta {
            var cursor = try view.cursor(tables[table])
            while try cursor.next() {
                let key = cursor.key.copied()
                if RecordSum.covers(table, key) { sum &+= RecordSum.term(table, key, head: cursor.value) }
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
