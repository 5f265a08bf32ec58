import ColumnFormat
import HealthModel
import LMDB

/// The change records of commits: the table `changes`, and the positions in the feed that it defines.
///
/// The records also distinguish the history of a file from that of another copy of it. Each commit that changes
/// samples has a random mark in its record, and each token carries the mark of the last such commit that its reader's
/// page could see. A file that holds the mark holds the whole history up to it. Upkeep removes records, but not those
/// that the positions of registered peers refer to; a token of a removed record is accepted. Commits without a change
/// do not count: a reader after them has missed none.
enum ChangeLog {
    static func key(_ commit: UInt64) -> [UInt8] {
        var writer = ByteWriter(reserving: 8)
        writer.appendBigEndian(commit)
        return writer.bytes
    }

    // MARK: Records

    /// Returns the record of a commit; `nil` if it has none of its own.
    static func record(_ commit: UInt64, in snapshot: Snapshot) throws -> ChangeRecord? {
        let key = ChangeLog.key(commit)
        guard let span = try snapshot.view.get(snapshot.tables[.changes], key) else { return nil }
        return try ChangeRecord(span, key: key)
    }

    /// Returns the record that holds the changes of a commit, or the next record after it; `nil` if there is none.
    static func firstRecord(from commit: UInt64, in snapshot: Snapshot) throws -> ChangeRecord? {
        try firstRecord(from: commit, snapshot.view, snapshot.tables)
    }

    private static func firstRecord(from commit: UInt64, _ view: View, _ tables: OpenTables) throws -> ChangeRecord? {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.seek(key(commit)) else { return nil }
        return try ChangeRecord(cursor.value, key: cursor.key.copied())
    }

    /// Calls `body` with the records from a commit on, in order, until it returns `false`.
    static func forEachRecord(
        from commit: UInt64, in snapshot: Snapshot, _ body: (ChangeRecord) throws -> Bool
    ) throws {
        var cursor = try snapshot.view.cursor(snapshot.tables[.changes])
        var found = try cursor.seek(key(commit))
        while found, try body(ChangeRecord(cursor.value, key: cursor.key.copied())) { found = try cursor.next() }
    }

    /// Calls `body` with each record, or with the reason why it cannot be read, and the commit in its key, if the key
    /// is one.
    static func forEachReadableRecord(
        in snapshot: Snapshot, _ body: (_ commit: UInt64?, Result<ChangeRecord, FormatError>) -> Void
    ) {
        guard var cursor = try? snapshot.view.cursor(snapshot.tables[.changes]) else { return }
        while (try? cursor.next()) ?? false {
            let key = cursor.key.copied()
            let commit = key.count == 8 ? key.reduce(0 as UInt64) { $0 << 8 | UInt64($1) } : nil
            do {
                body(commit, .success(try ChangeRecord(cursor.value, key: key)))
            } catch {
                body(commit, .failure(error))
            }
        }
    }

