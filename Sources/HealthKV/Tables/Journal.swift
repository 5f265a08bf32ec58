import ColumnFormat
import LMDB

/// The journal: the last commits, whose records are not in their tables yet.
///
/// A commit that changes little writes all that it changes into one record here, instead of into a page of each table.
/// The tables then hold the store as of an earlier commit, and the journal the commits since. ``Overlay`` lays what they
/// wrote over the tables, so that every read sees both. The next transaction that writes to the tables moves the records
/// there first, and removes them here, in one LMDB transaction with its own changes.
enum Journal {
    /// Returns the record of a commit.
    ///
    /// - Parameters:
    ///   - overlay: the changes of the commit, as its log has them.
    ///   - before: the commits before it.
    static func record(
        of commit: UInt64, _ overlay: Overlay, transaction: Int, before: JournaledCommits, tables: Tables
    ) -> [UInt8] {
        var record = RecordWriter()
        record.append(UInt64(transaction))
        record.append(before.folded)
        record.append(before.chain)
        overlay.forEachLogged { table, key, value in
            record.append(tables.code(of: table).rawValue)
            record.append(UInt16(key.byteCount))
            if let value {
                record.append(UInt32(value.byteCount))
                record.append(raw: key)
                record.append(raw: value)
            } else {
                record.append(UInt32.max)
                record.append(raw: key)
            }
        }
        return record.value(table: .upkeep, key: JournaledCommits.key(commit), commit: commit)
    }

    /// Writes the record of a commit whose changes were collected. Returns the journal after the commit.
    static func append(in txn: inout WriteTransaction) throws -> JournaledCommits {
        var journal = JournaledCommits(transaction: txn.lmdb.id)
        guard let overlay = txn.lmdb.sharedOverlay() else { return journal }
        var before = txn.context.journal
        if before.count == 0 {
            guard let header = try txn.lmdb.view.getBeneath(txn.context.tables[.meta], StoreHeader.key) else {
                throw FormatError(.truncated, "header of the store")
            }
            (before.folded, before.last) = (txn.commit - 1, txn.commit - 1)
            before.chain = Checksum.hash(header)
        }
        let value = record(
            of: txn.commit, overlay, transaction: txn.lmdb.id, before: before, tables: txn.context.tables)
        try txn.lmdb.putBeneath(
            txn.context.tables[.upkeep], key: JournaledCommits.key(txn.commit).rawSpan, value: value.rawSpan)
        overlay.startLog()
        (journal.folded, journal.last) = (before.folded, txn.commit)
        (journal.chain, journal.overlay) = (Checksum.hash(value.rawSpan), overlay)
        return journal
    }

    /// Returns the commits in the journal of a snapshot.
    ///
    /// - Parameter known: those of an earlier snapshot, which need not be read again.
    static func commits(
        in view: View, _ tables: Tables, known: JournaledCommits? = nil
    ) throws -> JournaledCommits {
        var found = JournaledCommits(transaction: view.transactionID)
        var cursor = try view.cursorBeneath(tables[.upkeep])
        guard try cursor.seekAtOrBefore(JournaledCommits.key(.max)), cursor.key.hasPrefix([JournaledCommits.kind], count: 1)
        else { return found }
        let last = try commit(of: cursor.key)
        let folded = try fields(of: cursor.value, last).folded
        guard folded < last, last - folded <= commitLimit else { throw FormatError(.invalid, "journal") }
        if let known, known.overlay != nil, known.folded == folded, known.last <= last {
            found = known
            found.transaction = view.transactionID
        } else {
            guard let header = try view.getBeneath(tables[.meta], StoreHeader.key),
                try StoreHeader(header).commit == folded
            else { throw FormatError(.misplaced, "journal") }
            (found.folded, found.last, found.chain) = (folded, folded, Checksum.hash(header))
        }
        guard found.last < last else { return found }
        let overlay = found.overlay?.copy() ?? Overlay()
        for commit in found.last + 1...last {
            let key = JournaledCommits.key(commit)
            guard try cursor.seekExact(key) else { throw FormatError(.invalid, "journal") }
            try lay(cursor.value, commit, after: found, over: overlay, view, tables)
            (found.last, found.chain) = (commit, Checksum.hash(cursor.value))
        }
        overlay.startLog()
        found.overlay = overlay
        return found
    }

    /// Moves the records of the journal into the tables, in a transaction that belongs to no open store.
    static func moveToTables(in transaction: inout LMDB.WriteTransaction, _ tables: Tables) throws {
        let journal = try commits(in: transaction.view, tables)
        guard journal.count > 0 else { return }
        transaction.collect(over: journal.overlay)
        try transaction.fold()
        for commit in journal.folded + 1...journal.last {
            try transaction.delete(tables[.upkeep], JournaledCommits.key(commit))
        }
    }

    /// More commits than this are never in the journal: the number bounds what a damaged record can ask for.
    private static let commitLimit: UInt64 = 1 << 20

    private static func commit(of key: RawSpan) throws -> UInt64 {
        guard key.byteCount == 9, let commit = key.number(1) else { throw FormatError(.misplaced, "journal") }
        return commit
    }

    private static func fields(
        of value: RawSpan, _ commit: UInt64
    ) throws(FormatError) -> (transaction: UInt64, folded: UInt64, chain: UInt64) {
        var record = try RecordReader(value, table: .upkeep, key: JournaledCommits.key(commit))
        return (try record.read(UInt64.self), try record.read(UInt64.self), try record.read(UInt64.self))
    }

    /// Lays the changes of a commit over what the commits before it wrote.
    private static func lay(
        _ value: RawSpan, _ commit: UInt64, after before: JournaledCommits, over overlay: Overlay, _ view: View,
        _ tables: Tables
    ) throws {
        var record = try RecordReader(value, table: .upkeep, key: JournaledCommits.key(commit))
        _ = try record.read(UInt64.self)
        guard try record.read(UInt64.self) == before.folded, try record.read(UInt64.self) == before.chain else {
            throw FormatError(.misplaced, "journal")
        }
        while !record.isAtEnd {
            guard let code = TableCode(rawValue: try record.read(UInt8.self)) else {
                throw FormatError(.newer, "journal")
            }
            let keyCount = Int(try record.read(UInt16.self))
            let valueCount = try record.read(UInt32.self)
            guard keyCount >= 1, keyCount <= 511 else { throw FormatError(.invalid, "journal") }
            let key = try record.readSpan(keyCount)
            if valueCount == .max {
                overlay.remove(tables[code], key: key, isInTable: try view.getBeneath(tables[code], key) != nil)
            } else {
                overlay.put(tables[code], key: key, value: try record.readSpan(Int(valueCount)))
            }
        }
    }
}
