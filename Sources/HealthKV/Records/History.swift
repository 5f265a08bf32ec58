import ColumnFormat
import HealthModel
import LMDB

/// How a position in a feed relates to the history of a file.
package enum TokenFit: Sendable, Hashable {
    /// The file contains the whole history up to the position.
    case fits
    /// The position belongs to another store.
    case otherStore
    /// The position belongs to another epoch: either side was restored since, and this is known.
    case otherEpoch
    /// The file has not reached the position: it was rolled back.
    case ahead
    /// The file has reached the position by other commits: it was rolled back and then continued, or the token belongs
    /// to a copy that did.
    case forked

    /// Whether the file, or the copy that issued the token, was rolled back without the restore being noticed.
    package var isRolledBack: Bool { self == .ahead || self == .forked }
}

/// Distinguishes the history of a file from that of another copy of it. Each commit that changes samples has a random
/// mark in its change record, and each token carries the mark of the last such commit up to its position. A file that
/// holds the mark holds the whole history up to it. Upkeep removes records, but not those at the positions of
/// registered peers; a token of a removed record is accepted. Commits without a change do not count: a reader after
/// them has missed none.
enum History {
    /// Returns the mark of the last change record up to a commit; 0 if there is none.
    static func mark(upTo commit: UInt64, _ view: View, _ tables: Tables) throws -> UInt64 {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.seekAtOrBefore(ChangeRecord.key(commit)) else { return 0 }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).mark
    }

    static func fit(
        of token: ChangeToken, _ header: StoreHeader, _ view: View, _ tables: Tables
    ) throws -> TokenFit {
        guard token.store == header.storeID else { return .otherStore }
        guard token.epoch == header.epoch else { return .otherEpoch }
        guard token.commit <= header.commit else { return .ahead }
        if token.commit == header.commit, token.mark == header.mark { return .fits }
        if try mark(upTo: token.commit, view, tables) == token.mark { return .fits }
        // A removed record proves nothing, and neither does a position before the first deletion that is still known.
        return try token.commit <= header.prunedCommit || isForgotten(token.commit, view, tables) ? .fits : .forked
    }

    /// Returns `true` if the record of a commit, or the last one before it, may have been merged into a later one.
    private static func isForgotten(_ commit: UInt64, _ view: View, _ tables: Tables) throws -> Bool {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.seek(ChangeRecord.key(commit + 1)) else { return false }
        let record = try ChangeRecord(cursor.value, key: cursor.key.copied())
        return record.since > 0 && record.since <= commit
    }
}
