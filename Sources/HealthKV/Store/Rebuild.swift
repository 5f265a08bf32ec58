import ColumnFormat
import HealthModel
import LMDB

/// Rebuilds the derived tables from the primary ones.
enum Rebuild {
    /// Rebuilds the tables in one transaction, and the summaries in short ones after it.
    ///
    /// - Parameter step: called between the parts of the work; an error that it throws ends it.
    static func all(in core: StoreCore, _ step: @escaping @Sendable () throws -> Void) throws {
        _ = try core.onWriter { try core.transact { try all(in: &$0, step) } }
        core.hasDamagedLinks.store(false, ordering: .relaxed)
        try Upkeep.refreshAllSummaries(in: core, step)
    }

    private static func all(in txn: inout WriteTransaction, _ step: () throws -> Void) throws {
        for type in try ChunkTable.typesWithChunks(in: txn.snapshot) {
            try ShadowMarks.rebuildShadows(of: type, in: &txn, step)
        }
        try SummaryTable.rebuildCounts(in: &txn, step)
        try IdentityIndex.rebuild(in: &txn, step)
        try step()
        try QueueTable.rebuild(in: &txn)
        try step()
        try LinkPacking.rebuild(in: &txn)
    }
}
