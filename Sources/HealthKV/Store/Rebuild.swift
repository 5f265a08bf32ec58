import ColumnFormat
import HealthModel
import LMDB

/// Rebuilds the derived tables from the primary ones.
enum Rebuild {
    /// Rebuilds the tables in one transaction, and the summaries in short ones after it.
    static func all(in core: StoreCore) throws {
        _ = try core.onWriter { try core.transact { try all(in: &$0) } }
        core.hasDamagedLinks.store(false, ordering: .relaxed)
        try Upkeep.refreshAllSummaries(in: core)
    }

    private static func all(in txn: inout WriteTransaction) throws {
        for type in try ChunkTable.typesWithChunks(in: txn.snapshot) {
            try ShadowMarks.rebuildShadows(of: type, in: &txn)
        }
        try SummaryTable.rebuildCounts(in: &txn)
        try IdentityIndex.rebuild(in: &txn)
        try QueueTable.rebuild(in: &txn)
        try LinkPacking.rebuild(in: &txn)
    }
}
