import ColumnFormat
import HealthModel
import LMDB

/// The marks of samples that another sample at exactly the same time shadows.
enum ShadowMarks {
    /// Sets whether samples of a type at exactly the same time shadow each other, and updates their marks.
    static func setShadowing(of type: SampleType, _ isOn: Bool, in txn: inout WriteTransaction) throws {
        try type.validate()
        let number = try NameTable.number(of: type, in: &txn)
        txn.state.header.shadowing[number] = isOn
        txn.state.changesShadowing = true
        txn.state.isChanged = true
        try rebuildShadows(of: number, in: &txn)
    }

    /// Recomputes the shadow marks of all samples of a type.
    ///
    /// - Parameter step: called before each chunk; an error that it throws ends the work.
    static func rebuildShadows(
        of type: UInt32, in txn: inout WriteTransaction, _ step: () throws -> Void = {}
    ) throws {
        let isOn = try shadows(type, in: txn)
        for duration in DurationClass.allCases {
            let lane = Lane(type: type, duration: duration)
            for key in try ChunkTable.chunkKeys(lane, in: txn.snapshot) {
                try step()
                let times = try contestedTimes(lane, key, isOn, in: txn.snapshot)
                if isOn { try refreshShadows(lane, times, in: &txn) } else { try clearShadows(lane, times, in: &txn) }
            }
        }
    }

    /// Returns the times of a chunk that several samples may share, or at which marks must be cleared.
    private static func contestedTimes(_ lane: Lane, _ key: ChunkKey, _ isOn: Bool, in snapshot: Snapshot) throws -> [(
        start: Int64, end: Int64
    )] {
        let rows = try ChunkTable.load(lane, key.lower, in: snapshot).rows
        var times: [(start: Int64, end: Int64)] = []
        for (index, row) in rows.enumerated() {
            let isShared =
                index > 0 && (rows[index - 1].start, rows[index - 1].end) == (row.start, row.end)
                || index == 0 || index == rows.count - 1
            if row.isShadowed || isOn && isShared, times.last.map({ $0 != (row.start, row.end) }) ?? true {
                times.append((row.start, row.end))
            }
        }
        return times
    }

    // Among samples of one type at exactly the same time, all but one are shadowed (SEMANTICS C2). Marks are derived.

    /// Returns `true` if duplicates of a type are shadowed: as set for this store, otherwise as the catalog says.
    static func shadows(_ type: UInt32, in txn: borrowing WriteTransaction) throws -> Bool {
        if let set = txn.state.header.shadowing[type] { return set }
        return SampleType(catalogNumber: type)?.shadowsDuplicates ?? false
    }

    /// Marks the rows of a chunk before it is written: among rows at the same time, all but the winner. Skips times at
    /// the ends of the chunk's span, because rivals may be in another chunk; ``refreshShadows(_:_:)`` marks those
    /// afterwards.
    static func markShadows(
        _ lane: Lane, _ rows: inout [StoredRow], _ bounds: ChunkBounds, in txn: inout WriteTransaction
    ) throws {
        let ends = [bounds.key.lower, bounds.upper].map { (start: $0.start, end: $0.end) }
        var priorities: PriorityRecord?
        var from = 0
        while from < rows.count {
            var to = from + 1
            while to < rows.count, rows[to].start == rows[from].start, rows[to].end == rows[from].end { to += 1 }
            let time = (start: rows[from].start, end: rows[from].end)
            if to - from > 1 || rows[from].isShadowed, time != ends[0], time != ends[1] {
                let winner = try ShadowMarks.winner(of: rows[from..<to], lane.type, &priorities, in: txn.snapshot)!.id
                for index in from..<to where rows[index].isShadowed != (rows[index].id != winner) {
                    let old = rows[index]
                    rows[index].flags.formSymmetricDifference(.shadowed)
                    try accountMark(lane, from: old, to: rows[index], in: &txn)
                }
            }
            from = to
        }
    }

    /// Updates the counts for a row of which only the mark changes.
    private static func accountMark(
        _ lane: Lane, from old: StoredRow, to new: StoredRow, in txn: inout WriteTransaction
    ) throws {
        txn.state.writes += 1
        let source = try NameTable.revision(new.revision, in: txn.snapshot).sourceNumber
        if txn.state.counts[lane.type] == nil {
            txn.state.counts[lane.type] = try SummaryTable.counts(of: lane.type, in: txn.snapshot)
        }
        txn.state.counts[lane.type]!.add(old, source: source, -1)
        txn.state.counts[lane.type]!.add(new, source: source, 1)
        txn.state.stale.mark(lane.type, new.start, new.end)
    }

