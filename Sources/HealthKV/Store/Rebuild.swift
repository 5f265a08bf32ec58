import ColumnFormat
import HealthModel
import LMDB

/// Rebuilds the derived tables from the primary ones.
enum Rebuild {
    static func all(in txn: inout WriteTransaction) throws {
        for type in try ChunkTable.typesWithChunks(in: txn.snapshot) {
            try ShadowMarks.rebuildShadows(of: type, in: &txn)
        }
        try SummaryTable.rebuildCounts(in: &txn)
        try IdentityIndex.rebuild(in: &txn)
        try QueueTable.rebuild(in: &txn)
        try LinkPacking.rebuild(in: &txn)
    }
}
