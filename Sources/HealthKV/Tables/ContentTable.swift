import ColumnFormat
import HealthModel
import LMDB

/// The content of a sample that was deleted here individually, kept so that the deletion can be undone. It is a row of
/// `upkeep`, written in the transaction of the deletion. The record contains the two values of a chunk with one row.
///
/// The row is removed when the sample lives again, after thirty days, and by a compaction in place, which leaves no
/// content of deleted samples in the file.
struct DeletedContent {
    /// One transaction keeps at most this many. A caller that deletes more at once has a copy, or wants the samples
    /// gone.
    static let mostAtOnce = 1_000
    /// The number of days after which a deletion can no longer be undone.
    static let keptDays: Int64 = 30

    /// The time of the deletion.
    let time: Int64
    let lane: Lane
    let hot: [UInt8]
    let details: [UInt8]

    init(_ row: StoredRow, _ lane: Lane, _ encoder: ChunkEncoder, stamp: CommitStamp, time: Int64) {
        let key = ChunkKey(lane: lane, lower: .least)
        self.time = time
        self.lane = lane
        hot = encoder.encodeHot(encoder.plan([row]), key: key, upper: .greatest, stamp: stamp)
        details = encoder.encodeDetails([row], key: key, upper: .greatest, stamp: stamp)
    }

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .upkeep, key: key)
        time = try record.read(Int64.self)
        let type = try record.read(UInt32.self)
        guard let duration = DurationClass(rawValue: try record.read(UInt8.self)) else {
            throw FormatError(.unknown, "duration class")
        }
        lane = Lane(type: type, duration: duration)
        hot = try record.readBytes()
        details = try record.readBytes()
    }

    func value(key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(time)
        record.append(lane.type)
        record.append(lane.duration.rawValue)
        record.append(hot)
        record.append(details)
        return record.value(table: .upkeep, key: key, stamp: stamp)
    }
}

/// The contents of deleted samples, kept for an undo.
enum ContentTable {
    static func key(_ id: SampleID) -> [UInt8] {
        var writer = ByteWriter(reserving: 17)
        writer.append(UpkeepKind.deletedContent)
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
        return writer.bytes
    }

    /// Returns the content of a deleted sample; `nil` if it is not kept.
    static func content(_ id: SampleID, in snapshot: Snapshot) throws -> Sample? {
        let key = ContentTable.key(id)
        guard let span = try snapshot.view.get(snapshot.tables[.upkeep], key) else { return nil }
        let content = try DeletedContent(span, key: key)
        guard let row = try ContentTable.row(of: content, in: snapshot), row.id == id else { return nil }
        return try NameTable.sample(row, content.lane.type, in: snapshot)
    }

    /// Returns the ids of all samples whose content is kept.
    static func ids(in snapshot: Snapshot) throws -> [SampleID] {
        var ids: [SampleID] = []
        try UpkeepKind.forEach(UpkeepKind.deletedContent, in: snapshot) { key, _ in
            guard key.count == 17 else { return true }
            let words = [key[1...8], key[9...16]].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
            ids.append(SampleID(high: words[0], low: words[1]))
            return true
        }
        return ids
    }

    static func forEach(
        skippingDamage: Bool, in snapshot: Snapshot, _ body: (Sample, Instant) throws -> Void
    ) throws {
        try UpkeepKind.forEach(UpkeepKind.deletedContent, in: snapshot) { key, value in
            var kept: (Sample, Instant)?
            do {
                let content = try DeletedContent(value, key: key)
                if let row = try row(of: content, in: snapshot), ContentTable.key(row.id) == key {
                    let sample = try NameTable.sample(row, content.lane.type, in: snapshot)
                    kept = (sample, Instant(nanoseconds: content.time))
                }
            } catch  where skippingDamage && StoreError.isDamage(error) {}
            if let kept { try body(kept.0, kept.1) }
            return true
        }
    }

