import ColumnFormat

// What apps save comes mostly one by one and newest last. Were the last chunk of a lane a full one, each such sample would rewrite some
// hundreds. So the last chunk is a small one, the tail, and once it is full its rows go to the chunk before it.
extension WriteTransaction {
    /// The most rows of a tail: few enough to be rewritten for each sample, many enough to move the chunk before it seldom.
    private static let tailRows = 64

    /// Writes a chunk to whose end a few rows came, where a tail is to begin; answers false where it is written as any other.
    mutating func beginTail(_ bounds: ChunkBounds, _ merged: LaneEdit.Merged) throws -> Bool {
        guard bounds.upper == .greatest, let old = merged.rowsBeforeAppended, old > 0,
            merged.added.count < WriteTransaction.tailRows, merged.rows.count > WriteTransaction.tailRows
        else { return false }
        let border = merged.rows[old].point
        var head = ChunkBounds(key: bounds.key, upper: border)
        var rows = merged.rows[..<old]
        if old <= WriteTransaction.tailRows, let other = try snapshot.chunkBefore(head), other.purged.isEmpty {
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
            old <= WriteTransaction.tailRows, merged.added.count >= WriteTransaction.tailRows,
            let other = try snapshot.chunkBefore(bounds, limit: environment.encoder.hotBudget * 3 / 4),
            other.purged.isEmpty
        else { return }
        try removeChunk(bounds.key)
        bounds.key = other.bounds.key
        merged.rows.insert(contentsOf: other.rows, at: 0)
    }
}

extension Snapshot {
    fileprivate func chunkBefore(_ bounds: ChunkBounds, limit: Int = .max) throws -> LoadedChunk? {
        try neighbour(of: bounds, before: true, limit: limit)
    }
}
