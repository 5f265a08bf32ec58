import ColumnFormat
import HealthModel

/// Among samples of one type at exactly the same time, all but one are shadowed (SEMANTICS C2). The mark is derived.
extension WriteTransaction {
    /// Returns `true` if duplicates of a type are shadowed: as set for this store, otherwise as the catalog says.
    func shadows(_ type: UInt32) throws -> Bool {
        if let set = state.header.shadowing[type] { return set }
        return SampleType(catalogNumber: type)?.shadowsDuplicates ?? false
    }

    /// Marks the rows of a chunk before it is written: among rows at the same time, all but the winner. Skips times at
    /// the ends of the chunk's span, because rivals may be in another chunk; ``refreshShadows(_:_:)`` marks those
    /// afterwards.
    mutating func markShadows(_ lane: Lane, _ rows: inout [StoredRow], _ bounds: ChunkBounds) throws {
        let ends = [bounds.key.lower, bounds.upper].map { (start: $0.start, end: $0.end) }
        var from = 0
        while from < rows.count {
            var to = from + 1
            while to < rows.count, rows[to].start == rows[from].start, rows[to].end == rows[from].end { to += 1 }
            let time = (start: rows[from].start, end: rows[from].end)
            if to - from > 1 || rows[from].isShadowed, time != ends[0], time != ends[1] {
                let winner = try snapshot.winner(of: rows[from..<to], lane.type)!.id
                for index in from..<to where rows[index].isShadowed != (rows[index].id != winner) {
                    let old = rows[index]
                    rows[index].flags.formSymmetricDifference(.shadowed)
                    try accountMark(lane, from: old, to: rows[index])
                }
            }
            from = to
        }
    }

    /// Updates the counts for a row of which only the mark changes.
    private mutating func accountMark(_ lane: Lane, from old: StoredRow, to new: StoredRow) throws {
        state.writes += 1
        let source = try snapshot.revision(new.revision).sourceNumber
        if state.counts[lane.type] == nil { state.counts[lane.type] = try snapshot.counts(of: lane.type) }
        state.counts[lane.type]!.add(old, source: source, -1)
        state.counts[lane.type]!.add(new, source: source, 1)
        state.stale.mark(lane.type, new.start, new.end)
    }

    /// Recomputes the marks of the samples at each of some times.
    mutating func refreshShadows(_ lane: Lane, _ times: [(start: Int64, end: Int64)]) throws {
        var times = times
        while let time = times.popLast() {
            let rows = try snapshot.rows(lane, start: time.start, end: time.end)
            let winner = try snapshot.winner(of: rows, lane.type)
            let changed = rows.compactMap { row -> StoredRow? in
                let shadowed = row.id != winner?.id
                guard shadowed != row.isShadowed else { return nil }
                var row = row
                row.flags = shadowed ? row.flags.union(.shadowed) : row.flags.subtracting(.shadowed)
                return row
            }
            if !changed.isEmpty { times += try replaceMarks(lane, changed) }
        }
    }

    /// Writes rows of which only the mark changed; the feed does not report this. Loading the chunks also removes rows
    /// that a mass operation hid. Returns the times of those rows, because the caller must recompute the marks of the
    /// rows that they shadowed.
    @discardableResult
    mutating func replaceMarks(_ lane: Lane, _ rows: [StoredRow]) throws -> [(start: Int64, end: Int64)] {
        var uncovered: [(start: Int64, end: Int64)] = []
        var edit = LaneEdit(inserts: rows, removals: [])
        while let point = edit.next {
            var chunk = try snapshot.load(lane, point)
            let merged = edit.merge(chunk.takeRows(), before: chunk.bounds.upper)
            for (old, new) in zip(merged.removed, merged.added) { try accountMark(lane, from: old, to: new) }
            if !chunk.purged.isEmpty {
                try settlePurged(lane, chunk.purged)
                uncovered += chunk.purged.map { ($0.start, $0.end) }
            }
            try write(chunk.bounds, merged.rows, exists: chunk.exists)
        }
        return uncovered
    }
}

extension Snapshot {
    /// Returns the visible one among rows at the same time; `nil` if there are none.
    func winner(of rows: some Collection<StoredRow>, _ type: UInt32) throws -> StoredRow? {
        guard rows.count > 1 else { return rows.first }
        let priorities = try priorities()
        return try rows.max { try isLess($0, $1, type, priorities) }
    }

    /// Returns `true` if `left` loses against `right`. Compares the time of writing, which includes the order of a
    /// feed, then the rank of the source, then the id.
    private func isLess(
        _ left: StoredRow, _ right: StoredRow, _ type: UInt32, _ priorities: PriorityRecord
    ) throws -> Bool {
        if left.written != right.written { return left.written < right.written }
        let ranks = (try rank(left, type, priorities), try rank(right, type, priorities))
        if ranks.0 != ranks.1 { return ranks.1 < ranks.0 }
        return left.id < right.id
    }

    /// Returns the rank of a row's source; the best rank sorts first.
    private func rank(_ row: StoredRow, _ type: UInt32, _ priorities: PriorityRecord) throws -> RankKey {
        let source = try revision(row.revision).sourceNumber
        return try rankKey(
            RankedClass(source: source, isUserEntered: row.flags.contains(.userEntered)), of: type, by: priorities)
    }

    /// Returns the visible rows of a lane with exactly this start and end, in order of id.
    func rows(_ lane: Lane, start: Int64, end: Int64) throws -> [StoredRow] {
        var rows: [StoredRow] = []
        let from = Point(start: start, end: end, id: .zero)
        let to = end == .max ? Point.after(start) : Point(start: start, end: end + 1, id: .zero)
        try forEachChunk(lane, from: from, to: to) { chunk in
            for row in try visibleRows(chunk) where row.start == start && row.end == end { rows.append(row) }
            return true
        }
        return rows
    }
}

extension StoredRow {
    /// The time at which the row counts as written. An imported sample counts as written no earlier than its end
    /// (SEMANTICS C2).
    var written: Int64 { flags.contains(.imported) && end != .max ? max(end, clockTime) : clockTime }
}

extension Instant {
    /// Used instead of the time of the last look at a feed that was never read to its end. Zero is the clock that takes
    /// the least space.
    static let beforeAnyLook = Instant(nanoseconds: 0)
}

extension WriteTransaction {
    /// Clears the marks at each of some times.
    mutating func clearShadows(_ lane: Lane, _ times: [(start: Int64, end: Int64)]) throws {
        for time in times {
            let marked = try snapshot.rows(lane, start: time.start, end: time.end).filter(\.isShadowed)
            let cleared = marked.map { row in
                var row = row
                row.flags.remove(.shadowed)
                return row
            }
            if !cleared.isEmpty { try replaceMarks(lane, cleared) }
        }
    }
}
