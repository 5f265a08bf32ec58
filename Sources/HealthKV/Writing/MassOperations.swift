import ColumnFormat
import HealthModel
import LMDB

/// Deletions of a source or a range: the intent is committed at once, and steps remove the rows.
enum MassOperations {
    /// Continues the oldest mass operation. Removes it when it is finished.
    static func advanceFirst(chunks: Int, in txn: inout WriteTransaction) throws {
        guard var intent = txn.state.intents.first else {
            txn.state.header.intents = 0
            txn.state.isChanged = true
            return
        }
        if try advance(&intent, chunks: chunks, in: &txn) {
            try IntentTable.remove(intent, in: &txn)
            txn.state.intents.removeFirst()
            txn.state.header.intents -= min(1, txn.state.header.intents)
        } else {
            try IntentTable.put(intent, in: &txn)
            txn.state.intents[0] = intent
        }
    }

    /// Removes a source or a range, and returns the number of removed samples; `nil` for a selection that names its
    /// samples one by one.
    static func remove(
        _ selection: SampleSelection, leavingTombstones: Bool, in txn: inout WriteTransaction
    ) throws -> Int? {
        switch selection {
        case .source(let source): return try remove(source, leavingTombstones: leavingTombstones, in: &txn)
        case .range(let type, let from, let to):
            guard from < to, let number = try NameTable.askedNumber(of: type, in: txn.snapshot) else { return 0 }
            let scope = Intent.Scope.range(type: number, from: from.nanoseconds, to: to.nanoseconds)
            return try txn.whole { try remove(scope, leavingTombstones: leavingTombstones, in: &$0) }
        case .id, .ids, .syncIdentifier, .group, .metadata: return nil
        }
    }

    private static func remove(_ source: SourceIdentity, leavingTombstones: Bool, in txn: inout WriteTransaction) throws
        -> Int
    {
        // A removal cannot be reverted, so a name matches several sources only if no source matches it exactly.
        let numbers =
            try NameTable.number(of: source, in: txn.snapshot).map { [$0] }
            ?? NameTable.numbers(meantBy: source, in: txn.snapshot).sorted()
        return try txn.whole { transaction in
            // A purge leaves nothing of the source, so also remove the kept contents of samples that were deleted
            // individually.
            if !leavingTombstones { try ContentTable.forgetContents(of: Set(numbers), in: &transaction) }
            return try numbers.reduce(0) { sum, number in
                try sum + remove(.source(number), leavingTombstones: leavingTombstones, in: &transaction)
            }
        }
    }

    private static func remove(
        _ scope: Intent.Scope, leavingTombstones: Bool, in txn: inout WriteTransaction
    ) throws -> Int {
        let ordinal = txn.state.takeOrdinal()
        var intent = Intent(
            scope: scope, commit: txn.commit, ordinal: ordinal, clock: txn.tick(),
            time: txn.environment.now().nanoseconds,
            leavesTombstones: leavingTombstones)
        let total = try countAndHide(intent, in: &txn)
        guard total > 0 else { return 0 }
        if leavingTombstones { try queueDeletions(intent, in: &txn) }
        txn.state.isChanged = true
        txn.state.removals.append(ChangeRecord.Removal(ordinal: ordinal, scope: scope))
        txn.state.intents.append(intent)
        if total <= txn.environment.limits.removedAtOnce {
            _ = try advance(&intent, chunks: .max, in: &txn)
            txn.state.intents.removeAll { ($0.commit, $0.ordinal) == (intent.commit, intent.ordinal) }
        } else {
            try purgeShadowing(intent, in: &txn)
            txn.state.header.intents += 1
            try IntentTable.put(intent, in: &txn)
        }
        return total
    }

