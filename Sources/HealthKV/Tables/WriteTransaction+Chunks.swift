import ColumnFormat
import HealthModel
import LMDB

/// The rows of one chunk, loaded to be changed.
struct LoadedChunk {
    var bounds: ChunkBounds
    var rows: [StoredRow]
    /// Rows that an unfinished mass operation removes. They are not in `rows`.
    var purged: [StoredRow]
    /// Whether the chunk is already stored in the table.
    var exists: Bool

    /// Moves the rows out, so that the array can grow without a copy.
    mutating func takeRows() -> [StoredRow] {
        defer { rows = [] }
        return rows
    }
}

extension Snapshot {
    /// Loads the chunk that owns a point. A lane without chunks gets an empty chunk that owns the whole axis.
    func load(_ lane: Lane, _ point: Point) throws -> LoadedChunk {
        var cursor = try view.cursor(tables[.chunks])
        guard try seek(&cursor, lane, point) else {
            let key = ChunkKey(lane: lane, lower: .least)
            return LoadedChunk(bounds: ChunkBounds(key: key, upper: .greatest), rows: [], purged: [], exists: false)
        }
        let chunk = try HotChunk(cursor.value, key: cursor.key)
        guard point < chunk.upper || point == .greatest else { throw damaged("a chunk is missing") }
        return try load(chunk)
    }

    func load(_ chunk: HotChunk) throws -> LoadedChunk {
        let rows = try allRows(chunk)
        let bounds = ChunkBounds(key: chunk.key, upper: chunk.upper)
        guard let hides = try hidden(rows, chunk.key.lane) else {
            return LoadedChunk(bounds: bounds, rows: rows, purged: [], exists: true)
        }
        return LoadedChunk(
            bounds: bounds, rows: rows.filter { !hides($0) }, purged: rows.filter(hides), exists: true)
    }

    /// Returns the chunk before or after another chunk in its lane if its hot value is no longer than `limit`. A
    /// damaged neighbour counts as none: the join only saves space, and an unreadable neighbour must not prevent rows
    /// from being saved.
    func neighbour(of bounds: ChunkBounds, before: Bool, limit: Int) throws -> LoadedChunk? {
        do { return try loadNeighbour(of: bounds, before: before, limit: limit) } catch
            where StoreError.isDamage(error)
        {
            return nil
        }
    }

    private func loadNeighbour(of bounds: ChunkBounds, before: Bool, limit: Int) throws -> LoadedChunk? {
        var cursor = try view.cursor(tables[.chunks])
        guard try seekExact(&cursor, bounds.key), try before ? cursor.previous() : cursor.next() else { return nil }
        let chunk = try HotChunk(cursor.value, key: cursor.key)
        guard chunk.key.lane == bounds.key.lane else { return nil }
        guard before ? chunk.upper == bounds.key.lower : chunk.key.lower == bounds.upper else {
            throw damaged("a chunk is missing")
        }
        return cursor.value.byteCount > limit ? nil : try load(chunk)
    }
}

extension WriteTransaction {
    /// Inserts rows into a lane and removes points from it, chunk by chunk. Both lists must be sorted; an inserted row
    /// replaces the row at its point. Updates counts, spans and stale marks; the caller updates identities. Returns the
    /// removed rows.
    @discardableResult
    mutating func apply(_ lane: Lane, inserts: [StoredRow], removals: [Point] = []) throws -> [StoredRow] {
        var edit = LaneEdit(inserts: inserts, removals: removals)
        var removed: [StoredRow] = []
        while let point = edit.next {
            var chunk = try snapshot.load(lane, point)
            var merged = edit.merge(chunk.takeRows(), before: chunk.bounds.upper)
            try account(lane, merged)
            removed += merged.removed
            if !chunk.purged.isEmpty { try settlePurged(lane, chunk.purged) }
            let marks = try shadows(lane.type)
            if marks { try markShadows(lane, &merged.rows, chunk.bounds) }
            let bounds = chunk.bounds
            let isPlain = chunk.exists && chunk.purged.isEmpty
            if try !(isPlain && (beginTail(bounds, merged) || beginHead(bounds, merged))) {
                if chunk.exists { try endTail(&chunk.bounds, &merged) }
                try write(chunk.bounds, merged.rows, exists: chunk.exists, growth: merged.growth)
            }
            // Rivals at the ends of the chunk's span may be in neighbouring chunks.
            if marks { try refreshShadows(lane, merged.contested(with: chunk.purged, atEndsOf: bounds)) }
        }
        return removed
    }

