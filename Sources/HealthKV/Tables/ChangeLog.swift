import ColumnFormat
import HealthModel
import LMDB

/// The change records of commits, and the positions in the feed that they define.
enum ChangeLog {
    /// The position after the last complete commit. A writer's own commit may still grow, also by the work of other
    /// callers.
    static func currentToken(in snapshot: Snapshot) -> ChangeToken {
        token(snapshot.context.lastCommit, .max, mark: snapshot.header.mark, origin: 0, in: snapshot)
    }

    private static func token(_ commit: UInt64, _ ordinal: UInt32, mark: UInt64, origin: UInt64, in snapshot: Snapshot)
        -> ChangeToken
    {
        ChangeToken(
            store: snapshot.header.storeID, epoch: snapshot.header.epoch, commit: commit, ordinal: ordinal, mark: mark,
            origin: origin)
    }

    /// Returns the position after a commit that is on the disk.
    static func token(behind commit: UInt64, in snapshot: Snapshot) throws -> ChangeToken {
        token(
            commit, .max, mark: try History.mark(upTo: commit, snapshot.view, snapshot.tables), origin: 0, in: snapshot)
    }

    /// Returns how a token relates to the history of this file.
    static func fit(of token: ChangeToken, in snapshot: Snapshot) throws -> TokenFit {
        // The changes of a running write transaction are in no record yet, and no other transaction can see them.
        let isUnderWay = snapshot.context.isOfWriter && token.commit == snapshot.context.lastCommit + 1
        if isUnderWay, token.store == snapshot.header.storeID, token.epoch == snapshot.header.epoch { return .fits }
        return try History.fit(of: token, snapshot.header, snapshot.view, snapshot.tables)
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

    static func token(
        _ place: FeedPlace, in record: ChangeRecord, _ markBefore: UInt64, _ origin: UInt64, in snapshot: Snapshot
    ) -> ChangeToken {
        let mark = place.commit == record.commit ? record.mark : markBefore
        return token(place.commit, place.ordinal, mark: mark, origin: origin, in: snapshot)
    }

    static func putChanges(_ record: ChangeRecord, in txn: inout WriteTransaction) throws {
        try txn.put(.changes, ChangeRecord.key(record.commit), record.value(writtenIn: txn.commit))
    }

    static func record(_ commit: UInt64, in snapshot: Snapshot) throws -> ChangeRecord? {
        let key = ChangeRecord.key(commit)
        guard let span = try snapshot.view.get(snapshot.tables[.changes], key) else { return nil }
        return try ChangeRecord(span, key: key)
    }

    /// Returns the commit of the record that `count` others follow; 0 if there are not that many.
    static func commit(ofRecord count: Int, in snapshot: Snapshot) throws -> UInt64 {
        var cursor = try snapshot.view.cursor(snapshot.tables[.changes])
        guard try cursor.last() else { return 0 }
        for _ in 0..<count { guard try cursor.previous() else { return 0 } }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).commit
    }

    /// Returns `count` records of commits before `end`, newest first, and the commit before which there are more.
    static func records(before end: UInt64, count: Int, in snapshot: Snapshot) throws -> ([ChangeRecord], UInt64?) {
        var records: [ChangeRecord] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.changes])
        var found = end == .max ? try cursor.last() : try cursor.seekAtOrBefore(ChangeRecord.key(end - 1))
        while found {
            if records.count == count { return (records, records.last?.commit) }
            records.append(try ChangeRecord(cursor.value, key: cursor.key.copied()))
            found = try cursor.previous()
        }
        return (records, nil)
    }

    /// Returns when the newest change was committed, by the clock of that time; `nil` if there was none.
    static func newestChangeTime(in snapshot: Snapshot) throws -> Int64? {
        var cursor = try snapshot.view.cursor(snapshot.tables[.changes])
        guard try cursor.last() else { return nil }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).time
    }
}
