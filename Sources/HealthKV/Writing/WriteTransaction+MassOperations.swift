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
        let numbers = try snapshot.number(of: source).map { [$0] } ?? snapshot.numbers(meantBy: source).sorted()
        return try whole { transaction in
            // A purge leaves nothing of the source, so also remove the kept contents of samples that were deleted
            // individually.
            if !leavingTombstones { try transaction.forgetContents(of: Set(numbers)) }
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
        guard from < to, let number = try snapshot.number(of: type) else { return 0 }
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
        for lane in try snapshot.lanes(of: intent) {
            let type = try snapshot.type(lane.type)
            let (takesOwn, takesImports) = (
                try queuesTake(type, isImported: false), try queuesTake(type, isImported: true)
            )
            guard takesOwn || takesImports else { continue }
            var next: Point? = intent.points.from
            while let from = next {
                next = nil
                var rows: [StoredRow] = []
                try snapshot.forEachChunk(lane, from: from, to: intent.points.to) { chunk in
                    guard rows.count < ChunkEncoder.rowLimit else {
                        next = chunk.key.lower
                        return false
                    }
                    guard try snapshot.mayHold(chunk, intent) else { return true }
                    for row in try snapshot.visibleRows(chunk) {
                        let source = try snapshot.revision(row.revision).sourceNumber
                        guard intent.hides(row, type: lane.type, source: source) else { continue }
                        if row.flags.contains(.imported) ? takesImports : takesOwn { rows.append(row) }
                    }
                    return true
                }
                for var row in rows {
                    row.version = row.versionOfDeletion
                    try queue(row, lane.type, .delete)
                }
            }
        }
    }

    /// Counts the samples that an operation removes, and subtracts them from the counts.
    private mutating func countAndHide(_ intent: Intent) throws -> Int {
        var total = 0
        for lane in try snapshot.lanes(of: intent) {
            var counts = try snapshot.counts(of: lane.type)
            var hours: ClosedRange<Int64>?
            var purged: Set<UInt32> = []
            let range = intent.points
            try snapshot.forEachChunk(lane, from: range.from, to: range.to) { chunk in
                guard try snapshot.mayHold(chunk, intent) else { return true }
                let rows = try snapshot.visibleRows(chunk)
                for row in rows {
                    let source = try snapshot.revision(row.revision).sourceNumber
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
            for source in purged.sorted() { try notePurged(lane.type, source) }
        }
        return total
    }

    /// Purges lanes with shadowing immediately, because the samples that the removed ones shadowed must become visible
    /// immediately.
    private mutating func purgeShadowing(_ intent: Intent) throws {
        for lane in try snapshot.lanes(of: intent) where try shadows(lane.type) {
            for key in try snapshot.chunkKeys(lane, of: intent) { try purgeChunk(lane, key.lower) }
        }
    }

    /// Removes from the chunk that owns a point the rows that unfinished mass operations hide.
    mutating func purgeChunk(_ lane: Lane, _ point: Point) throws {
        let chunk = try snapshot.load(lane, point)
        guard !chunk.purged.isEmpty else { return }
        try settlePurged(lane, chunk.purged)
        try write(chunk.bounds, chunk.rows, exists: chunk.exists)
        if try shadows(lane.type) { try refreshShadows(lane, chunk.purged.map { ($0.start, $0.end) }) }
    }

    /// Writes the tombstones, counts and index changes of rows that leave their chunk because of a mass operation.
    mutating func settlePurged(_ lane: Lane, _ rows: [StoredRow]) throws {
        if state.counts[lane.type] == nil { state.counts[lane.type] = try snapshot.counts(of: lane.type) }
        state.counts[lane.type]!.hidden -= Int64(rows.count)
        var entries: [IdentityEntry] = []
        for row in rows {
            let source = try snapshot.revision(row.revision).sourceNumber
            let intent = state.intents.first { $0.hides(row, type: lane.type, source: source) }
            if let intent, intent.leavesTombstones {
                var buried = row
                buried.version = row.versionOfDeletion
                try bury(
                    buried, lane, clock: intent.clock.covering(row.clock), commit: intent.commit,
                    ordinal: intent.ordinal, time: intent.time)
            }
            if let id = row.storedID { try keepLinks(ofLeaving: id) }
            appendEntries(of: row, lane, to: &entries)
        }
        try addTogether(entries.map { (entry: $0, change: -1) })
    }

    /// Continues an operation over some chunks. Returns `true` when it is finished.
    mutating func advance(_ intent: inout Intent, chunks: Int) throws -> Bool {
        var left = chunks
        for lane in try snapshot.lanes(of: intent) where lane >= intent.position.lane {
            let from = lane == intent.position.lane ? intent.position.lower : intent.points.from
            let keys = try snapshot.chunkKeys(
                lane, from: from, to: intent.points.to, limit: left == .max ? left : left + 1, of: intent)
            for key in keys {
                if left == 0 {
                    intent.position = key
                    return false
                }
                left -= 1
                try purgeChunk(lane, max(key.lower, from))
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

extension Snapshot {
    /// Returns the lanes that an operation may touch.
    func lanes(of intent: Intent) throws -> [Lane] {
        var types = try typesWithChunks()
        if case .range(let type, _, _) = intent.scope { types = types.filter { $0 == type } }
        return types.flatMap { type in DurationClass.allCases.map { Lane(type: type, duration: $0) } }
    }

    /// Returns `true` if a chunk may hold samples that an operation removes. The dictionary of revisions shows whether
    /// a source occurs, without decoding a row.
    func mayHold(_ chunk: HotChunk, _ intent: Intent) throws -> Bool {
        guard case .source(let number) = intent.scope else { return chunk.rows > 0 }
        guard chunk.rows > 0 else { return false }
        try chunk.verify()
        if let common = try chunk.commonRevision() { return try revision(common).sourceNumber == number }
        return try chunk.distinctRevisions().contains { try revision($0).sourceNumber == number }
    }

    /// Returns the keys of a lane's chunks whose spans overlap a range. With `intent`, returns only chunks that may
    /// hold samples of that operation.
    func chunkKeys(
        _ lane: Lane, from: Point = .least, to: Point = .greatest, limit: Int = .max, of intent: Intent? = nil
    ) throws -> [ChunkKey] {
        var keys: [ChunkKey] = []
        try forEachChunk(lane, from: from, to: to) { chunk in
            if let intent, try !mayHold(chunk, intent) { return true }
            keys.append(chunk.key)
            return keys.count < limit
        }
        return keys
    }

    /// Returns the unfinished mass operations.
    func loadIntents() throws -> [Intent] {
        var intents: [Intent] = []
        var cursor = try view.cursor(tables[.upkeep])
        var found = try cursor.seek([Intent.upkeepKind])
        while found, cursor.key.copied().first == Intent.upkeepKind {
            intents.append(try Intent(cursor.value, key: cursor.key.copied()))
            found = try cursor.next()
        }
        return intents
    }
}
