import ColumnFormat
import HealthModel

/// Updates counts, touched spans and stale marks for every row that is added or removed.
extension WriteTransaction {
    mutating func account(_ lane: Lane, _ merged: LaneEdit.Merged) throws {
        // An operation that fails after this line has changed a part of its data.
        state.writes += 1
        try account(lane, merged.removed[...], -1)
        try account(lane, merged.added, 1)
        // A removal also counts as touched: an edit may have moved the row to another duration class, and then the feed
        // reports it again.
        for rows in [merged.removed[...], merged.added] {
            if let first = rows.first, let last = rows.last { state.spans.add(lane, first.start...last.start) }
        }
    }

    /// Counts the rows by revision before looking up sources: looking up the source of each row would cost more than
    /// storing the row.
    private mutating func account(_ lane: Lane, _ rows: ArraySlice<StoredRow>, _ sign: Int64) throws {
        guard !rows.isEmpty else { return }
        var counts = try snapshot.counts(of: lane.type)
        for (revision, count) in RevisionTally(rows).counts {
            counts.add(count, source: try snapshot.revision(revision).sourceNumber, sign)
        }
        state.counts[lane.type] = counts
        state.stale.mark(lane.type, rows)
    }
}

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
