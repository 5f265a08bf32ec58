import ColumnFormat
import HealthModel
import LMDB

/// Counts the rows of each revision.
private struct RevisionTally {
    private(set) var counts: [(revision: UInt32, count: TypeCounts.Count)] = []
    /// Caches the index of a revision's count by the last bits of its number; a miss falls back to a search.
    private var places = [Int](repeating: 0, count: 64)

    init(_ rows: ArraySlice<StoredRow>) {
        let span = rows.span
        for index in 0..<span.count {
            let place = place(of: span[index].revision)
            counts[place].count.samples += 1
            if span[index].isShadowed { counts[place].count.shadowed += 1 }
        }
    }

    @inline(__always)
    private mutating func place(of revision: UInt32) -> Int {
        let slot = Int(revision & 63)
        let likely = places[slot]
        if likely < counts.count, counts[likely].revision == revision { return likely }
        let place = counts.firstIndex { $0.revision == revision } ?? counts.count
        if place == counts.count { counts.append((revision, TypeCounts.Count())) }
        places[slot] = place
        return place
    }
}

/// Changes the rows of a lane, and with them what follows from rows: counts, touched spans, stale marks, shadow marks.
enum LaneWriter {
    /// Updates counts, touched spans and stale marks for every row that is added or removed.
    static func account(_ lane: Lane, _ merged: LaneEdit.Merged, in txn: inout WriteTransaction) throws {
        // An operation that fails after this line has changed a part of its data.
        txn.state.writes += 1
        try account(lane, merged.removed[...], -1, in: &txn)
        try account(lane, merged.added, 1, in: &txn)
        // A removal also counts as touched: an edit may have moved the row to another duration class, and then the feed
        // reports it again.
        for rows in [merged.removed[...], merged.added] {
            if let first = rows.first, let last = rows.last { txn.state.spans.add(lane, first.start...last.start) }
        }
    }

    /// Counts the rows by revision before looking up sources: looking up the source of each row would cost more than
    /// storing the row.
    private static func account(
        _ lane: Lane, _ rows: ArraySlice<StoredRow>, _ sign: Int64, in txn: inout WriteTransaction
    ) throws {
        guard !rows.isEmpty else { return }
        var counts = try SummaryTable.counts(of: lane.type, in: txn.snapshot)
        for (revision, count) in RevisionTally(rows).counts {
            counts.add(count, source: try NameTable.revision(revision, in: txn.snapshot).sourceNumber, sign)
        }
        txn.state.counts[lane.type] = counts
        txn.state.stale.mark(lane.type, rows)
    }

    /// Inserts rows into a lane and removes points from it, chunk by chunk. Both lists must be sorted; an inserted row
    /// replaces the row at its point. Updates counts, spans and stale marks; the caller updates identities. Returns the
    /// removed rows.
    @discardableResult
    static func apply(_ lane: Lane, inserts: [StoredRow], removals: [Point] = [], in txn: inout WriteTransaction) throws
        -> [StoredRow]
    {
        var edit = LaneEdit(inserts: inserts, removals: removals)
        var removed: [StoredRow] = []
        while let point = edit.next {
            var chunk = try ChunkTable.load(lane, point, knowing: txn.environment.writtenChunks, in: txn.snapshot)
            var merged = edit.merge(chunk.takeRows(), before: chunk.bounds.upper)
            try account(lane, merged, in: &txn)
            removed += merged.removed
            if !chunk.purged.isEmpty { try settlePurged(lane, chunk.purged, in: &txn) }
            let marks = try ShadowMarks.shadows(lane.type, in: txn)
            if marks { try ShadowMarks.markShadows(lane, &merged.rows, chunk.bounds, in: &txn) }
            let bounds = chunk.bounds
            let isPlain = chunk.exists && chunk.purged.isEmpty
            if try
                !(isPlain
                && (ChunkTable.beginTail(bounds, merged, in: &txn) || ChunkTable.beginHead(bounds, merged, in: &txn)
                    || ChunkTable.beginGap(bounds, merged, in: &txn)))
            {
                if chunk.exists { try ChunkTable.endTail(&chunk.bounds, &merged, in: &txn) }
                try ChunkTable.write(chunk.bounds, merged.rows, exists: chunk.exists, growth: merged.growth, in: &txn)
            }
            // Rivals at the ends of the chunk's span may be in neighbouring chunks.
            if marks {
                try ShadowMarks.refreshShadows(lane, merged.contested(with: chunk.purged, atEndsOf: bounds), in: &txn)
            }
        }
        return removed
    }

    /// Removes from the chunk that owns a point the rows that unfinished mass operations hide.
    static func purgeChunk(_ lane: Lane, _ point: Point, in txn: inout WriteTransaction) throws {
        let chunk = try ChunkTable.load(lane, point, in: txn.snapshot)
        guard !chunk.purged.isEmpty else { return }
        try settlePurged(lane, chunk.purged, in: &txn)
        try ChunkTable.write(chunk.bounds, chunk.rows, exists: chunk.exists, in: &txn)
        if try ShadowMarks.shadows(lane.type, in: txn) {
            try ShadowMarks.refreshShadows(lane, chunk.purged.map { ($0.start, $0.end) }, in: &txn)
        }
    }

    /// Writes the tombstones, counts and index changes of rows that leave their chunk because of a mass operation.
    static func settlePurged(_ lane: Lane, _ rows: [StoredRow], in txn: inout WriteTransaction) throws {
        if txn.state.counts[lane.type] == nil {
            txn.state.counts[lane.type] = try SummaryTable.counts(of: lane.type, in: txn.snapshot)
        }
        txn.state.counts[lane.type]!.hidden -= Int64(rows.count)
        var entries: [IdentityEntry] = []
        for row in rows {
            let source = try NameTable.revision(row.revision, in: txn.snapshot).sourceNumber
            let intent = txn.state.intents.first { $0.hides(row, type: lane.type, source: source) }
            if let intent, intent.leavesTombstones {
                var buried = row
                buried.version = row.versionOfDeletion
                try TombstoneTable.bury(
                    buried, lane, clock: intent.clock.covering(row.clock), commit: intent.commit,
                    ordinal: intent.ordinal, time: intent.time, in: &txn)
            }
            if let id = row.storedID { try LinkTable.keepLinks(ofLeaving: id, in: &txn) }
            IdentityIndex.appendIdentity(of: row, lane, to: &entries, in: txn.snapshot)
        }
        try IdentityIndex.addTogether(entries.map { (entry: $0, change: -1) }, in: &txn)
    }
}