    /// Writes the rows of a span as one or more chunks, and joins a small remainder with a neighbour.
    mutating func write(
        _ bounds: ChunkBounds, _ rows: [StoredRow], exists: Bool, growth: ChunkPacker.Growth = .anywhere
    ) throws {
        var bounds = bounds
        var rows = rows
        let encoder = environment.encoder
        var plan = rows.isEmpty ? nil : encoder.plan(rows.prefix(ChunkEncoder.rowLimit))
        // The last chunk of a lane may stay small, because more rows will be appended to it.
        let isTail = bounds.upper == .greatest && !rows.isEmpty
        if exists, !isTail, plan.map({ $0.byteCount * 4 < encoder.hotBudget }) ?? true,
            rows.count < ChunkEncoder.rowLimit / 4
        {
            if try join(&bounds, &rows, hotBytes: plan?.byteCount ?? 0) {
                plan = rows.isEmpty ? nil : encoder.plan(rows[...])
            }
        }
        guard let plan else {
            let empty = encoder.encodeEmpty(key: bounds.key, upper: bounds.upper, commit: commit)
            return try put(bounds.key, empty.hot, empty.details)
        }
        if fits(rows[...], plan) { return try put(bounds, rows[...], plan) }
        try writeSeveral(bounds, rows, growth)
    }

    /// Returns `true` if rows with this plan fit into one chunk.
    func fits(_ rows: ArraySlice<StoredRow>, _ plan: ChunkEncoder.HotPlan) -> Bool {
        plan.rows == rows.count && plan.byteCount <= environment.encoder.hotBudget
            && ChunkEncoder.rowsWithinTextBudget(rows) == rows.count
    }

    mutating func removeChunk(_ key: ChunkKey) throws {
        if let stored = try snapshot.storedKey(of: key) { try remove(.chunks, stored) }
        try remove(.details, key.bytes)
    }

    /// Joins a small chunk with a neighbour that has room, so that deletions do not leave tiny chunks.
    private mutating func join(
        _ bounds: inout ChunkBounds, _ rows: inout [StoredRow], hotBytes: Int
    ) throws -> Bool {
        // Joined values share one header. A neighbour that is certainly too long is not decoded.
        let limit = environment.encoder.hotBudget * 3 / 4 + ChunkEncoder.hotOverhead - hotBytes
        for before in [true, false] {
            guard let other = try snapshot.neighbour(of: bounds, before: before, limit: limit), other.purged.isEmpty
            else {
                continue
            }
            guard other.rows.count + rows.count <= ChunkEncoder.rowLimit else { continue }
            let joined = before ? other.rows + rows : rows + other.rows
            guard ChunkEncoder.rowsWithinTextBudget(joined[...]) == joined.count else { continue }
            if !joined.isEmpty,
                environment.encoder.plan(joined[...]).byteCount > environment.encoder.hotBudget * 3 / 4
            {
                continue
            }
            let gone = before ? bounds.key : other.bounds.key
            try removeChunk(gone)
            bounds = ChunkBounds(
                key: before ? other.bounds.key : bounds.key, upper: before ? bounds.upper : other.bounds.upper)
            rows = joined
            return true
        }
        return false
    }

    /// Splits rows over several chunks. Where more rows will follow, as at the end of a lane, each chunk is filled and
    /// the remainder is placed next to the insertion point. Elsewhere the chunks get equal parts with room to grow.
    private mutating func writeSeveral(
        _ bounds: ChunkBounds, _ rows: [StoredRow], _ growth: ChunkPacker.Growth
    ) throws {
        if let tail = tailToPart(rows, growth) {
            let cut = rows.count - tail
            let border = rows[cut].point
            let isBetween = if case .between = growth { true } else { false }
            try pack(
                ChunkBounds(key: bounds.key, upper: border), rows[..<cut],
                ChunkPacker(environment.encoder, isBetween ? .wholeThenRest : .restThenWhole))
            let key = ChunkKey(lane: bounds.key.lane, lower: border)
            return try pack(
                ChunkBounds(key: key, upper: bounds.upper), rows[cut...],
                ChunkPacker(environment.encoder, .wholeThenRest))
        }
        let isAtEnd = bounds.upper == .greatest || rows.count > 4 * ChunkEncoder.rowLimit
        let order: ChunkPacker.Order =
            switch growth {
            case .behind: .wholeThenRest
            case .before: .restThenWhole
            case .anywhere, .between: isAtEnd ? .wholeThenRest : .equal
            }
        try pack(bounds, rows[...], ChunkPacker(environment.encoder, order))
    }

    /// Returns the number of rows at the end that get chunks of their own, so that later inserts before them do not
    /// move them again.
    private func tailToPart(_ rows: [StoredRow], _ growth: ChunkPacker.Growth) -> Int? {
        switch growth {
        case .anywhere, .behind: return nil
        case .between(let tail): return tail
        case .before(let tail):
            let plan = environment.encoder.plan(rows.suffix(min(tail, ChunkEncoder.rowLimit)))
            return plan.byteCount * 8 >= environment.encoder.hotBudget * 7 ? tail : nil
        }
    }

