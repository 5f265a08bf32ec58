import ColumnFormat

/// Rows to insert into a lane and points to remove from it, both sorted, consumed chunk by chunk.
struct LaneEdit {
    /// The rows of one chunk after the merge.
    struct Merged {
        var rows: [StoredRow] = []
        var added: ArraySlice<StoredRow>
        var removed: [StoredRow] = []

        /// Where more rows will most likely be inserted: next to the inserted rows if many were inserted at one place,
        /// as from a peer's feed.
        var growth: ChunkPacker.Growth {
            guard let first = added.first, let last = added.last, added.count >= Merged.manyRows,
                let from = rows.firstIndex(where: { $0.point == first.point }),
                rows[from + added.count - 1].point == last.point
            else { return .anywhere }
            let tail = rows.count - from - added.count
            if tail == 0 { return .behind }
            return from == 0 ? .before(tail: tail) : .between(tail: tail)
        }
        private static let manyRows = 64

        /// The number of rows before the inserted ones if all of these were appended and none was removed; otherwise
        /// `nil`.
        var rowsBeforeAppended: Int? {
            let old = rows.count - added.count
            guard removed.isEmpty, let first = added.first, old >= 0, rows[old].point == first.point else { return nil }
            return old
        }

        /// The number of inserted rows if all of them precede the existing rows and none was removed; otherwise `nil`.
        var rowsPrepended: Int? {
            guard removed.isEmpty, let last = added.last, added.count < rows.count,
                rows[added.count - 1].point == last.point
            else { return nil }
            return added.count
        }

        /// The number of rows before the inserted ones if rows arrive there newest first; otherwise `nil`. They do if
        /// the rows behind the inserted ones were the last to arrive, each after the one behind it, and none was
        /// removed.
        var rowsBeforeGap: Int? {
            guard removed.isEmpty, let first = added.first, let last = added.last else { return nil }
            let from = rows.indices.firstIndex(notPreceding: { rows[$0].point < first.point })
            let behind = from + added.count
            let count = Merged.backwardRows
            guard from > 0, behind + count <= rows.count, rows[behind - 1].point == last.point else { return nil }
            func age(_ row: Int) -> (UInt64, UInt32) { (rows[row].commit, rows[row].ordinal) }
            guard (behind..<behind + count - 1).allSatisfy({ age($0) > age($0 + 1) }) else { return nil }
            let newest = age(behind)
            let others = [0..<from, behind..<rows.count].joined()
            return others.allSatisfy { age($0) <= newest } ? from : nil
        }
        /// The number of rows that must have come newest first: few enough to see it soon, many enough that rows in any
        /// order hardly ever look so.
        private static let backwardRows = 4

        /// Returns the times at the ends of the chunk's span at which rows were inserted, removed or purged.
        /// Neighbouring chunks may hold rows with these times, too.
        func contested(with purged: [StoredRow], atEndsOf bounds: ChunkBounds) -> [(start: Int64, end: Int64)] {
            [bounds.key.lower, bounds.upper].map { (start: $0.start, end: $0.end) }.filter { time in
                func meets(_ row: StoredRow) -> Bool { (row.start, row.end) == time }
                return added.contains(where: meets) || removed.contains(where: meets) || purged.contains(where: meets)
            }
        }
    }

    private let inserts: [StoredRow]
    private let removals: [Point]
    private var insert = 0
    private var removal = 0

    init(inserts: [StoredRow], removals: [Point]) {
        self.inserts = inserts
        self.removals = removals
    }

    /// The next point to insert or remove.
    var next: Point? {
        let coming = insert < inserts.count ? inserts[insert].point : nil
        let going = removal < removals.count ? removals[removal] : nil
        guard let coming, let going else { return coming ?? going }
        return min(coming, going)
    }

    /// Merges the inserts and removals before `upper` into the rows of a chunk.
    mutating func merge(_ old: consuming [StoredRow], before upper: Point) -> Merged {
        let end = endOfInserts(before: upper)
        var merged = Merged(added: inserts[insert..<end])
        // The common case: all new rows follow the stored ones.
        if removal == removals.count, insert < end, old.isEmpty || old.last!.point < inserts[insert].point {
            merged.rows = old
            merged.rows.append(contentsOf: merged.added)
            insert = end
            return merged
        }
        merged.rows.reserveCapacity(old.count + merged.added.count)
        var index = 0
        while true {
            let coming = insert < end ? inserts[insert].point : nil
            let going = removal < removals.count && removals[removal] < upper ? removals[removal] : nil
            guard let point = coming.map({ min($0, going ?? $0) }) ?? going else { break }
            while index < old.count, old[index].point < point {
                merged.rows.append(old[index])
                index += 1
            }
            if index < old.count, old[index].point == point {
                merged.removed.append(old[index])
                index += 1
            }
            if going == point { removal += 1 }
            if coming == point {
                merged.rows.append(inserts[insert])
                insert += 1
            }
        }
        merged.rows.append(contentsOf: old[index...])
        return merged
    }

    private func endOfInserts(before upper: Point) -> Int {
        if upper == .greatest { return inserts.count }
        return (insert..<inserts.count).firstIndex(notPreceding: { inserts[$0].point < upper })
    }
}
