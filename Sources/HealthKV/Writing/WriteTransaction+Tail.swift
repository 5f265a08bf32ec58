import ColumnFormat

// What apps save comes mostly one by one and newest last. Were the last chunk of a lane a full one, each such sample would rewrite some
// hundreds. So the last chunk is a small one, the tail, and once it is full its rows go to the chunk before it.
extension WriteTransaction {
    /// The most rows of a tail or a head: few enough to be rewritten for each sample, many enough to move the chunk before it seldom.
    private static let endRows = 64

    /// Writes a chunk to whose end a few rows came, where a tail is to begin; answers false where it is written as any other.
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

    /// Puts the rows of the chunk before a tail in front of many that came behind it, so that chunks are full.
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

// A history that is typed in from paper, or read backwards, comes newest first. So the first chunk of a lane is kept small in the same way
// where rows come before all others.
extension WriteTransaction {
    /// Writes a chunk in front of whose rows a few others came, where the lane begins; returns `false` where it is written as any other.
    mutating func beginHead(_ bounds: ChunkBounds, _ merged: LaneEdit.Merged) throws -> Bool {
        guard bounds.key.lower == .least, let new = merged.rowsPrepended, new < WriteTransaction.endRows else {
            return false
        }
        guard merged.rows.count > WriteTransaction.endRows else {
            // Not joined with the chunk behind it, as other small ones are.
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
