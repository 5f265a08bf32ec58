import ColumnFormat

/// Rows that come into a lane and points that go, both in order, handed out chunk by chunk.
struct LaneEdit {
    /// What became of one chunk's rows.
    struct Merged {
        var rows: [StoredRow] = []
        var added: [StoredRow] = []
        var removed: [StoredRow] = []
        /// Times at which rows came or went: where several samples share one, shadows may change.
        var contested: [(start: Int64, end: Int64)] = []
    }

    private let inserts: [StoredRow]
    private let removals: [Point]
    private var insert = 0
    private var removal = 0

    init(inserts: [StoredRow], removals: [Point]) {
        self.inserts = inserts
        self.removals = removals
    }

    /// The first point that is left.
    var next: Point? {
        let coming = insert < inserts.count ? inserts[insert].point : nil
        let going = removal < removals.count ? removals[removal] : nil
        guard let coming, let going else { return coming ?? going }
        return min(coming, going)
    }

    /// Merges what lies before `upper` into the rows of a chunk.
    mutating func merge(_ old: [StoredRow], before upper: Point) -> Merged {
        var merged = Merged()
        merged.rows.reserveCapacity(old.count + 16)
        var index = 0
        while true {
            let coming = insert < inserts.count && inserts[insert].point < upper ? inserts[insert].point : nil
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
                merged.added.append(inserts[insert])
                insert += 1
            }
            if merged.contested.last.map({ $0 != (point.start, point.end) }) ?? true {
                merged.contested.append((point.start, point.end))
            }
        }
        merged.rows.append(contentsOf: old[index...])
        return merged
    }
}
