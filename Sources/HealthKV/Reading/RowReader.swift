import ColumnFormat
import HealthModel
import LMDB

/// Reads the rows of one lane that match a query, in order, a part of a chunk at a time.
struct LaneReader: MergedLane {
    let lane: Lane
    static let usualStep = 16
    private let query: RowQuery
    private let sources: Set<UInt32>?
    private let filter: RowFilter?
    private var buffer: [StoredRow] = []
    private var position = 0
    /// The point at which the next chunk begins (ascending) or ends (descending); `nil` at the end.
    private var next: Point?
    private let limit: Point
    /// The range of starts that matching rows can have.
    private let starts: ClosedRange<Int64>
    /// The remaining rows of the chunk that was read last.
    private var rest: (key: ChunkKey, found: FoundRows, left: Range<Int>)?
    /// The number of rows to decode at once. It starts small, because many callers want few samples, and grows with
    /// each step.
    private var step: Int
    /// Receives the damaged ranges, which are then skipped; if `nil`, damage is an error.
    private let log: DamageLog?

    /// - Parameters:
    ///   - sources: the numbers of the sources to return; `nil` for all.
    ///   - filter: what rows must match; `nil` for all.
    ///   - step: the number of rows to decode first.
    init(
        _ lane: Lane, _ query: RowQuery, sources: Set<UInt32>?, filter: RowFilter?, step: Int, _ log: DamageLog?
    ) {
        self.filter = filter
        self.step = step
        self.lane = lane
        self.log = log
        self.query = query
        self.sources = sources
        let bounds = query.starts(of: lane.duration)
        next = query.order == .ascending ? bounds.from : bounds.to
        limit = query.order == .ascending ? bounds.to : bounds.from
        starts = bounds.from.start...max(bounds.from.start, bounds.to.start)
        if bounds.from >= bounds.to || query.range.isEmpty { next = nil }
    }

    /// The point of the next row among those that are decoded.
    var head: Point? { position < buffer.count ? buffer[position].point : nil }

    /// Decodes the next row, if there is one and it is not decoded yet.
    mutating func prepare(_ snapshot: borrowing Snapshot) throws {
        while position >= buffer.count, rest != nil || next != nil { try fill(snapshot) }
    }

    /// Takes the next row, and all following decoded rows that precede the next row of any other lane.
    mutating func takeRun(before rival: Point?) -> ArraySlice<StoredRow> {
        let first = position
        position = buffer.count
        if let rival, !comes(buffer[position - 1].point, before: rival) {
            position = first + 1
            while comes(buffer[position].point, before: rival) { position += 1 }
        }
        return buffer[first..<position]
    }

    func comes(_ point: Point, before other: Point) -> Bool { (point < other) == (query.order == .ascending) }

    private mutating func fill(_ snapshot: borrowing Snapshot) throws {
        buffer = []
        position = 0
        if let (key, found, left) = rest {
            rest = nil
            try ChunkTable.withChunk(key, in: snapshot) { chunk in try pick(left, of: found, chunk, snapshot) }
            return
        }
        let from = next!
        let ascending = query.order == .ascending
        next = nil
        var follow: Point?
        let bounds = (from: ascending ? from : limit, to: ascending ? limit : from)
        if let log {
            try ReadableChunks.forEachReadableChunk(
                lane, from: bounds.from, to: bounds.to, descending: !ascending, log, in: snapshot
            ) {
                try take($0, &follow, snapshot)
            }
        } else {
            try ChunkTable.forEachChunk(lane, from: bounds.from, to: bounds.to, descending: !ascending, in: snapshot) {
                try take($0, &follow, snapshot)
            }
        }
        if let follow, !buffer.isEmpty, ascending ? follow < limit : follow > limit { next = follow }
    }

    /// Reads matching rows of a chunk into the buffer. Returns `false` if there were any.
    private mutating func take(
        _ chunk: HotChunk, _ follow: inout Point?, _ snapshot: borrowing Snapshot
    ) throws -> Bool {
        follow = query.order == .ascending ? chunk.upper : chunk.key.lower
        guard try RowReader.mayHold(chunk, sources, in: snapshot) else { return true }
        // A range read looks back as far as the longest sample of the class can reach. Most samples found there also
        // end before the range.
        let found = try chunk.find(startingIn: starts, endingFrom: query.range.from.nanoseconds)
        try pick(found.rows, of: found, chunk, snapshot)
        return buffer.isEmpty
    }

