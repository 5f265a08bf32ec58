import ColumnFormat
import HealthModel
import LMDB

/// The records that each commit writes at its end.
enum CommitRecords {
    /// Writes the records of the commit as a whole: the change record, counts, stale marks and, last, the header.
    static func put(in txn: inout WriteTransaction) throws {
        for type in txn.state.reranked.sorted() { try ShadowMarks.rebuildShadows(of: type, in: &txn) }
        if txn.state.hasChanges {
            var record = ChangeRecord(commit: txn.commit, time: txn.environment.now().nanoseconds, mark: txn.state.mark)
            txn.state.header.mark = txn.state.mark
            record.spans = txn.state.spans.sorted
            record.deletions = txn.state.deletions
            record.removals = txn.state.removals
            try ChangeLog.put(record, in: &txn)
        }
        if let ended = txn.state.endedSession { try SessionTable.end(ended, in: &txn) }
        try QueueTable.putDirectories(in: &txn)
        try PriorityTable.writeChanged(in: &txn)
        try DefinitionTable.writeChanged(in: &txn)
        try HeaderCopy.putIfNeeded(in: &txn)
        for (type, counts) in txn.state.counts {
            try SummaryTable.put(counts, of: type, in: &txn)
        }
        for type in txn.state.stale.types {
            for range in txn.state.stale.condensedRanges(of: type) { try StaleTable.mark(type, range, in: &txn) }
        }
        if txn.state.recountsRecords { txn.state.header.recordSum = try RecordSum.count(in: txn.snapshot) }
        try txn.settleTarget()
        try txn.putHeader()
    }
}