    mutating func pack(_ bounds: ChunkBounds, _ rows: ArraySlice<StoredRow>, _ packer: ChunkPacker) throws {
        let encoder = environment.encoder
        var packer = packer
        var from = rows.startIndex
        var key = bounds.key
        while from < rows.endIndex {
            var plan = packer.next(rows[from...])
            let most = ChunkEncoder.rowsWithinTextBudget(rows[from..<from + plan.rows])
            if most < plan.rows { plan = encoder.plan(rows[from..<from + most]) }
            let to = from + plan.rows
            let upper = to < rows.endIndex ? rows[to].point : bounds.upper
            try put(ChunkBounds(key: key, upper: upper), rows[from..<to], plan)
            key.lower = upper
            from = to
        }
    }

    private mutating func put(
        _ bounds: ChunkBounds, _ rows: ArraySlice<StoredRow>, _ plan: ChunkEncoder.HotPlan
    ) throws {
        let encoder = environment.encoder
        try put(
            bounds.key, encoder.encodeHot(plan, key: bounds.key, upper: bounds.upper, commit: commit),
            encoder.encodeDetails(rows, key: bounds.key, upper: bounds.upper, commit: commit))
    }

    /// Replaces the two values of a chunk.
    mutating func put(_ key: ChunkKey, _ hot: [UInt8], _ details: [UInt8]) throws {
        let stored = key.stored(commit: commit)
        if let old = try snapshot.storedKey(of: key), old != stored { try remove(.chunks, old) }
        try put(.chunks, stored, hot)
        try put(.details, key.bytes, details)
    }
}

/// Chooses the number of rows for each of several chunks.
struct ChunkPacker {
    /// Where more rows are likely to be inserted; `tail` is the number of rows after that place.
    enum Growth {
        case anywhere
        case behind
        case before(tail: Int)
        case between(tail: Int)
    }

    enum Order {
        case equal
        case wholeThenRest
        case restThenWhole
    }

    private let encoder: ChunkEncoder
    private let order: Order
    private var guess: Int
    private var piece = 0

    init(_ encoder: ChunkEncoder, _ order: Order) {
        self.encoder = encoder
        self.order = order
        guess = 600
    }

    private var fillsWhole: Bool { order == .wholeThenRest }

    /// Returns the plan of the next chunk, taken from the front of `rows`.
    mutating func next(_ rows: ArraySlice<StoredRow>) -> ChunkEncoder.HotPlan {
        var wanted = guess
        if !fillsWhole {
            let isFirst = piece == 0
            if isFirst { piece = order == .restThenWhole ? wholePiece(rows) : equalPiece(rows) }
            wanted = isFirst && order == .restThenWhole ? (rows.count - 1) % piece + 1 : piece
        }
        var count = min(rows.count, ChunkEncoder.rowLimit, wanted)
        var plan = encoder.plan(rows.prefix(count))
        for attempt in 0..<8 {
            if plan.byteCount > encoder.hotBudget {
                // The size grows almost in proportion to the rows, so aiming slightly lower usually succeeds at the
                // first attempt.
                count = max(1, min(count - 1, count * (encoder.hotBudget - 64) / plan.byteCount))
            } else if fillsWhole, attempt < 2, plan.byteCount * 16 < encoder.hotBudget * 15,
                count < min(rows.count, ChunkEncoder.rowLimit)
            {
                count = min(rows.count, ChunkEncoder.rowLimit, count * (encoder.hotBudget - 64) / plan.byteCount)
            } else {
                break
            }
            plan = encoder.plan(rows.prefix(count))
        }
        while plan.byteCount > encoder.hotBudget, count > 1 {
            count = max(1, count * 3 / 4)
            plan = encoder.plan(rows.prefix(count))
        }
        if count < rows.count { guess = count }
        return plan
    }

    /// Returns a number of rows that nearly fills a page, with enough slack that hardly any chunk is too long. Many
    /// rows compress better than few, so the number is found iteratively.
    private func wholePiece(_ rows: ArraySlice<StoredRow>) -> Int {
        var piece = min(rows.count, ChunkEncoder.rowLimit)
        for _ in 0..<6 {
            let plan = encoder.plan(rows.suffix(piece))
            if plan.byteCount * 32 <= encoder.hotBudget * 31 { break }
            piece = max(1, min(piece - 1, piece * encoder.hotBudget * 31 / (32 * plan.byteCount)))
        }
        return piece
    }

    /// Returns the number of rows for equal parts of about two thirds of a page.
    private func equalPiece(_ rows: ArraySlice<StoredRow>) -> Int {
        let sampled = encoder.plan(rows.prefix(ChunkEncoder.rowLimit))
        let bytes = sampled.byteCount * rows.count / sampled.rows
        let pieces = max(2, (bytes * 3 + 2 * encoder.hotBudget - 1) / (2 * encoder.hotBudget))
        return (rows.count + pieces - 1) / pieces
    }
}
