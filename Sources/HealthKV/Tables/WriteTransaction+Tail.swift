import ColumnFormat

// Apps mostly save samples one by one, with the newest last. If the last chunk of a lane were full, each such sample
// would rewrite some hundreds of rows. So the last chunk is a small one, the tail; once it is full, its rows move to
// the chunk before it.
extension WriteTransaction {
    /// The maximum number of rows in a tail or a head: few enough to rewrite for each sample, many enough that the
    /// chunk next to it is seldom rewritten.
    private static let endRows = 64

    /// Writes a chunk to whose end a few rows were appended, if a tail should begin there. Returns `false` if the chunk
    /// should be written like any other.
    mutating func beginTail(_ bounds: ChunkBounds, _ merged: LaneEdit.Merged) throws -> Bool {
        guard bounds.upper == .greatest, let old = merged.rowsBeforeAppended, old > 0,
            merged.added.count < WriteTransaction.endRows, merged.rows.count > WriteTransaction.endRows
        else { return false }
        let border = merged.rows[old].point
        var head = ChunkBounds(key: bounds.key, upper: border)
        var rows = merged.rows[..<old]
        if old <= WriteTransaction.endRows, let other = try snapshot.chunkBefore(head), other.purged.isEmpty {
            let joined = other.rows + rows
            if fits(joined[...], environment.encoder.plan(joined.prefix(ChunkEncoder.rowLimit))) {
                try removeChunk(head.key)
                head.key = other.bounds.key
                rows = joined[...]
            }
        }
        let tail = ChunkBounds(key: ChunkKey(lane: head.key.lane, lower: border), upper: .greatest)
        try pack(head, rows, ChunkPacker(environment.encoder, .wholeThenRest))
        try pack(tail, merged.rows[old...], ChunkPacker(environment.encoder, .wholeThenRest))
        return true
    }

    /// Joins the chunk before a tail with the tail if many rows were appended, so that chunks are full.
    mutating func endTail(_ bounds: inout ChunkBounds, _ merged: inout LaneEdit.Merged) throws {
        guard bounds.upper == .greatest, let old = merged.rowsBeforeAppended, old > 0,
            old <= WriteTransaction.endRows, merged.added.count >= WriteTransaction.endRows,
            let other = try snapshot.chunkBefore(bounds, limit: environment.encoder.hotBudget * 3 / 4),
            other.purged.isEmpty
        else { return }
        try removeChunk(bounds.key)
        bounds.key = other.bounds.key
        merged.rows.insert(contentsOf: other.rows, at: 0)
    }
}

// A history that is typed in from paper, or read backwards, arrives newest first. So the first chunk of a lane is kept
// small in the same way if rows arrive before all others.
extension WriteTransaction {
    /// Writes the first chunk of a lane if a few rows were inserted before all others. Returns `false` if the chunk
    /// should be written like any other.
    mutating func beginHead(_ bounds: ChunkBounds, _ merged: LaneEdit.Merged) throws -> Bool {
        guard bounds.key.lower == .least, let new = merged.rowsPrepended, new < WriteTransaction.endRows else {
            return false
        }
        guard merged.rows.count > WriteTransaction.endRows else {
            // Unlike other small chunks, a head is not joined with the chunk after it.
            try pack(bounds, merged.rows[...], ChunkPacker(environment.encoder, .wholeThenRest))
            return true
        }
        let border = merged.rows[new].point
        var rest = ChunkBounds(key: ChunkKey(lane: bounds.key.lane, lower: border), upper: bounds.upper)
        var rows = merged.rows[new...]
        if rows.count <= WriteTransaction.endRows, let other = try snapshot.chunkBehind(bounds), other.purged.isEmpty {
            let joined = rows + other.rows
            if fits(joined[...], environment.encoder.plan(joined.prefix(ChunkEncoder.rowLimit))) {
                try removeChunk(other.bounds.key)
                rest.upper = other.bounds.upper
                rows = joined
            }
        }
        let head = ChunkBounds(key: bounds.key, upper: border)
        try pack(rest, rows, ChunkPacker(environment.encoder, .wholeThenRest))
        try pack(head, merged.rows[..<new], ChunkPacker(environment.encoder, .wholeThenRest))
        return true
    }
}

extension Snapshot {
    fileprivate func chunkBehind(_ bounds: ChunkBounds) throws -> LoadedChunk? {
        try neighbour(of: bounds, before: false, limit: .max)
    }

    fileprivate func chunkBefore(_ bounds: ChunkBounds, limit: Int = .max) throws -> LoadedChunk? {
        try neighbour(of: bounds, before: true, limit: limit)
    }
}
