import ColumnFormat
import LMDB

extension RecordSum {
    /// Recomputes the sum from the records.
    static func count(in snapshot: Snapshot) throws -> UInt64 {
        var sum: UInt64 = 0
        for table in TableCode.allCases where table != .details && table != .meta {
            var cursor = try snapshot.view.cursor(snapshot.tables[table])
            while try cursor.next() {
                let key = cursor.key.copied()
                guard RecordSum.covers(table, key) else { continue }
                sum &+= RecordSum.term(
                    table, key, commit: RecordSum.commit(key, table) ?? StoredValue.commit(head: cursor.stored))
            }
        }
        return sum
    }
}