    /// Returns `count` records of commits before `end`, newest first, and the commit before which there are more.
    static func records(before end: UInt64, count: Int, in snapshot: Snapshot) throws -> ([ChangeRecord], UInt64?) {
        var records: [ChangeRecord] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.changes])
        var found = end == .max ? try cursor.last() : try cursor.seekAtOrBefore(key(end - 1))
        while found {
            if records.count == count { return (records, records.last?.commit) }
            records.append(try ChangeRecord(cursor.value, key: cursor.key.copied()))
            found = try cursor.previous()
        }
        return (records, nil)
    }

    /// Returns the number of records.
    static func count(in snapshot: Snapshot) throws -> Int {
        try snapshot.view.count(snapshot.tables[.changes])
    }

    /// Returns the commit of the record that `count` others follow; 0 if there are not that many.
    static func commit(ofRecord count: Int, in snapshot: Snapshot) throws -> UInt64 {
        var cursor = try snapshot.view.cursor(snapshot.tables[.changes])
        guard try cursor.last() else { return 0 }
        for _ in 0..<count { guard try cursor.previous() else { return 0 } }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).commit
    }

    /// Returns when the newest change was committed, by the clock of that time; `nil` if there was none.
    static func newestChangeTime(in snapshot: Snapshot) throws -> Int64? {
        var cursor = try snapshot.view.cursor(snapshot.tables[.changes])
        guard try cursor.last() else { return nil }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).time
    }

    static func put(_ record: ChangeRecord, in txn: inout WriteTransaction) throws {
        try txn.put(.changes, key(record.commit), record.value(stamp: txn.stamp))
    }

    static func remove(_ record: ChangeRecord, in txn: inout WriteTransaction) throws {
        try txn.remove(.changes, key(record.commit))
    }

    // MARK: Positions

    /// The position after the last complete commit. A writer's own commit may still grow, also by the work of other
    /// callers.
    static func currentToken(in snapshot: Snapshot) -> ChangeToken {
        token(at: FeedPlace(commit: snapshot.context.lastCommit, ordinal: .max), origin: 0, in: snapshot)
    }

    /// Returns a position that was read in the snapshot.
    static func token(at place: FeedPlace, origin: UInt64, in snapshot: Snapshot) -> ChangeToken {
        ChangeToken(
            store: snapshot.header.storeID, epoch: snapshot.header.epoch, commit: place.commit, ordinal: place.ordinal,
            head: snapshot.context.lastCommit, mark: snapshot.header.mark, origin: origin)
    }

    /// Returns the position after a commit that is on the disk.
    static func token(behind commit: UInt64, in snapshot: Snapshot) throws -> ChangeToken {
        ChangeToken(
            store: snapshot.header.storeID, epoch: snapshot.header.epoch, commit: commit, ordinal: .max,
            mark: try mark(upTo: commit, in: snapshot))
    }

    /// Returns the mark of the last change record up to a commit; 0 if there is none.
    static func mark(upTo commit: UInt64, in snapshot: Snapshot) throws -> UInt64 {
        try mark(upTo: commit, snapshot.view, snapshot.tables)
    }

    private static func mark(upTo commit: UInt64, _ view: View, _ tables: OpenTables) throws -> UInt64 {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.seekAtOrBefore(key(commit)) else { return 0 }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).mark
    }

    /// Returns how a token relates to the history of this file.
    static func fit(of token: ChangeToken, in snapshot: Snapshot) throws -> TokenFit {
        // The changes of a running write transaction are in no record yet, and no other transaction can see them.
        let isUnderWay = snapshot.context.isOfWriter && token.commit == snapshot.context.lastCommit + 1
        if isUnderWay, token.store == snapshot.header.storeID, token.epoch == snapshot.header.epoch { return .fits }
        return try fit(of: token, snapshot.header, snapshot.view, snapshot.tables)
    }

    /// Returns how a token relates to the history of a file that is being opened.
    static func fit(
        of token: ChangeToken, _ header: StoreHeader, _ view: View, _ tables: OpenTables
    ) throws -> TokenFit {
        guard token.store == header.storeID else { return .otherStore }
        guard token.epoch == header.epoch else { return .otherEpoch }
        guard token.head <= header.commit else { return .ahead }
        if token.head == header.commit, token.mark == header.mark { return .fits }
        if try mark(upTo: token.head, view, tables) == token.mark { return .fits }
        // A removed record proves nothing, and neither does a position before the first deletion that is still known.
        return try token.head <= header.prunedCommit || isForgotten(token.head, view, tables) ? .fits : .forked
    }

    /// Returns `true` if the record of a commit, or the last one before it, may have been merged into a later one.
    private static func isForgotten(_ commit: UInt64, _ view: View, _ tables: OpenTables) throws -> Bool {
        guard let record = try firstRecord(from: commit + 1, view, tables) else { return false }
        return record.since > 0 && record.since <= commit
    }

    /// Throws if the feed cannot be continued from the token.
    static func check(_ token: ChangeToken, in snapshot: Snapshot) throws {
        func expired(_ why: String) -> StoreError { StoreError(.tokenExpired, path: snapshot.context.path, why) }
        switch try fit(of: token, in: snapshot) {
        case .fits: break
        case .otherStore: throw expired("The change token belongs to another store")
        case .otherEpoch: throw expired("The change token is from before the store was restored")
        case .ahead: throw expired("The change token is newer than the store")
        case .forked: throw expired("The change token is of another copy of the store")
        }
        let pruned = snapshot.header.prunedCommit
        guard pruned == 0 || (token.commit, token.ordinal) >= (pruned, .max) || token.origin >= pruned else {
            throw expired("The change token has expired")
        }
    }
}

/// The form in which a change record is stored.
extension ChangeRecord {
    /// - Parameter stamp: the commit that writes the record; a later one than the record's own if it is rewritten.
    func value(stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(commit)
        record.append(time)
        record.append(UInt32(spans.count))
        for span in spans {
            record.append(span.lane.type)
            record.append(span.lane.duration.rawValue)
            record.append(span.starts.lowerBound)
            record.append(span.starts.upperBound)
        }
        record.append(UInt32(deletions.count))
        for deletion in deletions {
            record.append(deletion.ordinal)
            record.append(deletion.id)
            record.append(deletion.type)
        }
        record.append(UInt32(removals.count))
        for removal in removals {
            record.append(removal.ordinal)
            removal.scope.append(to: &record)
        }
        record.append(mark)
        record.append(since)
        if deletions.contains(where: { $0.commit != commit }) {
            for deletion in deletions { record.append(deletion.commit) }
        }
        return record.value(table: .changes, key: ChangeLog.key(commit), stamp: stamp)
    }

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .changes, key: key)
        let commit = try record.read(UInt64.self)
        // Readers continue after the commit that a record names.
        guard key == ChangeLog.key(commit) else { throw FormatError(.misplaced, "commit") }
        self.init(commit: commit, time: try record.read(Int64.self), mark: 0)
        for _ in 0..<(try record.read(UInt32.self)) {
            let type = try record.read(UInt32.self)
            guard let duration = DurationClass(rawValue: try record.read(UInt8.self)) else {
                throw FormatError(.unknown, "duration class")
            }
            let from = try record.read(Int64.self)
            let to = try record.read(Int64.self)
            guard from <= to else { throw FormatError(.invalid, "touched span") }
            spans.append((Lane(type: type, duration: duration), from...to))
        }
        for _ in 0..<(try record.read(UInt32.self)) {
            let ordinal = try record.read(UInt32.self)
            let id = try record.readID()
            let type = try record.read(UInt32.self)
            deletions.append(Deletion(commit: commit, ordinal: ordinal, id: id, type: type))
        }
        for _ in 0..<(try record.read(UInt32.self)) {
            let ordinal = try record.read(UInt32.self)
            removals.append(Removal(ordinal: ordinal, scope: try Intent.Scope(&record)))
        }
        mark = try record.read(UInt64.self)
        since = try record.read(UInt64.self)
        guard since <= commit else { throw FormatError(.invalid, "first commit") }
        if record.isAtEnd { return }
        for index in deletions.indices {
            deletions[index].commit = try record.read(UInt64.self)
            guard commits.contains(deletions[index].commit) else { throw FormatError(.invalid, "commit of a deletion") }
        }
    }
}
