import ColumnFormat
import HealthModel

/// Of several samples of one type at exactly one time, all but one are shadowed (SEMANTICS C2). The mark is derived.
extension WriteTransaction {
    /// Whether duplicates of a type are shadowed: as set for this store, or else as the catalog says.
    func shadows(_ type: UInt32) throws -> Bool {
        if let set = state.header.shadowing[type] { return set }
        return SampleType(catalogNumber: type)?.shadowsDuplicates ?? false
    }

    /// Marks anew the samples at each of some times.
    mutating func refreshShadows(_ lane: Lane, _ times: [(start: Int64, end: Int64)]) throws {
        for time in times {
            let rows = try snapshot.rows(lane, start: time.start, end: time.end)
            let winner = try rows.max { try isLess($0, $1) }
            let changed = rows.compactMap { row -> StoredRow? in
                let shadowed = row.id != winner?.id
                guard shadowed != row.isShadowed else { return nil }
                var row = row
                row.flags = shadowed ? row.flags.union(.shadowed) : row.flags.subtracting(.shadowed)
                return row
            }
            if !changed.isEmpty { try replaceMarks(lane, changed) }
        }
    }

    /// Writes rows of which only the mark changed: no change for the feed.
    mutating func replaceMarks(_ lane: Lane, _ rows: [StoredRow]) throws {
        var edit = LaneEdit(inserts: rows, removals: [])
        while let point = edit.next {
            var chunk = try snapshot.load(lane, point)
            let merged = edit.merge(chunk.takeRows(), before: chunk.bounds.upper)
            for (old, new) in zip(merged.removed, merged.added) {
                let source = try snapshot.revision(new.revision).sourceNumber
                if context.counts[lane.type] == nil { context.counts[lane.type] = try snapshot.counts(of: lane.type) }
                context.counts[lane.type]!.add(old, source: source, -1)
                context.counts[lane.type]!.add(new, source: source, 1)
                state.markStale(lane.type, new.start, new.end)
            }
            if !chunk.purged.isEmpty { try settlePurged(lane, chunk.purged) }
            try write(chunk.bounds, merged.rows, exists: chunk.exists)
        }
    }

    /// Whether `left` loses against `right`: modification clock, then rank of the source, then id.
    private func isLess(_ left: StoredRow, _ right: StoredRow) throws -> Bool {
        let clocks = ((left.clockTime, left.clockReplica), (right.clockTime, right.clockReplica))
        if clocks.0 != clocks.1 { return clocks.0 < clocks.1 }
        let ranks = (try rank(left), try rank(right))
        if ranks.0 != ranks.1 { return ranks.0 > ranks.1 }
        return left.id < right.id
    }

    /// The default rank of a row's source (SEMANTICS A20), the best first.
    private func rank(_ row: StoredRow) throws -> SourceRank {
        let revision = try snapshot.revision(row.revision)
        let product = revision.source.product ?? ""
        let kind =
            row.flags.contains(.userEntered) ? 0 : product.hasPrefix("Watch") ? 1 : product.hasPrefix("iPhone") ? 2 : 3
        return SourceRank(kind: kind, number: revision.sourceNumber, name: revision.source.name)
    }
}

/// Entered by the user, then watch, then phone, then others; the most recently first-seen source first, ties by name.
struct SourceRank: Comparable {
    var kind: Int
    var number: UInt32
    var name: String

    static func < (left: SourceRank, right: SourceRank) -> Bool {
        if left.kind != right.kind { return left.kind < right.kind }
        if left.number != right.number { return left.number > right.number }
        return left.name < right.name
    }
}

extension Snapshot {
    /// The visible rows of a lane with exactly this start and end, in order of id.
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

extension WriteTransaction {
    /// Takes the marks back at each of some times.
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
