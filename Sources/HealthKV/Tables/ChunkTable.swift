import ColumnFormat
import HealthModel
import LMDB

/// The key of a chunk and its upper bound, which together define its span.
struct ChunkBounds: Sendable {
    var key: ChunkKey
    var upper: Point
}

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

/// The chunks: for each lane a sequence of spans that tile the axis of points without gaps. A chunk has a hot value
/// (`chunks`) and its details (`details`).
enum ChunkTable {
    /// Returns the visible rows of a chunk, or those in `range`: verified, and without the rows that unfinished mass
    /// operations hide.
    static func visibleRows(_ chunk: HotChunk, _ range: Range<Int>? = nil, in snapshot: Snapshot) throws -> [StoredRow]
    {
        let rows = try allRows(chunk, range, in: snapshot)
        return try hidden(rows, chunk.key.lane, in: snapshot).map { hides in rows.filter { !hides($0) } } ?? rows
    }

    /// Returns a row of a chunk, unless an unfinished mass operation hides it. Decodes only this row.
    static func visibleRow(
        _ chunk: HotChunk, at index: Int, of found: FoundRows, in snapshot: Snapshot
    ) throws -> [StoredRow] {
        let row = try row(chunk, details(of: chunk, in: snapshot), at: index, of: found, in: snapshot)
        return try hidden([row], chunk.key.lane, in: snapshot)?(row) == true ? [] : [row]
    }

    /// Returns one of the rows that were found in a chunk, verified like all rows.
    static func row(
        _ chunk: HotChunk, _ details: DetailsChunk, at index: Int, of found: FoundRows, in snapshot: Snapshot
    ) throws -> StoredRow {
        // A derived id is computed from these names.
        _ = try NameTable.type(chunk.key.lane.type, in: snapshot)
        _ = try NameTable.revision(chunk.revision(at: index), in: snapshot)
        _ = try NameTable.unit(chunk.unit(at: index), in: snapshot)
        return try ChunkDecoder(hot: chunk, details: details).row(at: index, of: found, snapshot.context)
    }

    /// Returns the details of a chunk.
    @_lifetime(copy snapshot)
    static func details(of chunk: HotChunk, in snapshot: Snapshot) throws -> DetailsChunk {
        let keyBytes = chunk.key.bytes
        guard let span = try snapshot.view.get(snapshot.tables[.details], keyBytes) else {
            throw snapshot.damaged(.detailsMissing)
        }
        return try DetailsChunk(span, of: chunk, verified: snapshot.context.verified)
    }

    /// Returns the duration classes of a type that have chunks.
    static func durations(of type: UInt32, in snapshot: Snapshot) throws -> [DurationClass] {
        if let known = snapshot.context.durations[type] { return known }
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        let found = try DurationClass.allCases.filter { duration in
            let lane = Lane(type: type, duration: duration)
            return try cursor.seek(ChunkKey(lane: lane, lower: .least).bytes) && ChunkKey(cursor.key).lane == lane
        }
        if !snapshot.context.isOfWriter { snapshot.context.durations[type] = found }
        return found
    }

    /// Returns the rows of a chunk, including hidden ones.
    static func allRows(_ chunk: HotChunk, _ range: Range<Int>? = nil, in snapshot: Snapshot) throws -> [StoredRow] {
        guard chunk.rows > 0 else { return [] }
        try NameTable.loadNames(of: chunk, in: snapshot)
        let decoder = try ChunkDecoder(hot: chunk, details: details(of: chunk, in: snapshot))
        return try range.map { try decoder.rows($0, snapshot.context) } ?? decoder.rows(snapshot.context)
    }

    /// Calls `body` with the chunk of a key that this snapshot is known to hold.
    static func withChunk(_ key: ChunkKey, in snapshot: Snapshot, _ body: (HotChunk) throws -> Void) throws {
        try snapshot.context.checkTime()
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        guard try seekExact(&cursor, key, in: snapshot) else { throw snapshot.damaged(.chunkMissing) }
        try body(HotChunk(cursor.value, key: cursor.key, verified: snapshot.context.verified))
    }

