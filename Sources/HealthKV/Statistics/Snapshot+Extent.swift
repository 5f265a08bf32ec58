import ColumnFormat
import HealthModel

extension Snapshot {
    /// From the earliest start to the latest end of a type's visible samples, an open end counting as the start.
    func extent(of type: UInt32) throws -> ClosedRange<Int64>? {
        var extent: ClosedRange<Int64>?
        let scratch = ReachScratch()
        for duration in DurationClass.allCases {
            let lane = Lane(type: type, duration: duration)
            var (first, last): (Int64?, Int64?)
            try forEachChunk(lane, from: .least, to: .greatest) { chunk in
                first = try scratch.columns.reach(of: chunk, self)?.first
                return first == nil
            }
            guard let first else { continue }
            try forEachChunk(lane, from: .least, to: .greatest, descending: true) { chunk in
                last = try scratch.columns.reach(of: chunk, self)?.last
                return last == nil
            }
            // Samples of a class end within its length; only of the longest ones the ends must be looked at.
            var end = (Instant(nanoseconds: last ?? first) + (duration == .long ? 0 : duration.longest)).nanoseconds
            if duration == .long {
                try forEachChunk(lane, from: .least, to: .greatest) { chunk in
                    if let reach = try scratch.columns.reach(of: chunk, self) { end = max(end, reach.end) }
                    return true
                }
            }
            extent = min(extent?.lowerBound ?? first, first)...max(extent?.upperBound ?? end, end)
        }
        return extent
    }
}

/// Keeps the buffers in one place.
private final class ReachScratch {
    var columns = ReachColumns()
}

/// Tells from when to when the visible samples of a chunk reach, by its hot columns alone.
private struct ReachColumns: ~Copyable {
    private var starts = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    private var durations = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)

    /// The first and the last start and the latest end; `nil` when nothing of the chunk is visible.
    mutating func reach(
        of chunk: HotChunk, _ snapshot: borrowing Snapshot
    ) throws -> (first: Int64, last: Int64, end: Int64)? {
        guard chunk.rows > 0 else { return nil }
        if snapshot.mayHide(chunk.key.lane, chunk.key.lower.start...chunk.upper.start) {
            let rows = try snapshot.visibleRows(chunk)
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
            // -1 stands for an open end, which counts as the start.
            end = max(end, durations[index] == -1 ? starts[index] : starts[index] &+ durations[index])
        }
        return (starts[0], starts[starts.count - 1], end)
    }
}
