import ColumnFormat
import HealthModel
import LMDB

/// Walks over the readable chunks of a lane and notes the damaged ranges.
enum ReadableChunks {
    /// Calls `body` with each readable chunk of a lane whose span overlaps `from..<to`, until it returns `false`. Notes
    /// the unreadable parts of the lane.
    static func forEachReadableChunk(
        _ lane: Lane, from: Point, to: Point, descending: Bool, _ log: DamageLog, in snapshot: Snapshot,
        _ body: (HotChunk) throws -> Bool
    ) throws {
        guard from < to else { return }
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        var found = try seekNear(&cursor, lane, descending ? to : from, in: snapshot)
        // The point up to which the lane was read, in the direction of the read.
        var reached = descending ? to : from
        while found {
            try snapshot.context.checkTime()
            let key = try ChunkKey(cursor.key)
            guard key.lane == lane else { break }
            let upper = try upperBound(of: key, in: snapshot)
            if descending ? upper <= from : key.lower >= to { break }
            if !descending, key.lower > reached { log.note(reached, key.lower) }
            reached = descending ? key.lower : upper
            if key.lower < to, upper > from {
                guard try passOn(cursor, key, upper, behind: descending ? nil : from, log, in: snapshot, body) else {
                    return
                }
            }
            found = try descending ? cursor.previous() : cursor.next()
        }
        if descending ? reached > max(from, .least) : reached < min(to, .greatest), try hasChunks(lane, in: snapshot) {
            if descending { log.note(from, reached) } else { log.note(reached, to) }
        }
    }

    /// Passes the chunk at the cursor to `body`, or notes that it cannot be read.
    ///
    /// - Parameter from: the point at which an ascending read starts or continues. A chunk that ends before it is
    ///   outside the range or was read already, and is skipped; the chunks between it and the point were lost.
    private static func passOn(
        _ cursor: borrowing Cursor, _ key: ChunkKey, _ upper: Point, behind from: Point?, _ log: DamageLog,
        in snapshot: Snapshot, _ body: (HotChunk) throws -> Bool
    ) throws -> Bool {
        do {
            let chunk = try HotChunk(cursor.value, key: cursor.key, verified: snapshot.context.verified)
            try verifyWhole(chunk, in: snapshot)
            // Chunks tile the axis without gaps, so a chunk in a gap was lost.
            if chunk.upper < upper { log.note(chunk.upper, upper) }
            return try from.map { chunk.upper <= $0 } ?? false ? true : body(chunk)
        } catch let error as FormatError where error.code != .unknown && !error.isOfNewerRelease {
            log.note(key.lower, upper)
        } catch let error as StoreError where error.code == .damaged {
            log.note(key.lower, upper)
        }
        return true
    }

    private static func verifyWhole(_ chunk: HotChunk, in snapshot: Snapshot) throws {
        try chunk.verify()
        guard chunk.rows > 0 else { return }
        try ChunkTable.details(of: chunk, in: snapshot).verify()
    }

    /// Moves the cursor to the chunk that owns a point, or to the first one after it if that chunk is missing.
    @_lifetime(cursor: copy cursor)
    private static func seekNear(_ cursor: inout Cursor, _ lane: Lane, _ point: Point, in snapshot: Snapshot) throws
        -> Bool
    {
        if try cursor.seekAtOrBefore(ChunkKey(lane: lane, lower: point).behindStored) {
            let key = try ChunkKey(cursor.key)
            if key.lane == lane { return true }
        }
        return try cursor.seek(ChunkKey(lane: lane, lower: .least).bytes)
    }

    /// Returns the lower bound of the next chunk of the lane.
    private static func upperBound(of key: ChunkKey, in snapshot: Snapshot) throws -> Point {
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        guard try cursor.seek(key.bytes), try cursor.next() else { return .greatest }
        let next = try ChunkKey(cursor.key)
        return next.lane == key.lane ? next.lower : .greatest
    }

    private static func hasChunks(_ lane: Lane, in snapshot: Snapshot) throws -> Bool {
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        guard try cursor.seek(ChunkKey(lane: lane, lower: .least).bytes) else { return false }
        return try ChunkKey(cursor.key).lane == lane
    }
}