    /// Moves a cursor to the chunk of a key; returns `false` if there is none.
    @_lifetime(cursor: copy cursor)
    static func seekExact(_ cursor: inout Cursor, _ key: ChunkKey, in snapshot: Snapshot) throws -> Bool {
        try cursor.seek(key.bytes) && ChunkKey(cursor.key) == key
    }

    /// Returns the key under which a chunk is stored; `nil` if there is none.
    static func storedKey(of key: ChunkKey, in snapshot: Snapshot) throws -> [UInt8]? {
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        return try seekExact(&cursor, key, in: snapshot) ? cursor.key.copied() : nil
    }

    /// Returns a test for rows that unfinished mass operations hide; `nil` if none of them affects these rows.
    static func hidden(_ rows: [StoredRow], _ lane: Lane, in snapshot: Snapshot) throws -> ((StoredRow) -> Bool)? {
        guard !snapshot.context.state.intents.isEmpty, let first = rows.first, let last = rows.last else { return nil }
        let intents = snapshot.context.state.intents.filter { $0.mayTouch(lane, first.start...last.start) }
        if intents.isEmpty { return nil }
        var sources: [UInt32: UInt32] = [:]
        for row in rows where sources[row.revision] == nil {
            sources[row.revision] = try NameTable.revision(row.revision, in: snapshot).sourceNumber
        }
        return { row in intents.contains { $0.hides(row, type: lane.type, source: sources[row.revision] ?? 0) } }
    }

    /// Returns `true` if unfinished mass operations may hide rows of a lane in a range of starts.
    static func mayHide(_ lane: Lane, _ starts: ClosedRange<Int64>, in snapshot: Snapshot) -> Bool {
        snapshot.context.state.intents.contains { $0.mayTouch(lane, starts) }
    }

    /// Moves a cursor to the chunk that owns `point`; returns `false` if the lane has no chunks.
    @_lifetime(cursor: copy cursor)
    static func seek(_ cursor: inout Cursor, _ lane: Lane, _ point: Point, in snapshot: Snapshot) throws -> Bool {
        if try cursor.seekAtOrBefore(ChunkKey(lane: lane, lower: point).behindStored),
            try ChunkKey(cursor.key).lane == lane
        {
            return true
        }
        // The first chunk of a lane owns everything before the second.
        if try cursor.seek(ChunkKey(lane: lane, lower: .least).bytes), try ChunkKey(cursor.key).lane == lane {
            throw snapshot.damaged(.chunkMissing)
        }
        return false
    }

