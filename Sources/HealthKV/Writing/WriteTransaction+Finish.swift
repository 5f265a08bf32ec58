import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Writes the records of the commit as a whole: the change record, counts, stale marks and, last, the header.
    mutating func finish() throws {
        for type in state.reranked.sorted() { try ShadowMarks.rebuildShadows(of: type, in: &self) }
        if state.hasChanges {
            var record = ChangeRecord(commit: commit, time: environment.now().nanoseconds, mark: state.mark)
            state.header.mark = state.mark
            record.spans = state.spans.sorted
            record.deletions = state.deletions
            record.removals = state.removals
            try put(.changes, ChangeRecord.key(commit), record.value())
        }
        try QueueTable.putDirectories(in: &self)
        if let priorities = state.priorities {
            try put(.meta, PriorityRecord.key, priorities.value(commit: commit))
        }
        for (type, counts) in state.counts {
            if counts == TypeCounts() {
                try remove(.summaries, TypeCounts.key(type))
            } else {
                try put(.summaries, TypeCounts.key(type), counts.value(type, commit: commit))
            }
        }
        for type in state.stale.types {
            for range in state.stale.condensedRanges(of: type) { try StaleTable.mark(type, range, in: &self) }
        }
        if state.recountsRecords { state.header.recordSum = try RecordSum.count(in: snapshot) }
        state.header.transaction = UInt64(lmdb.id)
        try put(.meta, StoreHeader.key, state.header.value)
    }

    /// Runs `body` in a nested transaction, so that its changes are undone if it throws.
    mutating func nested<Result>(_ body: (inout WriteTransaction) throws -> Result) throws -> Result {
        let before = state
        let (context, environment) = (context, environment)
        do {
            return try lmdb.nested { inner in
                var transaction = WriteTransaction(inner, context: context, environment: environment)
                do {
                    let result = try body(&transaction)
                    try transaction.checkWhole()
                    inner = transaction.release()
                    return result
                } catch {
                    inner = transaction.release()
                    throw error
                }
            }
        } catch {
            // The filters also learned of index entries that are undone now.
            if state.addedRuns { environment.filters.forget() }
            state = before
            throw error
        }
    }

    consuming func release() -> LMDB.WriteTransaction { lmdb }

    consuming func commitToDisk() throws(LMDBError) { try lmdb.commit() }
}