    /// Queues a deletion for each removed sample that a peer's queue accepts, a part of a lane at a time. Rows that no
    /// queue accepts are not collected, and at most the rows of a few chunks are in memory.
    private static func queueDeletions(_ intent: Intent, in txn: inout WriteTransaction) throws {
        for lane in try IntentTable.lanes(of: intent, in: txn.snapshot) {
            let type = try NameTable.type(lane.type, in: txn.snapshot)
            let (takesOwn, takesImports) = (
                try PeerQueues.queuesTake(type, isImported: false, in: &txn),
                try PeerQueues.queuesTake(type, isImported: true, in: &txn)
            )
            guard takesOwn || takesImports else { continue }
            var next: Point? = intent.points.from
            while let from = next {
                next = nil
                var rows: [StoredRow] = []
                try ChunkTable.forEachChunk(lane, from: from, to: intent.points.to, in: txn.snapshot) { chunk in
                    guard rows.count < ChunkEncoder.rowLimit else {
                        next = chunk.key.lower
                        return false
                    }
                    guard try ChunkTable.mayHold(chunk, intent, in: txn.snapshot) else { return true }
                    for row in try ChunkTable.visibleRows(chunk, in: txn.snapshot) {
                        let source = try NameTable.revision(row.revision, in: txn.snapshot).sourceNumber
                        guard intent.hides(row, type: lane.type, source: source) else { continue }
                        if row.flags.contains(.imported) ? takesImports : takesOwn { rows.append(row) }
                    }
                    return true
                }
                for var row in rows {
                    row.version = row.versionOfDeletion
                    try PeerQueues.queue(row, lane.type, .delete, in: &txn)
                }
            }
        }
    }

    /// Counts the samples that an operation removes, and subtracts them from the counts.
    private static func countAndHide(_ intent: Intent, in txn: inout WriteTransaction) throws -> Int {
        var total = 0
        for lane in try IntentTable.lanes(of: intent, in: txn.snapshot) {
            var counts = try SummaryTable.counts(of: lane.type, in: txn.snapshot)
            var hours: ClosedRange<Int64>?
            var purged: [UInt32: Int64] = [:]
            let range = intent.points
            try ChunkTable.forEachChunk(lane, from: range.from, to: range.to, in: txn.snapshot) { chunk in
                guard try ChunkTable.mayHold(chunk, intent, in: txn.snapshot) else { return true }
                let rows = try ChunkTable.visibleRows(chunk, in: txn.snapshot)
                for row in rows {
                    let source = try NameTable.revision(row.revision, in: txn.snapshot).sourceNumber
                    guard intent.hides(row, type: lane.type, source: source) else { continue }
                    counts.add(row, source: source, -1)
                    counts.hidden += 1
                    total += 1
                    if !intent.leavesTombstones { purged[source] = max(purged[source] ?? row.start, row.start) }
                    let end = row.end == .max ? row.start : row.end
                    hours = min(hours?.lowerBound ?? row.start, row.start)...max(hours?.upperBound ?? end, end)
                }
                return true
            }
            txn.state.counts[lane.type] = counts
            if let hours { txn.state.stale.mark(lane.type, hours.lowerBound, hours.upperBound) }
            for (source, latest) in purged.sorted(by: { $0.key < $1.key }) {
                try PurgedSamples.note(lane.type, source, latest: latest, in: &txn)
            }
        }
        return total
    }

    /// Purges lanes with shadowing immediately, because the samples that the removed ones shadowed must become visible
    /// immediately.
    private static func purgeShadowing(_ intent: Intent, in txn: inout WriteTransaction) throws {
        for lane in try IntentTable.lanes(of: intent, in: txn.snapshot)
        where try ShadowMarks.shadows(lane.type, in: txn) {
            for key in try ChunkTable.chunkKeys(lane, of: intent, in: txn.snapshot) {
                try LaneWriter.purgeChunk(lane, key.lower, in: &txn)
            }
        }
    }

    /// Continues an operation over some chunks. Returns `true` when it is finished.
    static func advance(_ intent: inout Intent, chunks: Int, in txn: inout WriteTransaction) throws -> Bool {
        var left = chunks
        for lane in try IntentTable.lanes(of: intent, in: txn.snapshot) where lane >= intent.position.lane {
            let from = lane == intent.position.lane ? intent.position.lower : intent.points.from
            let keys = try ChunkTable.chunkKeys(
                lane, from: from, to: intent.points.to, limit: left == .max ? left : left + 1, of: intent,
                in: txn.snapshot)
            for key in keys {
                if left == 0 {
                    intent.position = key
                    return false
                }
                left -= 1
                try LaneWriter.purgeChunk(lane, max(key.lower, from), in: &txn)
            }
        }
        return true
    }
}

extension Intent {
    /// The range of points in which the operation removes samples.
    var points: (from: Point, to: Point) {
        guard case .range(_, let from, let to) = scope else { return (.least, .greatest) }
        return (.at(from), to == .max ? .greatest : .at(to))
    }
}
