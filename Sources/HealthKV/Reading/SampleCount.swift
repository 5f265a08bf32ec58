import ColumnFormat
import HealthModel

/// Counts the samples of a query.
enum SampleCount {
    static func count(_ query: SampleQuery, in snapshot: Snapshot) throws -> Int {
        let limit = try query.checkedLimit(in: snapshot)
        guard limit > 0, let number = try NameTable.askedNumber(of: query.type, in: snapshot) else { return 0 }
        if query.source != nil || query.filter != nil || query.includeShadowed {
            var count = 0
            try RowReader.forEachRun(of: number, query.rows, wanted: limit, in: snapshot) { rows in
                count += rows.count
                return count < limit
            }
            return min(count, limit)
        }
        // A sample whose end is not known yet does not end in any range.
        if query.range == .all, query.rule != .strictEnd {
            let counts = try SummaryTable.counts(of: number, in: snapshot)
            return min(counts.samples - counts.shadowed, limit)
        }
        return min(try RowReader.count(of: number, query.rows, in: snapshot), limit)
    }
}
