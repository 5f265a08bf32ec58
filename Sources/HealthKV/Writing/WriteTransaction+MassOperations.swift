import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Deletes all samples of a source and returns their number. Imported samples stay hidden, as with ``delete(id:)``.
    ///
    /// The deletion commits at once, however many samples there are: readers leave them out from then on, and bounded
    /// steps remove them. The change feed reports one removal for each source. An identity without a bundle means the
    /// source without a bundle; if the store has no such source, it means all sources of that name.
    @discardableResult
    public mutating func deleteSource(_ source: SourceIdentity) throws -> Int {
        try remove(source, leavingTombstones: true)
    }

    /// Removes all samples of a source without tombstones, as when its provider is disconnected: peers are not told and
    /// keep the samples, and a later pull may bring them back. An identity without a bundle has the same meaning as in
    /// ``deleteSource(_:)``.
    @discardableResult
    public mutating func purgeSource(_ source: SourceIdentity) throws -> Int {
        try remove(source, leavingTombstones: false)
    }

    private mutating func remove(_ source: SourceIdentity, leavingTombstones: Bool) throws -> Int {
        // A removal cannot be reverted, so a name matches several sources only if no source matches it exactly.
        let numbers =
            try NameTable.number(of: source, in: snapshot).map { [$0] }
            ?? NameTable.numbers(meantBy: source, in: snapshot).sorted()
        return try whole { transaction in
            // A purge leaves nothing of the source, so also remove the kept contents of samples that were deleted
            // individually.
            if !leavingTombstones { try ContentTable.forgetContents(of: Set(numbers), in: &transaction) }
            return try numbers.reduce(0) { sum, number in
                try sum + transaction.remove(.source(number), leavingTombstones: leavingTombstones)
            }
        }
    }

    /// Deletes the samples of a type that start in `from..<to` and returns their number. Imported samples stay hidden,
    /// as with ``delete(id:)``.
    @discardableResult
    public mutating func deleteRange(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture
    ) throws -> Int {
        guard from < to, let number = try NameTable.number(of: type, in: snapshot) else { return 0 }
        let scope = Intent.Scope.range(type: number, from: from.nanoseconds, to: to.nanoseconds)
        return try whole { try $0.remove(scope, leavingTombstones: true) }
    }

    private mutating func remove(_ scope: Intent.Scope, leavingTombstones: Bool) throws -> Int {
        let ordinal = state.takeOrdinal()
        var intent = Intent(
            scope: scope, commit: commit, ordinal: ordinal, clock: tick(), time: environment.now().nanoseconds,
            leavesTombstones: leavingTombstones)
        let total = try countAndHide(intent)
        guard total > 0 else { return 0 }
        if leavingTombstones { try queueDeletions(intent) }
        state.isChanged = true
        state.removals.append(ChangeRecord.Removal(ordinal: ordinal, scope: scope))
        state.intents.append(intent)
        if total <= environment.limits.removedAtOnce {
            _ = try advance(&intent, chunks: .max)
            state.intents.removeAll { $0.key == intent.key }
        } else {
            try purgeShadowing(intent)
            state.header.intents += 1
            try put(.upkeep, intent.key, intent.value(commit: commit))
        }
        return total
    }

    /// Queues a deletion for each removed sample that a peer's queue accepts, a part of a lane at a time. Rows that no
    /// queue accepts are not collected, and at most the rows of a few chunks are in memory.
    private mutating func queueDeletions(_ intent: Intent) throws {
        for lane in try IntentTable.lanes(of: intent, in: snapshot) {
            let type = try NameTable.type(lane.type, in: snapshot)
            let (takesOwn, takesImports) = (
                try PeerQueues.queuesTake(type, isImported: false, in: &self),
                try PeerQueues.queuesTake(type, isImported: true, in: &self)
            )
            guard takesOwn || takesImports else { continue }
            var next: Point? = intent.points.from
            while let from = next {
                next = nil
                var rows: [StoredRow] = []
                try ChunkTable.forEachChunk(lane, from: from, to: intent.points.to, in: snapshot) { chunk in
                    guard rows.count < ChunkEncoder.rowLimit else {
                        next = chunk.key.lower
                        return false
                    }
                    guard try ChunkTable.mayHold(chunk, intent, in: snapshot) else { return true }
                    for row in try ChunkTable.visibleRows(chunk, in: snapshot) {
                        let source = try NameTable.revision(row.revision, in: snapshot).sourceNumber
                        guard intent.hides(row, type: lane.type, source: source) else { continue }
                        if row.flags.contains(.imported) ? takesImports : takesOwn { rows.append(row) }
                    }
                    return true
                }
                for var row in rows {
                    row.version = row.versionOfDeletion
                    try PeerQueues.queue(row, lane.type, .delete, in: &self)
                }
            }
        }
    }

    /// Counts the samples that an operation removes, and subtracts them from the counts.
    private mutating func countAndHide(_ intent: Intent) throws -> Int {
        var total = 0
        for lane in try IntentTable.lanes(of: intent, in: snapshot) {
            var counts = try SummaryTable.counts(of: lane.type, in: snapshot)
            var hours: ClosedRange<Int64>?
            var purged: Set<UInt32> = []
            let range = intent.points
            try ChunkTable.forEachChunk(lane, from: range.from, to: range.to, in: snapshot) { chunk in
                guard try ChunkTable.mayHold(chunk, intent, in: snapshot) else { return true }
                let rows = try ChunkTable.visibleRows(chunk, in: snapshot)
                for row in rows {
                    let source = try NameTable.revision(row.revision, in: snapshot).sourceNumber
                    guard intent.hides(row, type: lane.type, source: source) else { continue }
                    counts.add(row, source: source, -1)
                    counts.hidden += 1
                    total += 1
                    if !intent.leavesTombstones { purged.insert(source) }
                    let end = row.end == .max ? row.start : row.end
                    hours = min(hours?.lowerBound ?? row.start, row.start)...max(hours?.upperBound ?? end, end)
                }
                return true
            }
            state.counts[lane.type] = counts
            if let hours { state.stale.mark(lane.type, hours.lowerBound, hours.upperBound) }
            for source in purged.sorted() { try PurgedSamples.note(lane.type, source, in: &self) }
        }
        return total
    }

    /// Purges lanes with shadowing immediately, because the samples that the removed ones shadowed must become visible
    /// immediately.
    private mutating func purgeShadowing(_ intent: Intent) throws {
        for lane in try IntentTable.lanes(of: intent, in: snapshot) where try ShadowMarks.shadows(lane.type, in: self) {
            for key in try ChunkTable.chunkKeys(lane, of: intent, in: snapshot) {
                try LaneWriter.purgeChunk(lane, key.lower, in: &self)
            }
        }
    }

    /// Continues an operation over some chunks. Returns `true` when it is finished.
    mutating func advance(_ intent: inout Intent, chunks: Int) throws -> Bool {
        var left = chunks
        for lane in try IntentTable.lanes(of: intent, in: snapshot) where lane >= intent.position.lane {
            let from = lane == intent.position.lane ? intent.position.lower : intent.points.from
            let keys = try ChunkTable.chunkKeys(
                lane, from: from, to: intent.points.to, limit: left == .max ? left : left + 1, of: intent, in: snapshot)
            for key in keys {
                if left == 0 {
                    intent.position = key
                    return false
                }
                left -= 1
                try LaneWriter.purgeChunk(lane, max(key.lower, from), in: &self)
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
