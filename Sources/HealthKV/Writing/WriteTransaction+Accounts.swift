import ColumnFormat
import HealthModel

/// Counts, touched spans and stale marks follow every row that comes or goes.
extension WriteTransaction {
    mutating func account(_ lane: Lane, _ merged: LaneEdit.Merged) throws {
        try account(lane, merged.removed[...], -1)
        try account(lane, merged.added, 1)
        if let first = merged.added.first, let last = merged.added.last {
            state.spans.add(lane, first.start...last.start)
        }
    }

    /// Counts rows, in order, by revision first: looking up the source of each row would cost more than storing it.
    private mutating func account(_ lane: Lane, _ rows: ArraySlice<StoredRow>, _ sign: Int64) throws {
        guard !rows.isEmpty else { return }
        var counts = try snapshot.counts(of: lane.type)
        for (revision, count) in RevisionTally(rows).counts {
            counts.add(count, source: try snapshot.revision(revision).sourceNumber, sign)
        }
        context.counts[lane.type] = counts
        state.markStale(lane.type, rows)
    }
}

/// How many rows name each revision.
private struct RevisionTally {
    private(set) var counts: [(revision: UInt32, count: TypeCounts.Count)] = []
    /// Where the count of a revision stands, by the number's last bits: a miss means to search.
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

extension WriteState {
    /// Marks the hours that rows, in order of their starts, touch; hours side by side are marked as one stretch.
    fileprivate mutating func markStale(_ type: UInt32, _ rows: ArraySlice<StoredRow>) {
        let hour = DurationClass.hour.longest
        let span = rows.span
        var from = span[0].start
        var to = from
        /// Starts before this fall into the hours up to `to`, or the one behind them.
        var limit = from
        for index in 0..<span.count {
            let start = span[index].start
            let end = span[index].end == .max ? start : span[index].end
            if start >= limit {
                if index > 0 { markStale(type, from, to) }
                (from, to) = (start, start)
            } else if end <= to {
                continue
            }
            to = max(to, end)
            if to >= limit - hour { limit = (to.dividedDown(by: hour) + 2) * hour }
        }
        markStale(type, from, to)
    }
}