    /// Recomputes the marks of the samples at each of some times.
    static func refreshShadows(_ lane: Lane, _ times: [(start: Int64, end: Int64)], in txn: inout WriteTransaction)
        throws
    {
        var times = times
        var priorities: PriorityRecord?
        while let time = times.popLast() {
            let rows = try ShadowMarks.rows(lane, start: time.start, end: time.end, in: txn.snapshot)
            let winner = try ShadowMarks.winner(of: rows, lane.type, &priorities, in: txn.snapshot)
            let changed = rows.compactMap { row -> StoredRow? in
                let shadowed = row.id != winner?.id
                guard shadowed != row.isShadowed else { return nil }
                var row = row
                row.flags = shadowed ? row.flags.union(.shadowed) : row.flags.subtracting(.shadowed)
                return row
            }
            if !changed.isEmpty { times += try replaceMarks(lane, changed, in: &txn) }
        }
    }

    /// Writes rows of which only the mark changed; the feed does not report this. Loading the chunks also removes rows
    /// that a mass operation hid. Returns the times of those rows, because the caller must recompute the marks of the
    /// rows that they shadowed.
    @discardableResult
    static func replaceMarks(_ lane: Lane, _ rows: [StoredRow], in txn: inout WriteTransaction) throws -> [(
        start: Int64, end: Int64
    )] {
        var uncovered: [(start: Int64, end: Int64)] = []
        var edit = LaneEdit(inserts: rows, removals: [])
        while let point = edit.next {
            var chunk = try ChunkTable.load(lane, point, in: txn.snapshot)
            let merged = edit.merge(chunk.takeRows(), before: chunk.bounds.upper)
            for (old, new) in zip(merged.removed, merged.added) { try accountMark(lane, from: old, to: new, in: &txn) }
            if !chunk.purged.isEmpty {
                try LaneWriter.settlePurged(lane, chunk.purged, in: &txn)
                uncovered += chunk.purged.map { ($0.start, $0.end) }
            }
            try ChunkTable.write(chunk.bounds, merged.rows, exists: chunk.exists, in: &txn)
        }
        return uncovered
    }

    /// Returns the visible one among rows at the same time; `nil` if there are none. Reads the priorities of sources
    /// when the first two rows that were written at the same time ask for them.
    static func winner(
        of rows: some Collection<StoredRow>, _ type: UInt32, _ priorities: inout PriorityRecord?, in snapshot: Snapshot
    ) throws -> StoredRow? {
        guard var winner = rows.first else { return nil }
        for row in rows.dropFirst() where try isLess(winner, row, type, &priorities, in: snapshot) { winner = row }
        return winner
    }

    /// Returns `true` if `left` loses against `right`. Compares the time of writing, which includes the order of a
    /// feed, then the rank of the source, then the id.
    private static func isLess(
        _ left: StoredRow, _ right: StoredRow, _ type: UInt32, _ priorities: inout PriorityRecord?,
        in snapshot: Snapshot
    ) throws -> Bool {
        if left.written != right.written { return left.written < right.written }
        let known = try priorities ?? PriorityTable.priorities(in: snapshot)
        priorities = known
        let ranks = (try rank(left, type, known, in: snapshot), try rank(right, type, known, in: snapshot))
        if ranks.0 != ranks.1 { return ranks.1 < ranks.0 }
        return left.id < right.id
    }

    /// Returns the rank of a row's source; the best rank sorts first.
    private static func rank(_ row: StoredRow, _ type: UInt32, _ priorities: PriorityRecord, in snapshot: Snapshot)
        throws -> RankKey
    {
        let source = try NameTable.revision(row.revision, in: snapshot).sourceNumber
        return try SourceRanking.key(
            RankedClass(source: source, isUserEntered: row.flags.contains(.userEntered)), of: type, by: priorities,
            in: snapshot)
    }

    /// Returns the visible rows of a lane with exactly this start and end, in order of id.
    static func rows(_ lane: Lane, start: Int64, end: Int64, in snapshot: Snapshot) throws -> [StoredRow] {
        var rows: [StoredRow] = []
        let from = Point(start: start, end: end, id: .zero)
        let to = end == .max ? Point.after(start) : Point(start: start, end: end + 1, id: .zero)
        try ChunkTable.forEachChunk(lane, from: from, to: to, in: snapshot) { chunk in
            for row in try ChunkTable.visibleRows(chunk, in: snapshot) where row.start == start && row.end == end {
                rows.append(row)
            }
            return true
        }
        return rows
    }

    /// Clears the marks at each of some times.
    static func clearShadows(_ lane: Lane, _ times: [(start: Int64, end: Int64)], in txn: inout WriteTransaction) throws
    {
        for time in times {
            let marked = try rows(lane, start: time.start, end: time.end, in: txn.snapshot).filter(\.isShadowed)
            let cleared = marked.map { row in
                var row = row
                row.flags.remove(.shadowed)
                return row
            }
            if !cleared.isEmpty { try replaceMarks(lane, cleared, in: &txn) }
        }
    }
}

extension StoredRow {
    /// The time at which the row counts as written.
    var written: Int64 {
        flags.contains(.imported) ? clock.written(ofImportTo: Instant(nanoseconds: end)).nanoseconds : clockTime
    }
}

extension Instant {
    /// Used instead of the time of the last look at a feed that was never read to its end. Zero is the clock that takes
    /// the least space.
    static let beforeAnyLook = Instant(nanoseconds: 0)
}