    /// Fills the buffer with the next matching rows among those that are left of the rows found in a chunk, and
    /// remembers the remaining rows.
    private mutating func pick(
        _ rows: Range<Int>, of found: FoundRows, _ chunk: HotChunk, _ snapshot: borrowing Snapshot
    ) throws {
        var left = rows
        while buffer.isEmpty, !left.isEmpty {
            let part = query.order == .ascending ? left.prefix(step) : left.suffix(step)
            left = query.order == .ascending ? part.upperBound..<left.upperBound : left.lowerBound..<part.lowerBound
            step = min(max(4 * step, LaneReader.usualStep), ChunkEncoder.rowLimit)
            let rows =
                part.count == 1
                ? try ChunkTable.visibleRow(chunk, at: part.lowerBound, of: found, in: snapshot)
                : try ChunkTable.visibleRows(chunk, part, in: snapshot)
            if sources == nil, filter == nil, rows.indices.allSatisfy({ query.picks(rows[$0]) }) {
                buffer = rows
                continue
            }
            for row in rows where query.picks(row) {
                if let sources, !sources.contains(try NameTable.revision(row.revision, in: snapshot).sourceNumber) {
                    continue
                }
                if let filter, try !filter.matches(row, in: snapshot) { continue }
                buffer.append(row)
            }
        }
        if query.order == .descending { buffer.reverse() }
        if !left.isEmpty { rest = (chunk.key, found, left) }
    }
}

/// Reads the rows of a type in the total order.
enum RowReader {
    /// Returns `false` if a chunk is empty, or if its only revision belongs to a source that is not wanted.
    static func mayHold(_ chunk: HotChunk, _ sources: Set<UInt32>?, in snapshot: Snapshot) throws -> Bool {
        guard let sources, chunk.rows > 0, let common = try chunk.commonRevision() else { return chunk.rows > 0 }
        try chunk.verify()
        return sources.contains(try NameTable.revision(common, in: snapshot).sourceNumber)
    }

    /// Calls `body` with each matching row of a type in the total order, until it returns `false`.
    ///
    /// - Parameter wanted: the number of rows that the caller wants, as far as it knows.
    static func forEachRow(
        of type: UInt32, _ query: RowQuery, wanted: Int = .max, skippingDamage log: DamageLog? = nil,
        in snapshot: Snapshot, _ body: (StoredRow) throws -> Bool
    ) throws {
        try forEachRun(of: type, query, wanted: wanted, skippingDamage: log, in: snapshot) { rows in
            for row in rows { guard try body(row) else { return false } }
            return true
        }
    }

    /// Calls `body` with the matching rows of a type in the total order, several at a time, until it returns `false`.
    static func forEachRun(
        of type: UInt32, _ query: RowQuery, wanted: Int = .max, skippingDamage log: DamageLog? = nil,
        in snapshot: Snapshot, _ body: (ArraySlice<StoredRow>) throws -> Bool
    ) throws {
        guard !query.range.isEmpty else { return }
        var sources = try query.sourceNumbers ?? query.source.map { try NameTable.numbers(meantBy: $0, in: snapshot) }
        let filter = try query.filter.map { try RowFilter($0, of: NameTable.type(type, in: snapshot), in: snapshot) }
        // Chunks of one source need not be decoded to be left out.
        if sources == nil { sources = filter?.neededSources }
        if sources?.isEmpty == true { return }
        // A read that skips damage reports lanes that lost all their chunks.
        let durations = try log == nil ? ChunkTable.durations(of: type, in: snapshot) : DurationClass.allCases
        let step = min(wanted, LaneReader.usualStep)
        var readers = durations.map {
            LaneReader(Lane(type: type, duration: $0), query, sources: sources, filter: filter, step: step, log)
        }
        while true {
            for index in readers.indices { try readers[index].prepare(snapshot) }
            guard let turn = LaneMerge.turn(of: readers) else { return }
            guard try body(readers[turn.lane].takeRun(before: turn.rival)) else { return }
        }
    }

    /// Counts matching rows, using only the headers of chunks that match as a whole.
    static func count(of type: UInt32, _ query: RowQuery, in snapshot: Snapshot) throws -> Int {
        guard !query.range.isEmpty else { return 0 }
        var count = 0
        for duration in DurationClass.allCases {
            let lane = Lane(type: type, duration: duration)
            let starts = query.starts(of: duration)
            let inner = (from: Point.at(query.range.from.nanoseconds), to: starts.to)
            try ChunkTable.forEachChunk(lane, from: starts.from, to: starts.to, in: snapshot) { chunk in
                // If a sample starts inside the range and need not end inside it, it matches in any case.
                if query.rule != .strictEnd, inner.from <= chunk.key.lower, chunk.upper <= inner.to,
                    !ChunkTable.mayHide(lane, chunk.key.lower.start...chunk.upper.start, in: snapshot)
                {
                    count += chunk.rows - chunk.shadowed
                } else {
                    for row in try ChunkTable.visibleRows(chunk, in: snapshot) where query.picks(row) { count += 1 }
                }
                return true
            }
        }
        return count
    }
}
