import ColumnFormat
import HealthModel

/// Stored rows that start less than a second from the rows of a batch. Files give whole seconds, peers give fractions.
enum NearRows {
    static let second = Instant.nanosecondsPerSecond

    /// Returns the first time that is less than a second before a time, and the first that is a second after it.
    static func within(aSecondOf time: Int64) -> (from: Int64, to: Int64) {
        let (from, isFirst) = time.subtractingReportingOverflow(second - 1)
        let (to, isLast) = time.addingReportingOverflow(second)
        return (isFirst ? .min : from, isLast ? .max : to)
    }

    /// Whether two ends are less than a second apart. An unknown end is near to an unknown end only.
    static func isNear(_ left: Int64, _ right: Int64) -> Bool {
        if left == right { return true }
        let (distance, isTooLarge) = left.subtractingReportingOverflow(right)
        return left != .max && right != .max && !isTooLarge && distance.magnitude < second
    }

    /// Calls `body` with each row of a batch and each stored row of the same type near to it, in one pass over both.
    ///
    /// - Parameter rows: rows of one lane, in order of time.
    static func forEach(
        _ lane: Lane, _ rows: [UInt32], of batch: SampleBatch, in snapshot: Snapshot,
        _ body: (Int, StoredRow, Lane) throws -> Void
    ) throws {
        try walk(lane, rows, of: batch, in: snapshot, body)
        // A sample whose times have fractions may lie in the lane of another duration.
        for shift in [second - 1, 1 - second] {
            var others: [DurationClass: [UInt32]] = [:]
            for row in rows where batch.ends[Int(row)] != .max {
                let (end, isTooLong) = batch.ends[Int(row)].addingReportingOverflow(shift)
                guard !isTooLong, end >= batch.starts[Int(row)] else { continue }
                let duration = DurationClass(start: batch.starts[Int(row)], end: end)
                if duration != lane.duration { others[duration, default: []].append(row) }
            }
            for (duration, rows) in others {
                try walk(Lane(type: lane.type, duration: duration), rows, of: batch, in: snapshot, body)
            }
        }
    }

    private static func walk(
        _ lane: Lane, _ rows: [UInt32], of batch: SampleBatch, in snapshot: Snapshot,
        _ body: (Int, StoredRow, Lane) throws -> Void
    ) throws {
        guard let first = rows.first, let last = rows.last else { return }
        let from = within(aSecondOf: batch.starts[Int(first)]).from
        let to = within(aSecondOf: batch.starts[Int(last)]).to
        var (near, head, next): ([StoredRow], Int, Int) = ([], 0, 0)
        // Leaves the rows behind that start a second or more before a time.
        func pass(upTo time: Int64?) throws {
            while next < rows.count {
                let row = Int(rows[next])
                let span = within(aSecondOf: batch.starts[row])
                if let time, span.to > time { return }
                while head < near.count, near[head].start < span.from { head += 1 }
                if head > 1_024 {
                    near.removeFirst(head)
                    head = 0
                }
                for stored in near[head...] where stored.start < span.to { try body(row, stored, lane) }
                next += 1
            }
        }
        try ChunkTable.forEachChunk(lane, from: .at(from), to: .after(to), in: snapshot) { chunk in
            guard chunk.rows > 0 else { return true }
            for stored in try ChunkTable.visibleRows(chunk, in: snapshot) {
                try pass(upTo: stored.start)
                guard next < rows.count else { return false }
                // A row that is before all that is left would only be kept.
                if stored.start >= within(aSecondOf: batch.starts[Int(rows[next])]).from { near.append(stored) }
            }
            return true
        }
        try pass(upTo: nil)
    }
}
