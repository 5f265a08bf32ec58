import ColumnFormat
import LMDB

extension Snapshot {
    /// Recomputes the sum from the records.
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
    /// Updates the sum for a record that is put or removed: subtracts the old record and adds the new one.
    mutating func account(_ table: TableCode, _ key: [UInt8], _ value: [UInt8]?) throws(LMDBError) {
        guard let sum = state.header.recordSum, RecordSum.covers(table, key) else { return }
        var changed = sum
        if let old = try lmdb.view.get(context.tables[table], key) {
            changed &-= RecordSum.term(table, key, head: old)
        }
        if let value { changed &+= RecordSum.term(table, key, head: value.rawBytes) }
        state.header.recordSum = changed
    }

    /// Empties a derived table that is rebuilt. The sum is recomputed at the end, too.
    mutating func clear(_ table: TableCode) throws(LMDBError) {
        state.isChanged = true
        state.header.recordSum = nil
        state.recountsRecords = true
        try lmdb.clear(context.tables[table])
    }
}