    private static func row(of content: DeletedContent, in snapshot: Snapshot) throws -> StoredRow? {
        let key = ChunkKey(lane: content.lane, lower: .least).bytes
        let hot = try HotChunk(content.hot.rawBytes, key: key.rawBytes)
        guard hot.rows == 1 else { return nil }
        try NameTable.loadNames(of: hot, in: snapshot)
        let decoder = try ChunkDecoder(hot: hot, details: try DetailsChunk(content.details.rawBytes, key: key.rawBytes))
        return try decoder.rows(snapshot.context).first
    }

    static func keepsDeletedContents(in snapshot: Snapshot) throws -> Bool {
        var cursor = try snapshot.view.cursor(snapshot.tables[.upkeep])
        return try cursor.seek([UpkeepKind.deletedContent]) && cursor.key.copied().first == UpkeepKind.deletedContent
    }

    /// Checks at most `count` kept contents from `key` on. Returns the keys of those to remove, and the key to continue
    /// at; `nil` at the end.
    private static func contents(
        behind key: [UInt8], count: Int, in snapshot: Snapshot, where goes: (Snapshot, DeletedContent) throws -> Bool
    ) throws -> (old: [[UInt8]], next: [UInt8]?) {
        var (old, seen): ([[UInt8]], Int) = ([], 0)
        var next: [UInt8]?
        try UpkeepKind.forEach(UpkeepKind.deletedContent, from: key, in: snapshot) { key, value in
            guard seen < count else {
                next = key
                return false
            }
            seen += 1
            // A damaged row is useless, so remove it.
            let content = try? DeletedContent(value, key: key)
            if try content.map({ try goes(snapshot, $0) }) ?? true { old.append(key) }
            return true
        }
        return (old, next)
    }

    /// Keeps the content of a row that is deleted here.
    static func keepContent(of found: FoundRow, in txn: inout WriteTransaction) throws {
        // If the store has no room, keep nothing: the deletion makes room.
        guard txn.state.contentsKept < DeletedContent.mostAtOnce, txn.state.refusal == nil else { return }
        txn.state.contentsKept += 1
        try put(found.row, found.lane, time: txn.environment.now().nanoseconds, in: &txn)
    }

    /// Writes the content of a row that was deleted at a time.
    static func put(_ row: StoredRow, _ lane: Lane, time: Int64, in txn: inout WriteTransaction) throws {
        let content = DeletedContent(row, lane, txn.environment.encoder, stamp: txn.stamp, time: time)
        let key = ContentTable.key(row.id)
        try txn.put(.upkeep, key, content.value(key: key, stamp: txn.stamp))
    }

    /// Removes the kept content of a deleted sample.
    static func forgetContent(of id: SampleID, in txn: inout WriteTransaction) throws {
        let key = ContentTable.key(id)
        if try txn.snapshot.view.contains(txn.context.tables[.upkeep], key) { try txn.remove(.upkeep, key) }
    }

    /// Checks at most `count` kept contents and removes those from before a time. Returns the key to continue at; `nil`
    /// at the end.
    static func forgetContents(
        behind key: [UInt8]? = nil, before time: Int64, count: Int, in txn: inout WriteTransaction
    ) throws -> [UInt8]? {
        let (old, next) = try contents(behind: key ?? [UpkeepKind.deletedContent], count: count, in: txn.snapshot) {
            $1.time < time
        }
        for key in old { try txn.remove(.upkeep, key) }
        return next
    }

    /// Removes the kept contents of deleted samples of some sources, given by number.
    static func forgetContents(of sources: Set<UInt32>, in txn: inout WriteTransaction) throws {
        let first = [UpkeepKind.deletedContent]
        let (old, _) = try contents(behind: first, count: .max, in: txn.snapshot) { snapshot, content in
            guard let row = try? ContentTable.row(of: content, in: snapshot) else { return true }
            return try sources.contains(NameTable.revision(row.revision, in: snapshot).sourceNumber)
        }
        for key in old { try txn.remove(.upkeep, key) }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Calls `body` with each deleted sample whose content is kept, and with the time of its deletion.
    ///
    /// - Parameter skippingDamage: whether to leave out contents that cannot be read.
    package func forEachDeletedContent(skippingDamage: Bool, _ body: (Sample, Instant) throws -> Void) throws {
        try ContentTable.forEach(skippingDamage: skippingDamage, in: snapshot, body)
    }
}
