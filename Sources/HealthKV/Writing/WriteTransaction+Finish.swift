import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Writes the records of the commit as a whole: the change record, counts, stale marks and, last, the header.
    mutating func finish() throws {
        for type in state.reranked.sorted() { try rebuildShadows(of: type) }
        if state.hasChanges {
            var record = ChangeRecord(commit: commit, time: environment.now().nanoseconds, mark: state.mark)
            state.header.mark = state.mark
            record.spans = state.spans.sorted
            record.deletions = state.deletions
            record.removals = state.removals
            try put(.changes, ChangeRecord.key(commit), record.value())
        }
        try putDirectories()
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
            for range in state.stale.condensedRanges(of: type) { try markStale(type, range) }
        }
        if state.recountsRecords { state.header.recordSum = try snapshot.countRecordSum() }
        state.header.transaction = UInt64(lmdb.id)
        try put(.meta, StoreHeader.key, state.header.value)
    }

    /// Adds a range of hours to the stale hours of a type, joined with the ranges it touches.
    private mutating func markStale(_ type: UInt32, _ range: ClosedRange<Int64>) throws {
        var joined = range
        for other in try snapshot.storedStaleRanges(type, touching: range) {
            if other.contains(range.lowerBound), other.contains(range.upperBound) { return }
            try remove(.upkeep, StaleRange.key(type, other.lowerBound))
            joined = min(joined.lowerBound, other.lowerBound)...max(joined.upperBound, other.upperBound)
        }
        try put(.upkeep, StaleRange.key(type, joined.lowerBound), StaleRange.value(type, joined, commit: commit))
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

extension Snapshot {
    /// Returns the stale ranges of a type that overlap or adjoin a range of hours, sorted and disjoint. Includes the
    /// ranges of earlier commits and those of this transaction.
    func staleRanges(_ type: UInt32, touching range: ClosedRange<Int64>) throws -> [ClosedRange<Int64>] {
        let stored = try storedStaleRanges(type, touching: range)
        guard let own = context.state.stale.ranges(of: type) else { return stored }
        var joined: [ClosedRange<Int64>] = []
        for other in (stored + own).sorted(by: { $0.lowerBound < $1.lowerBound })
        where other.lowerBound <= range.upperBound &+ 1 && other.upperBound >= range.lowerBound &- 1 {
            if let last = joined.last, other.lowerBound <= last.upperBound &+ 1 {
                joined[joined.count - 1] = last.lowerBound...max(last.upperBound, other.upperBound)
            } else {
                joined.append(other)
            }
        }
        return joined
    }

    /// Returns the ranges of earlier commits.
    func storedStaleRanges(_ type: UInt32, touching range: ClosedRange<Int64>) throws -> [ClosedRange<Int64>] {
        var ranges: [ClosedRange<Int64>] = []
        var cursor = try view.cursor(tables[.upkeep])
        let prefix = StaleRange.key(type, range.lowerBound)
        var found = try cursor.seekAtOrBefore(prefix)
        if !found || !cursor.key.hasPrefix(prefix, count: 5) { found = try cursor.seek(prefix) }
        while found, cursor.key.hasPrefix(prefix, count: 5) {
            let other = try StaleRange.read(cursor.value, key: cursor.key.copied())
            if other.lowerBound > range.upperBound &+ 1 { break }
            if other.upperBound >= range.lowerBound &- 1 { ranges.append(other) }
            found = try cursor.next()
        }
        return ranges
    }
}
