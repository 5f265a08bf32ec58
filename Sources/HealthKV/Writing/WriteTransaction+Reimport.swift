import ColumnFormat
import HealthModel

/// A repeated import consists mostly of samples that the store already holds. They are compared chunk by chunk, because
/// looking up each sample would cost more than importing it did.
extension WriteTransaction {
    /// Counts and marks the careful rows that the store holds at the same point with equal content.
    func settleUnchanged(_ batch: SampleBatch, _ plan: inout ImportPlan, _ report: inout ImportReport) throws {
        guard plan.careful.count(where: { $0 }) > 256 else { return }
        var candidates = plan
        candidates.careful = plan.careful.indices.map { !plan.careful[$0] || batch.saysMore($0) }
        for (lane, rows) in candidates.lanes(batch) {
            var index = 0
            guard let first = rows.first, let last = rows.last else { continue }
            let starts = (batch.starts[Int(first)], batch.starts[Int(last)])
            let snapshot = snapshot
            var settled: [Int] = []
            try ChunkTable.forEachChunk(lane, from: .at(starts.0), to: .after(starts.1), in: snapshot) { chunk in
                // Rows of the batch before this chunk have no counterpart.
                while index < rows.count, plan.point(batch, Int(rows[index])) < chunk.key.lower { index += 1 }
                guard index < rows.count else { return false }
                guard chunk.rows > 0, plan.point(batch, Int(rows[index])) < chunk.upper else { return true }
                for stored in try ChunkTable.visibleRows(chunk, in: snapshot) {
                    let point = stored.point
                    while index < rows.count, plan.point(batch, Int(rows[index])) < point { index += 1 }
                    // Identical rows of one batch share a point.
                    var twin = index
                    while twin < rows.count, plan.point(batch, Int(rows[twin])) == point {
                        if plan.isUnchanged(batch, Int(rows[twin]), stored) { settled.append(Int(rows[twin])) }
                        twin += 1
                    }
                }
                return true
            }
            for row in settled { plan.settled[row] = true }
            report.unchanged += settled.count
        }
    }
}

extension ImportPlan {
    fileprivate func point(_ batch: SampleBatch, _ row: Int) -> Point {
        Point(start: batch.starts[row], end: batch.ends[row], id: ids[row])
    }

    /// Returns `true` if a row without rare fields equals a stored row.
    fileprivate func isUnchanged(_ batch: SampleBatch, _ row: Int, _ stored: StoredRow) -> Bool {
        let kind = kinds[Int(batch.kindOfRow[row])]
        return stored.value.bitPattern == batch.values[row].bitPattern && stored.unit == kind.unit
            && stored.revision == kind.revision
            && stored.flags.contains(.userEntered) == kind.flags.contains(.userEntered) && stored.device == 0
            && stored.count == 1 && Int(stored.multiplicity) == (multiplicities[row] ?? 0)
            && !(stored.rare?.saysMore ?? false)
    }
}
