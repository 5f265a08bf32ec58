import ColumnFormat
import HealthModel
import LMDB

/// How a place in a feed relates to what a file holds.
package enum TokenFit: Sendable, Hashable {
    /// The file holds all that led to the place.
    case fits
    /// The place is of another store.
    case otherStore
    /// The place is of another epoch: either side was restored since, and is known to be.
    case otherEpoch
    /// The file has not come so far: it was rolled back.
    case ahead
    /// The file has come so far by other commits: it was rolled back and has gone on, or the token is of a copy that has.
    case forked

    /// Whether the file, or its copy that gave the token, was rolled back without being known as restored.
    package var isRolledBack: Bool { self == .ahead || self == .forked }
}

/// Tells what one file has written from what another copy of it has. Each commit that changes samples has a random mark in its
/// change record, and each token the mark of the last one that it stands behind. So where a file holds the mark, it holds all that
/// led to it. Upkeep forgets records, but not those that registered peers stand behind; a token of a forgotten one is believed. Commits without a change count for nothing: a reader behind them has missed none.
enum History {
    /// The mark of the last change record of a commit and those before; 0 where there is none.
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
        // A record that was forgotten proves nothing, and neither does a place before the first deletion that is known.
        return try token.commit <= header.prunedCommit || isForgotten(token.commit, view, tables) ? .fits : .forked
    }

    /// Whether the record of a commit, or the last one before it, may have been taken over by a later one.
    private static func isForgotten(_ commit: UInt64, _ view: View, _ tables: Tables) throws -> Bool {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.seek(ChangeRecord.key(commit + 1)) else { return false }
        let record = try ChangeRecord(cursor.value, key: cursor.key.copied())
        return record.since > 0 && record.since <= commit
    }
}