    /// Calls `body` with each chunk of a lane whose span overlaps `from..<to`, until it returns `false`.
    static func forEachChunk(
        _ lane: Lane, from: Point, to: Point, descending: Bool = false,
        in snapshot: Snapshot, _ body: (HotChunk) throws -> Bool
    ) throws {
        guard from < to else { return }
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        var found = try seek(&cursor, lane, descending ? to : from, in: snapshot)
        var expected: Point? = found ? nil : descending ? .least : .greatest
        if found { prefetch(cursor.value) }
        while found {
            try snapshot.context.checkTime()
            let chunk = try HotChunk(cursor.value, key: cursor.key, verified: snapshot.context.verified)
            guard chunk.key.lane == lane else { break }
            // Chunks tile the axis without gaps, so a gap is a missing chunk, not an empty range.
            if let expected, descending ? chunk.upper != expected : chunk.key.lower != expected {
                throw snapshot.damaged(.chunkMissing)
            }
            if expected == nil, descending ? chunk.upper < to : chunk.upper <= from {
                throw snapshot.damaged(.chunkMissing)
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
            throw snapshot.damaged(.chunkMissing)
        }
    }

    /// Returns the numbers of all types that have chunks, ascending.
    static func typesWithChunks(in snapshot: Snapshot) throws -> [UInt32] {
        var types: [UInt32] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        var found = try cursor.first()
        while found {
            let type = try ChunkKey(cursor.key).lane.type
            types.append(type)
            guard type < .max else { break }
            found = try cursor.seek(ChunkKey(lane: Lane(type: type + 1, duration: .hour), lower: .least).bytes)
        }
        return types
    }

    /// Calls `body` with every row of every chunk, hidden ones included.
    static func forEachRowInChunks(in snapshot: Snapshot, _ body: (Lane, StoredRow) throws -> Void) throws {
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        while try cursor.next() {
            let chunk = try HotChunk(cursor.value, key: cursor.key)
            for row in try allRows(chunk, in: snapshot) { try body(chunk.key.lane, row) }
        }
    }

    /// Loads the chunk that owns a point. A lane without chunks gets an empty chunk that owns the whole axis.
    ///
    /// - Parameter written: what this process wrote; if the chunk is among it, it need not be decoded.
    static func load(
        _ lane: Lane, _ point: Point, knowing written: WrittenChunks? = nil, in snapshot: Snapshot
    ) throws -> LoadedChunk {
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        guard try seek(&cursor, lane, point, in: snapshot) else {
            let key = ChunkKey(lane: lane, lower: .least)
            return LoadedChunk(bounds: ChunkBounds(key: key, upper: .greatest), rows: [], purged: [], exists: false)
        }
        let chunk = try HotChunk(cursor.value, key: cursor.key)
        guard point < chunk.upper || point == .greatest else { throw snapshot.damaged(.chunkMissing) }
        if snapshot.context.state.intents.isEmpty, let entry = written?.take(chunk.key),
            cursor.value.isEqual(to: entry.hot.rawBytes),
            let details = try snapshot.view.get(snapshot.tables[.details], chunk.key.bytes),
            details.isEqual(to: entry.details.rawBytes)
        {
            if let written, written.isCompared, try allRows(chunk, in: snapshot) != entry.rows {
                preconditionFailure("a chunk was written otherwise than it is remembered")
            }
            let bounds = ChunkBounds(key: chunk.key, upper: chunk.upper)
            return LoadedChunk(bounds: bounds, rows: entry.rows, purged: [], exists: true)
        }
        return try load(chunk, in: snapshot)
    }

    static func load(_ chunk: HotChunk, in snapshot: Snapshot) throws -> LoadedChunk {
        let rows = try allRows(chunk, in: snapshot)
        let bounds = ChunkBounds(key: chunk.key, upper: chunk.upper)
        guard let hides = try hidden(rows, chunk.key.lane, in: snapshot) else {
            return LoadedChunk(bounds: bounds, rows: rows, purged: [], exists: true)
        }
        return LoadedChunk(
            bounds: bounds, rows: rows.filter { !hides($0) }, purged: rows.filter(hides), exists: true)
    }

    /// Returns the chunk before or after another chunk in its lane if its hot value is no longer than `limit`. A
    /// damaged neighbour counts as none: the join only saves space, and an unreadable neighbour must not prevent rows
    /// from being saved.
    static func neighbour(of bounds: ChunkBounds, before: Bool, limit: Int, in snapshot: Snapshot) throws
        -> LoadedChunk?
    {
        do { return try loadNeighbour(of: bounds, before: before, limit: limit, in: snapshot) } catch
            where StoreError.isDamage(error)
        {
            return nil
        }
    }

    private static func loadNeighbour(of bounds: ChunkBounds, before: Bool, limit: Int, in snapshot: Snapshot) throws
        -> LoadedChunk?
    {
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        guard try seekExact(&cursor, bounds.key, in: snapshot), try before ? cursor.previous() : cursor.next() else {
            return nil
        }
        let chunk = try HotChunk(cursor.value, key: cursor.key)
        guard chunk.key.lane == bounds.key.lane else { return nil }
        guard before ? chunk.upper == bounds.key.lower : chunk.key.lower == bounds.upper else {
            throw snapshot.damaged(.chunkMissing)
        }
        return cursor.value.byteCount > limit ? nil : try load(chunk, in: snapshot)
    }

    /// Writes the rows of a span as one or more chunks, and joins a small remainder with a neighbour.
    static func write(
        _ bounds: ChunkBounds, _ rows: [StoredRow], exists: Bool, growth: ChunkPacker.Growth = .anywhere,
        in txn: inout WriteTransaction
    ) throws {
        var bounds = bounds
        var rows = rows
        let encoder = txn.environment.encoder
        var plan = rows.isEmpty ? nil : encoder.plan(rows.prefix(ChunkEncoder.rowLimit))
        // The last chunk of a lane may stay small, because more rows will be appended to it.
        let isTail = bounds.upper == .greatest && !rows.isEmpty
        if exists, !isTail, plan.map({ $0.byteCount * 4 < encoder.hotBudget }) ?? true,
            rows.count < ChunkEncoder.rowLimit / 4
        {
            if try join(&bounds, &rows, hotBytes: plan?.byteCount ?? 0, in: &txn) {
                plan = rows.isEmpty ? nil : encoder.plan(rows[...])
            }
        }
        guard let plan else {
            let empty = encoder.encodeEmpty(key: bounds.key, upper: bounds.upper, stamp: txn.stamp)
            return try put(bounds.key, empty.hot, empty.details, in: &txn)
        }
        if fits(rows[...], plan, in: txn) { return try put(bounds, rows[...], plan, in: &txn) }
        try writeSeveral(bounds, rows, growth, in: &txn)
    }

    /// Returns `true` if rows with this plan fit into one chunk.
    static func fits(_ rows: ArraySlice<StoredRow>, _ plan: ChunkEncoder.HotPlan, in txn: borrowing WriteTransaction)
        -> Bool
    {
        plan.rows == rows.count && plan.byteCount <= txn.environment.encoder.hotBudget
            && ChunkEncoder.rowsWithinTextBudget(rows) == rows.count
    }

    static func removeChunk(_ key: ChunkKey, in txn: inout WriteTransaction) throws {
        if let stored = try storedKey(of: key, in: txn.snapshot) { try txn.remove(.chunks, stored) }
        try txn.remove(.details, key.bytes)
    }

    /// Joins a small chunk with a neighbour that has room, so that deletions do not leave tiny chunks.
    private static func join(
        _ bounds: inout ChunkBounds, _ rows: inout [StoredRow], hotBytes: Int, in txn: inout WriteTransaction
    ) throws -> Bool {
        // Joined values share one header. A neighbour that is certainly too long is not decoded.
        let limit = txn.environment.encoder.hotBudget * 3 / 4 + ChunkEncoder.hotOverhead - hotBytes
        for before in [true, false] {
            guard let other = try neighbour(of: bounds, before: before, limit: limit, in: txn.snapshot),
                other.purged.isEmpty
            else {
                continue
            }
            guard other.rows.count + rows.count <= ChunkEncoder.rowLimit else { continue }
            let joined = before ? other.rows + rows : rows + other.rows
            guard ChunkEncoder.rowsWithinTextBudget(joined[...]) == joined.count else { continue }
            if !joined.isEmpty,
                txn.environment.encoder.plan(joined[...]).byteCount > txn.environment.encoder.hotBudget * 3 / 4
            {
                continue
            }
            let gone = before ? bounds.key : other.bounds.key
            try removeChunk(gone, in: &txn)
            bounds = ChunkBounds(
                key: before ? other.bounds.key : bounds.key, upper: before ? bounds.upper : other.bounds.upper)
            rows = joined
            return true
        }
        return false
    }

    /// Splits rows over several chunks. Where more rows will follow, as at the end of a lane, each chunk is filled and
    /// the remainder is placed next to the insertion point. Elsewhere the chunks get equal parts with room to grow.
    private static func writeSeveral(
        _ bounds: ChunkBounds, _ rows: [StoredRow], _ growth: ChunkPacker.Growth, in txn: inout WriteTransaction
    ) throws {
        if let tail = tailToPart(rows, growth, in: txn) {
            let cut = rows.count - tail
            let border = rows[cut].point
            let isBetween = if case .between = growth { true } else { false }
            try pack(
                ChunkBounds(key: bounds.key, upper: border), rows[..<cut],
                ChunkPacker(txn.environment.encoder, isBetween ? .wholeThenRest : .restThenWhole), in: &txn)
            let key = ChunkKey(lane: bounds.key.lane, lower: border)
            return try pack(
                ChunkBounds(key: key, upper: bounds.upper), rows[cut...],
                ChunkPacker(txn.environment.encoder, .wholeThenRest), in: &txn)
        }
        let isAtEnd = bounds.upper == .greatest || rows.count > 4 * ChunkEncoder.rowLimit
        let order: ChunkPacker.Order =
            switch growth {
            case .behind: .wholeThenRest
            case .before: .restThenWhole
            case .anywhere, .between: isAtEnd ? .wholeThenRest : .equal
            }
        try pack(bounds, rows[...], ChunkPacker(txn.environment.encoder, order), in: &txn)
    }

    /// Returns the number of rows at the end that get chunks of their own, so that later inserts before them do not
    /// move them again.
    private static func tailToPart(
        _ rows: [StoredRow], _ growth: ChunkPacker.Growth, in txn: borrowing WriteTransaction
    ) -> Int? {
        switch growth {
        case .anywhere, .behind: return nil
        case .between(let tail): return tail
        case .before(let tail):
            let plan = txn.environment.encoder.plan(rows.suffix(min(tail, ChunkEncoder.rowLimit)))
            return plan.byteCount * 8 >= txn.environment.encoder.hotBudget * 7 ? tail : nil
        }
    }

    static func pack(
        _ bounds: ChunkBounds, _ rows: ArraySlice<StoredRow>, _ packer: ChunkPacker, in txn: inout WriteTransaction
    ) throws {
        let encoder = txn.environment.encoder
        var packer = packer
        var from = rows.startIndex
        var key = bounds.key
        while from < rows.endIndex {
            var plan = packer.next(rows[from...])
            let most = ChunkEncoder.rowsWithinTextBudget(rows[from..<from + plan.rows])
            if most < plan.rows { plan = encoder.plan(rows[from..<from + most]) }
            let to = from + plan.rows
            let upper = to < rows.endIndex ? rows[to].point : bounds.upper
            try put(ChunkBounds(key: key, upper: upper), rows[from..<to], plan, in: &txn)
            key.lower = upper
            from = to
        }
    }

    private static func put(
        _ bounds: ChunkBounds, _ rows: ArraySlice<StoredRow>, _ plan: ChunkEncoder.HotPlan,
        in txn: inout WriteTransaction
    ) throws {
        let encoder = txn.environment.encoder
        let hot = encoder.encodeHot(plan, key: bounds.key, upper: bounds.upper, stamp: txn.stamp)
        let details = encoder.encodeDetails(rows, key: bounds.key, upper: bounds.upper, stamp: txn.stamp)
        try put(bounds.key, hot, details, in: &txn)
        txn.environment.writtenChunks.note(bounds.key, hot: hot, details: details, rows)
    }

    /// Replaces the two values of a chunk.
    static func put(_ key: ChunkKey, _ hot: [UInt8], _ details: [UInt8], in txn: inout WriteTransaction) throws {
        let stored = key.stored(commit: txn.commit)
        if let old = try storedKey(of: key, in: txn.snapshot), old != stored { try txn.remove(.chunks, old) }
        try txn.put(.chunks, stored, hot)
        try txn.put(.details, key.bytes, details)
    }

    // Apps mostly save samples one by one, with the newest last. If the last chunk of a lane were full, each such
    // sample would rewrite some hundreds of rows. So the last chunk is a small one, the tail; once it is full, its rows
    // move to the chunk before it.

    /// The maximum number of rows in a tail or a head: few enough to rewrite for each sample, many enough that the
    /// chunk next to it is seldom rewritten.
    private static let endRows = WrittenChunks.rowLimit

    /// Writes a chunk to whose end a few rows were appended, if a tail should begin there. Returns `false` if the chunk
    /// should be written like any other.
    static func beginTail(_ bounds: ChunkBounds, _ merged: LaneEdit.Merged, in txn: inout WriteTransaction) throws
        -> Bool
    {
        guard bounds.upper == .greatest, let old = merged.rowsBeforeAppended, old > 0,
            merged.added.count < ChunkTable.endRows, merged.rows.count > ChunkTable.endRows
        else { return false }
        let border = merged.rows[old].point
        try writeBefore(ChunkBounds(key: bounds.key, upper: border), merged.rows[..<old], in: &txn)
        let tail = ChunkBounds(key: ChunkKey(lane: bounds.key.lane, lower: border), upper: .greatest)
        try pack(tail, merged.rows[old...], ChunkPacker(txn.environment.encoder, .wholeThenRest), in: &txn)
        return true
    }

    /// Writes the rows before a tail or a gap, joined with the chunk before them if they are few and fit.
    private static func writeBefore(
        _ bounds: ChunkBounds, _ rows: ArraySlice<StoredRow>, in txn: inout WriteTransaction
    ) throws {
        var (bounds, rows) = (bounds, rows)
        if rows.count <= ChunkTable.endRows, let other = try chunkBefore(bounds, in: txn.snapshot), other.purged.isEmpty
        {
            let joined = other.rows + rows
            if fits(joined[...], txn.environment.encoder.plan(joined.prefix(ChunkEncoder.rowLimit)), in: txn) {
                try removeChunk(bounds.key, in: &txn)
                bounds.key = other.bounds.key
                rows = joined[...]
            }
        }
        try pack(bounds, rows, ChunkPacker(txn.environment.encoder, .wholeThenRest), in: &txn)
    }

    /// Joins the chunk before a tail with the tail if many rows were appended, so that chunks are full.
    static func endTail(_ bounds: inout ChunkBounds, _ merged: inout LaneEdit.Merged, in txn: inout WriteTransaction)
        throws
    {
        guard bounds.upper == .greatest, let old = merged.rowsBeforeAppended, old > 0,
            old <= ChunkTable.endRows, merged.added.count >= ChunkTable.endRows,
            let other = try chunkBefore(bounds, limit: txn.environment.encoder.hotBudget * 3 / 4, in: txn.snapshot),
            other.purged.isEmpty
        else { return }
        try removeChunk(bounds.key, in: &txn)
        bounds.key = other.bounds.key
        merged.rows.insert(contentsOf: other.rows, at: 0)
    }

    // A history that is typed in from paper, or read backwards, arrives newest first. So the first chunk of a lane is
    // kept small in the same way if rows arrive before all others. If there are older rows, a chunk begins right behind
    // them, so that the rows that arrive are again the first of their chunk. Other chunks begin at a row, and hardly
    // ever get rows before it.

    /// Writes a chunk if a few rows were inserted before all its others. Returns `false` if the chunk should be written
    /// like any other.
    static func beginHead(_ bounds: ChunkBounds, _ merged: LaneEdit.Merged, in txn: inout WriteTransaction) throws
        -> Bool
    {
        guard let new = merged.rowsPrepended, new < ChunkTable.endRows else { return false }
        guard merged.rows.count > ChunkTable.endRows else {
            // Unlike other small chunks, a head is not joined with the chunk after it.
            try pack(bounds, merged.rows[...], ChunkPacker(txn.environment.encoder, .wholeThenRest), in: &txn)
            return true
        }
        try writeHead(of: bounds, from: bounds.key.lower, merged.rows[...], new, in: &txn)
        return true
    }

    /// Divides a chunk behind the rows before a gap if rows arrive there newest first. Returns `false` if the chunk
    /// should be written like any other.
    static func beginGap(_ bounds: ChunkBounds, _ merged: LaneEdit.Merged, in txn: inout WriteTransaction) throws
        -> Bool
    {
        guard merged.added.count < ChunkTable.endRows, merged.rows.count > ChunkTable.endRows,
            let old = merged.rowsBeforeGap
        else { return false }
        // Not at the first inserted row, because the next rows come before it.
        let border = Point.at(merged.rows[old - 1].start &+ 1)
        guard border > merged.rows[old - 1].point, border <= merged.rows[old].point else { return false }
        try writeHead(of: bounds, from: border, merged.rows[old...], merged.added.count, in: &txn)
        try writeBefore(ChunkBounds(key: bounds.key, upper: border), merged.rows[..<old], in: &txn)
        return true
    }

    /// Writes the first rows of the end of a chunk, from a point on, as a chunk of their own, and the rows behind them
    /// as another, joined with the chunk behind if they are few and fit.
    private static func writeHead(
        of chunk: ChunkBounds, from lower: Point, _ rows: ArraySlice<StoredRow>, _ count: Int,
        in txn: inout WriteTransaction
    ) throws {
        var rest = rows.dropFirst(count)
        let (lane, border) = (chunk.key.lane, rest.first!.point)
        var bounds = ChunkBounds(key: ChunkKey(lane: lane, lower: border), upper: chunk.upper)
        if rest.count <= ChunkTable.endRows, let other = try chunkBehind(chunk, in: txn.snapshot), other.purged.isEmpty
        {
            let joined = rest + other.rows
            if fits(joined, txn.environment.encoder.plan(joined.prefix(ChunkEncoder.rowLimit)), in: txn) {
                try removeChunk(other.bounds.key, in: &txn)
                bounds.upper = other.bounds.upper
                rest = joined
            }
        }
        let head = ChunkBounds(key: ChunkKey(lane: lane, lower: lower), upper: border)
        try pack(bounds, rest, ChunkPacker(txn.environment.encoder, .wholeThenRest), in: &txn)
        try pack(head, rows.prefix(count), ChunkPacker(txn.environment.encoder, .wholeThenRest), in: &txn)
    }

    private static func chunkBehind(_ bounds: ChunkBounds, in snapshot: Snapshot) throws -> LoadedChunk? {
        try neighbour(of: bounds, before: false, limit: .max, in: snapshot)
    }

    private static func chunkBefore(_ bounds: ChunkBounds, limit: Int = .max, in snapshot: Snapshot) throws
        -> LoadedChunk?
    {
        try neighbour(of: bounds, before: true, limit: limit, in: snapshot)
    }

    /// Returns `true` if a chunk may hold samples that an operation removes. The dictionary of revisions shows whether
    /// a source occurs, without decoding a row.
    static func mayHold(_ chunk: HotChunk, _ intent: Intent, in snapshot: Snapshot) throws -> Bool {
        guard case .source(let number) = intent.scope else { return chunk.rows > 0 }
        guard chunk.rows > 0 else { return false }
        try chunk.verify()
        if let common = try chunk.commonRevision() {
            return try NameTable.revision(common, in: snapshot).sourceNumber == number
        }
        return try chunk.distinctRevisions().contains {
            try NameTable.revision($0, in: snapshot).sourceNumber == number
        }
    }

    /// Returns the keys of a lane's chunks whose spans overlap a range. With `intent`, returns only chunks that may
    /// hold samples of that operation.
    static func chunkKeys(
        _ lane: Lane, from: Point = .least, to: Point = .greatest, limit: Int = .max, of intent: Intent? = nil,
        in snapshot: Snapshot
    ) throws -> [ChunkKey] {
        var keys: [ChunkKey] = []
        try forEachChunk(lane, from: from, to: to, in: snapshot) { chunk in
            if let intent, try !mayHold(chunk, intent, in: snapshot) { return true }
            keys.append(chunk.key)
            return keys.count < limit
        }
        return keys
    }
}
