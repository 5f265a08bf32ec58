import ColumnFormat
import HealthModel

/// A class, because a closure cannot capture non-copyable buffers by value.
private final class ReachScratch {
    var columns = ReachColumns()
}

/// Determines the time range of the visible samples of a chunk from its hot columns only.
private struct ReachColumns: ~Copyable {
    private var starts = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    private var durations = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)

    /// Returns the first and the last start and the latest end; `nil` if no row of the chunk is visible.
    mutating func reach(
        of chunk: HotChunk, _ snapshot: borrowing Snapshot
    ) throws -> (first: Int64, last: Int64, end: Int64)? {
        guard chunk.rows > 0 else { return nil }
        if ChunkTable.mayHide(chunk.key.lane, chunk.key.lower.start...chunk.upper.start, in: snapshot) {
            let rows = try ChunkTable.visibleRows(chunk, in: snapshot)
            guard let first = rows.first, let last = rows.last else { return nil }
            return (first.start, last.start, rows.reduce(first.start) { max($0, $1.end == .max ? $1.start : $1.end) })
        }
        try chunk.verify()
        try starts.refill { column throws(FormatError) in try chunk.decodeStarts(into: &column) }
        try durations.refill { column throws(FormatError) in try chunk.decodeDurations(into: &column) }
        let (starts, durations) = (starts.span, durations.span)
        guard starts.count > 0, starts.count == durations.count else { return nil }
        var end = starts[0]
        for index in 0..<starts.count {
            // -1 means an open end, which counts as the start.
            end = max(end, durations[index] == -1 ? starts[index] : starts[index] &+ durations[index])
        }
        return (starts[0], starts[starts.count - 1], end)
    }
}

/// The time that the samples of a type cover.
enum ChunkExtent {
    /// Returns the range from the earliest start to the last nanosecond that a visible sample of a type covers. An open
    /// end counts as the start. Returns `nil` if there are no visible samples.
    static func extent(of type: UInt32, in snapshot: Snapshot) throws -> ClosedRange<Int64>? {
        var extent: ClosedRange<Int64>?
        let scratch = ReachScratch()
        for duration in DurationClass.allCases {
            let lane = Lane(type: type, duration: duration)
            var first: Int64?
            try ChunkTable.forEachChunk(lane, from: .least, to: .greatest, in: snapshot) { chunk in
                first = try scratch.columns.reach(of: chunk, snapshot)?.first
                return first == nil
            }
            guard let first else { continue }
            var last = first
            try ChunkTable.forEachChunk(lane, from: .least, to: .greatest, descending: true, in: snapshot) { chunk in
                guard let reach = try scratch.columns.reach(of: chunk, snapshot) else { return true }
                // The end is exclusive, except for samples of zero length.
                last = max(last, reach.last, reach.end - 1)
                // Samples of a class end within its maximum length, so samples that start earlier than this end before
                // `last`.
                return duration == .long
                    || chunk.key.lower.start > (Instant(nanoseconds: last) + -duration.longest).nanoseconds
            }
            extent = min(extent?.lowerBound ?? first, first)...max(extent?.upperBound ?? last, last)
        }
        return extent
    }
}
