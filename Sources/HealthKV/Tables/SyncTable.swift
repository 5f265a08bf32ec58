import ColumnFormat
import HealthModel
import LMDB

/// Records of sync, which are all stored in the same form.
enum SyncTable {
    static func record<Record: SyncRecord>(_ key: [UInt8], as type: Record.Type, in snapshot: Snapshot) throws
        -> Record?
    {
        let key = SyncKey(key)
        guard let stored = try StoredSync<Record>.table(snapshot.tables).get(key, in: snapshot.view) else { return nil }
        guard stored.key == key else { throw snapshot.damaged(.syncRecordMisplaced) }
        return stored.record
    }

    /// Returns all records of a table whose keys begin with `prefix`, in order.
    static func records<Record: SyncRecord>(
        prefix: [UInt8] = [], from: [UInt8]? = nil, limit: Int = .max, as type: Record.Type, in snapshot: Snapshot
    ) throws -> [Record] {
        var records: [Record] = []
        let start = from ?? prefix
        var cursor = try snapshot.view.cursor(snapshot.tables[Record.table])
        var found = start.isEmpty ? try cursor.first() : try cursor.seek(start)
        // Later records of the table may be of another kind.
        while found, records.count < limit, cursor.key.hasPrefix(prefix, count: prefix.count) {
            let stored = try StoredSync<Record>(recordBytes: cursor.value)
            guard stored.key == SyncKey(keyBytes: cursor.key) else {
                throw snapshot.damaged(.syncRecordMisplaced)
            }
            records.append(stored.record)
            found = try cursor.next()
        }
        return records
    }

    static func put<Record: SyncRecord>(_ record: Record, _ bytes: [UInt8], in txn: inout WriteTransaction) throws {
        let key = SyncKey(bytes)
        txn.state.isChanged = true
        let stored = StoredSync(record, key: key, commit: txn.commit)
        let content = stored.recordBytes
        txn.state.writes += 1
        txn.state.bytes += content.count
        try txn.account(Record.table, bytes, content)
        try StoredSync<Record>.table(txn.context.tables).put(stored, under: key, in: &txn.lmdb)
    }

    static func forget<Record: SyncRecord>(_ bytes: [UInt8], as type: Record.Type, in txn: inout WriteTransaction)
        throws
    {
        txn.state.writes += 1
        try txn.account(Record.table, bytes, nil)
        if try StoredSync<Record>.table(txn.context.tables).delete(SyncKey(bytes), in: &txn.lmdb) {
            txn.state.isChanged = true
        }
    }

    static func forEachRecord<Record: SyncRecord>(
        of type: Record.Type, in snapshot: Snapshot, _ body: (Record) throws -> Void
    ) throws {
        try StoredSync<Record>.table(snapshot.tables).forEach(in: snapshot.view) { key, stored in
            guard stored.key == key else { throw snapshot.damaged(.syncRecordMisplaced) }
            try body(stored.record)
            return true
        }
    }
}
