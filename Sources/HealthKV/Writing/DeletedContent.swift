import ColumnFormat
import HealthModel
import LMDB

/// The content of a sample that was deleted here individually, kept so that the deletion can be undone. It is a row of
/// `upkeep`, written in the transaction of the deletion. The record contains the two values of a chunk with one row.
///
/// The row is removed when the sample lives again, after thirty days, and by a compaction in place, which leaves no
/// content of deleted samples in the file.
struct DeletedContent {
    static let upkeepKind: UInt8 = 5
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

    static func key(_ id: SampleID) -> [UInt8] {
        var writer = ByteWriter(reserving: 17)
        writer.append(upkeepKind)
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
        return writer.bytes
    }

    init(_ row: StoredRow, _ lane: Lane, _ encoder: ChunkEncoder, commit: UInt64, time: Int64) {
        let key = ChunkKey(lane: lane, lower: .least)
        self.time = time
        self.lane = lane
        hot = encoder.encodeHot(encoder.plan([row]), key: key, upper: .greatest, commit: commit)
        details = encoder.encodeDetails([row], key: key, upper: .greatest, commit: commit)
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

    func value(key: [UInt8], commit: UInt64) -> [UInt8] {
        var record = RecordWriter()
        record.append(time)
        record.append(lane.type)
        record.append(lane.duration.rawValue)
        record.append(hot)
        record.append(details)
        return record.value(table: .upkeep, key: key, commit: commit)
    }
}

extension Snapshot {
    /// Returns the content of a deleted sample; `nil` if it is not kept.
    func deletedContent(_ id: SampleID) throws -> Sample? {
        let key = DeletedContent.key(id)
        guard let span = try view.get(tables[.upkeep], key) else { return nil }
        let content = try DeletedContent(span, key: key)
        guard let row = try row(of: content), row.id == id else { return nil }
        return try sample(row, content.lane.type)
    }

    fileprivate func row(of content: DeletedContent) throws -> StoredRow? {
        let key = ChunkKey(lane: content.lane, lower: .least).bytes
        let hot = try HotChunk(content.hot.rawBytes, key: key.rawBytes)
        guard hot.rows == 1 else { return nil }
        try loadNames(of: hot)
        let decoder = try ChunkDecoder(hot: hot, details: try DetailsChunk(content.details.rawBytes, key: key.rawBytes))
        return try decoder.rows(context).first
    }

    func keepsDeletedContents() throws -> Bool {
        var cursor = try view.cursor(tables[.upkeep])
        return try cursor.seek([DeletedContent.upkeepKind]) && cursor.key.copied().first == DeletedContent.upkeepKind
    }

    /// Checks at most `count` kept contents from `key` on. Returns the keys of those to remove, and the key to continue
    /// at; `nil` at the end.
    fileprivate func deletedContents(
        behind key: [UInt8], count: Int, where goes: (Snapshot, DeletedContent) throws -> Bool
    ) throws -> (old: [[UInt8]], next: [UInt8]?) {
        var (old, seen): ([[UInt8]], Int) = ([], 0)
        var cursor = try view.cursor(tables[.upkeep])
        var found = try cursor.seek(key)
        while found, cursor.key.copied().first == DeletedContent.upkeepKind {
            let key = cursor.key.copied()
            guard seen < count else { return (old, key) }
            seen += 1
            // A damaged row is useless, so remove it.
            let content = try? DeletedContent(cursor.value, key: key)
            if try content.map({ try goes(self, $0) }) ?? true { old.append(key) }
            found = try cursor.next()
        }
        return (old, nil)
    }
}

extension WriteTransaction {
    /// Undoes a deletion that was made here. The sample lives again as it was, with a version above the deleted one, so
    /// that all peers take it back. Returns the sample; `nil` if it is not deleted, if its content is not kept, or if
    /// another sample now has its sync identifier.
    ///
    /// The content is kept for thirty days, for samples that were deleted one by one or by group, up to a thousand in
    /// one transaction, and not beyond ``SampleStore/compactInPlace()``. An imported sample that was deleted or hidden
    /// here is shown again as it was imported.
    ///
    /// ```swift
    /// let id = SampleID()
    /// try store.write { try $0.delete(id: id) }
    /// // The person has changed his mind.
    /// let back = try store.write { try $0.undelete(id: id) }
    /// ```
    @discardableResult
    public mutating func undelete(id: SampleID) throws -> Sample? {
        guard let tombstone = try snapshot.tombstone(id), var sample = try snapshot.deletedContent(id) else {
            return nil
        }
        // Another sample was saved under the same sync identifier since the deletion.
        if let text = sample.syncIdentifier,
            try self.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity) != nil
        {
            return nil
        }
        return try whole { transaction in
            if sample.origin == .imported {
                guard try transaction.unhide(id: id) else { return nil }
                _ = try transaction.store(sample, rule: .merge)
            } else {
                sample.version = Sample.version(after: tombstone.version)
                guard try transaction.store(sample, rule: .local) != .vetoed else { return nil }
            }
            return try transaction.sample(id: id)
        }
    }

    /// Keeps the content of a row that is deleted here.
    mutating func keepContent(of found: FoundRow) throws {
        // If the store has no room, keep nothing: the deletion makes room.
        guard state.contentsKept < DeletedContent.mostAtOnce, state.refusal == nil else { return }
        state.contentsKept += 1
        let time = environment.now().nanoseconds
        let content = DeletedContent(found.row, found.lane, environment.encoder, commit: commit, time: time)
        let key = DeletedContent.key(found.row.id)
        try put(.upkeep, key, content.value(key: key, commit: commit))
    }

    /// Removes the kept content of a deleted sample.
    mutating func forgetContent(of id: SampleID) throws {
        let key = DeletedContent.key(id)
        if try snapshot.view.contains(context.tables[.upkeep], key) { try remove(.upkeep, key) }
    }

    /// Checks at most `count` kept contents and removes those from before a time. Returns the key to continue at; `nil`
    /// at the end.
    mutating func forgetContents(behind key: [UInt8]? = nil, before time: Int64, count: Int) throws -> [UInt8]? {
        let (old, next) = try snapshot.deletedContents(behind: key ?? [DeletedContent.upkeepKind], count: count) {
            $1.time < time
        }
        for key in old { try remove(.upkeep, key) }
        return next
    }

    /// Removes the kept contents of deleted samples of some sources, given by number.
    mutating func forgetContents(of sources: Set<UInt32>) throws {
        let first = [DeletedContent.upkeepKind]
        let (old, _) = try snapshot.deletedContents(behind: first, count: .max) { snapshot, content in
            guard let row = try? snapshot.row(of: content) else { return true }
            return try sources.contains(snapshot.revision(row.revision).sourceNumber)
        }
        for key in old { try remove(.upkeep, key) }
    }
}
