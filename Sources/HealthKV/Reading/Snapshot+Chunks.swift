import ColumnFormat
import HealthModel
import LMDB

/// The key of a chunk and its upper bound, which together define its span.
struct ChunkBounds: Sendable {
    var key: ChunkKey
    var upper: Point
}

extension Snapshot {
    /// Returns the visible rows of a chunk, or those in `range`: verified, and without the rows that unfinished mass
    /// operations hide.
    func visibleRows(_ chunk: HotChunk, _ range: Range<Int>? = nil) throws -> [StoredRow] {
        let rows = try allRows(chunk, range)
        return try hidden(rows, chunk.key.lane).map { hides in rows.filter { !hides($0) } } ?? rows
    }

    /// Returns the rows of a chunk, including hidden ones.
    func allRows(_ chunk: HotChunk, _ range: Range<Int>? = nil) throws -> [StoredRow] {
        guard chunk.rows > 0 else { return [] }
        try loadNames(of: chunk)
        let keyBytes = chunk.key.bytes
        guard let span = try view.get(tables[.details], keyBytes) else { throw damaged("a chunk has no details") }
        let details = try DetailsChunk(span, of: chunk, verified: context.verified)
        let decoder = try ChunkDecoder(hot: chunk, details: details)
        return try range.map { try decoder.rows($0, context) } ?? decoder.rows(context)
    }

    /// Calls `body` with the chunk of a key that this snapshot is known to hold.
    func withChunk(_ key: ChunkKey, _ body: (HotChunk) throws -> Void) throws {
        try context.checkTime()
        var cursor = try view.cursor(tables[.chunks])
        guard try seekExact(&cursor, key) else { throw damaged("a chunk is missing") }
        try body(HotChunk(cursor.value, key: cursor.key, verified: context.verified))
    }

    /// Moves a cursor to the chunk of a key; returns `false` if there is none.
    @_lifetime(cursor: copy cursor)
    func seekExact(_ cursor: inout Cursor, _ key: ChunkKey) throws -> Bool {
        try cursor.seek(key.bytes) && ChunkKey(cursor.key) == key
    }

    /// Returns the key under which a chunk is stored; `nil` if there is none.
    func storedKey(of key: ChunkKey) throws -> [UInt8]? {
        var cursor = try view.cursor(tables[.chunks])
        return try seekExact(&cursor, key) ? cursor.key.copied() : nil
    }

    /// Returns a test for rows that unfinished mass operations hide; `nil` if none of them affects these rows.
    func hidden(_ rows: [StoredRow], _ lane: Lane) throws -> ((StoredRow) -> Bool)? {
        guard !context.state.intents.isEmpty, let first = rows.first, let last = rows.last else { return nil }
        let intents = context.state.intents.filter { $0.mayTouch(lane, first.start...last.start) }
        if intents.isEmpty { return nil }
        var sources: [UInt32: UInt32] = [:]
        for row in rows where sources[row.revision] == nil {
            sources[row.revision] = try revision(row.revision).sourceNumber
        }
        return { row in intents.contains { $0.hides(row, type: lane.type, source: sources[row.revision] ?? 0) } }
    }

    /// Returns `true` if unfinished mass operations may hide rows of a lane in a range of starts.
    func mayHide(_ lane: Lane, _ starts: ClosedRange<Int64>) -> Bool {
        context.state.intents.contains { $0.mayTouch(lane, starts) }
    }

    /// Moves a cursor to the chunk that owns `point`; returns `false` if the lane has no chunks.
    @_lifetime(cursor: copy cursor)
    func seek(_ cursor: inout Cursor, _ lane: Lane, _ point: Point) throws -> Bool {
        if try cursor.seekAtOrBefore(ChunkKey(lane: lane, lower: point).behindStored),
            try ChunkKey(cursor.key).lane == lane
        {
            return true
        }
        // The first chunk of a lane owns everything before the second.
        if try cursor.seek(ChunkKey(lane: lane, lower: .least).bytes), try ChunkKey(cursor.key).lane == lane {
            throw damaged("a chunk is missing")
        }
        return false
    }

    /// Calls `body` with each chunk of a lane whose span overlaps `from..<to`, until it returns `false`.
    func forEachChunk(
        _ lane: Lane, from: Point, to: Point, descending: Bool = false,
        _ body: (HotChunk) throws -> Bool
    ) throws {
        guard from < to else { return }
        var cursor = try view.cursor(tables[.chunks])
        var found = try seek(&cursor, lane, descending ? to : from)
        var expected: Point? = found ? nil : descending ? .least : .greatest
        if found { prefetch(cursor.value) }
        while found {
            try context.checkTime()
            let chunk = try HotChunk(cursor.value, key: cursor.key, verified: context.verified)
            guard chunk.key.lane == lane else { break }
            // Chunks tile the axis without gaps, so a gap is a missing chunk, not an empty range.
            if let expected, descending ? chunk.upper != expected : chunk.key.lower != expected {
                throw damaged("a chunk is missing")
            }
            if expected == nil, descending ? chunk.upper < to : chunk.upper <= from {
                throw damaged("a chunk is missing")
            }
            expected = descending ? chunk.key.lower : chunk.upper
            if descending ? chunk.upper <= from : chunk.key.lower >= to { return }
            let isLast = descending ? chunk.key.lower <= from : chunk.upper >= to
            if !isLast {
                // Prefetch the next value while this one is processed.
                found = try descending ? cursor.previous() : cursor.next()
                if found { prefetch(cursor.value) }
            }
            if !(descending && chunk.key.lower >= to) {
                guard try body(chunk) else { return }
            }
            if isLast { return }
        }
        // The last chunk of a lane owns everything after it, as the first owns everything before it.
        guard let expected, descending ? expected <= max(from, .least) : expected >= min(to, .greatest) else {
            throw damaged("a chunk is missing")
        }
    }

    /// Returns the numbers of all types that have chunks, ascending.
    func typesWithChunks() throws -> [UInt32] {
        var types: [UInt32] = []
        var cursor = try view.cursor(tables[.chunks])
        var found = try cursor.first()
        while found {
            let type = try ChunkKey(cursor.key).lane.type
            types.append(type)
            guard type < .max else { break }
            found = try cursor.seek(ChunkKey(lane: Lane(type: type + 1, duration: .hour), lower: .least).bytes)
        }
        return types
    }
}
