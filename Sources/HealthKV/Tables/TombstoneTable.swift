import ColumnFormat
import HealthModel
import LMDB

/// The tombstones of deleted samples, by id and by sync identity.
enum TombstoneTable {
    // Tombstones have two kinds of keys: by id, and by sync identity. The keys by id precede the others.
    private static let byID: UInt8 = 1
    private static let bySync: UInt8 = 2

    /// Returns the key by id.
    static func key(_ id: SampleID) -> [UInt8] {
        var writer = ByteWriter(reserving: 17)
        writer.append(byID)
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
        return writer.bytes
    }

    /// Returns the key by sync identity: a keyed hash of 128 bits over type, source and identifier.
    static func key(sync: SyncIdentity, _ hashKey: KeyedHash) -> [UInt8] {
        let words = IdentityHash.words(of: Array(sync.identifier.utf8), hashKey)
        let place = UInt64(sync.type) << 32 | UInt64(sync.source)
        var writer = ByteWriter(reserving: 17)
        writer.append(bySync)
        writer.appendBigEndian(hashKey.hash(words.0, words.1, place))
        writer.appendBigEndian(hashKey.hash(words.1, words.0, ~place))
        return writer.bytes
    }

    /// Returns `true` if a key is one by id.
    static func isByID(_ key: [UInt8]) -> Bool { key.first == byID }

    static func tombstone(_ id: SampleID, in snapshot: Snapshot) throws -> Tombstone? {
        try tombstone(at: key(id), in: snapshot)
    }

    static func tombstone(_ sync: SyncIdentity, in snapshot: Snapshot) throws -> Tombstone? {
        if let found = try tombstone(at: key(sync: sync, snapshot.header.hashKey), in: snapshot),
            found.sync == sync
        {
            return found
        }
        guard let id = SampleID(canonical: sync.identifier), let found = try tombstone(id, in: snapshot) else {
            return nil
        }
        return found.sync == sync ? found : nil
    }

    private static func tombstone(at key: [UInt8], in snapshot: Snapshot) throws -> Tombstone? {
        guard let span = try snapshot.view.get(snapshot.tables[.tombstones], key) else { return nil }
        return try Tombstone(span, key: key)
    }

    // A deletion is recorded under two keys with independent lifetimes: the id, and the sync identity. The default
    // sync identifier is the text of the id, and needs no record of its own while the id has a tombstone.

    /// Writes the tombstone of a row, under another identity if the sample was deleted under one.
    static func bury(
        _ row: StoredRow, _ lane: Lane, as identity: DeletedIdentity? = nil, clock: ChangeClock, commit: UInt64,
        ordinal: UInt32, time: Int64, in txn: inout WriteTransaction
    ) throws {
        let source = try NameTable.revision(row.revision, in: txn.snapshot).sourceNumber
        var tombstone = Tombstone(
            of: row, type: lane.type, source: source, clock: clock, commit: commit, ordinal: ordinal, time: time)
        if let identity {
            (tombstone.source, tombstone.syncIdentifier) = (identity.source, identity.syncIdentifier)
        }
        try bury(tombstone, in: &txn)
    }

    /// Writes a tombstone under its id, and under its sync identity if it has one.
    static func bury(_ buried: Tombstone, in txn: inout WriteTransaction) throws {
        var tombstone = buried
        if let sync = tombstone.sync, let other = try TombstoneTable.tombstone(sync, in: txn.snapshot),
            other.id != tombstone.id
        {
            // Of two deletions of one sync identity, the greater one keeps it.
            if tombstone.order < other.order {
                tombstone.syncIdentifier = nil
            } else {
                try release(sync, from: other, in: &txn)
            }
        }
        try put(tombstone, key(tombstone.id), in: &txn)
        if let sync = tombstone.sync, sync.identifier != tombstone.id.description {
            try put(tombstone, key(sync: sync, txn.state.header.hashKey), in: &txn)
        }
    }

    /// Removes the tombstones that veto a sample which lives again: those under its id and under its sync identity, no
    /// others.
    static func revive(_ id: SampleID, _ sync: SyncIdentity?, _ tombstones: [Tombstone], in txn: inout WriteTransaction)
        throws
    {
        for tombstone in tombstones {
            if let sync, tombstone.sync == sync { try release(sync, from: tombstone, in: &txn) }
            guard tombstone.id == id, try remove(tombstone, key(id), in: &txn) else { continue }
            try ContentTable.forgetContent(of: id, in: &txn)
            if let own = tombstone.sync, own != sync, own.identifier == id.description {
                try put(tombstone, key(sync: own, txn.state.header.hashKey), in: &txn)
            }
        }
    }

    /// Restricts a tombstone to its id.
    private static func release(_ sync: SyncIdentity, from tombstone: Tombstone, in txn: inout WriteTransaction) throws
    {
        try remove(tombstone, key(sync: sync, txn.state.header.hashKey), in: &txn)
        guard var own = try TombstoneTable.tombstone(tombstone.id, in: txn.snapshot), own.sync == sync else { return }
        own.syncIdentifier = nil
        try put(own, key(own.id), in: &txn)
    }

    private static func put(_ tombstone: Tombstone, _ key: [UInt8], in txn: inout WriteTransaction) throws {
        let isNew = try !txn.snapshot.view.contains(txn.context.tables[.tombstones], key)
        try txn.put(.tombstones, key, tombstone.value(key: key, stamp: txn.stamp))
        if isNew { try IdentityIndex.addRecent(tombstone.entry(key: key, txn.state.header.hashKey), 1, in: &txn) }
    }

    /// Forgets where a deleted sample was: another sample has taken its place, and no third one is meant by it.
    static func forgetPlace(of id: SampleID, in txn: inout WriteTransaction) throws {
        guard var tombstone = try tombstone(id, in: txn.snapshot), tombstone.place != nil else { return }
        tombstone.place = nil
        try put(tombstone, key(id), in: &txn)
    }

    /// Removes one row of the table together with its entry in the index.
    @discardableResult
    static func remove(_ tombstone: Tombstone, _ key: [UInt8], in txn: inout WriteTransaction) throws -> Bool {
        guard try txn.remove(.tombstones, key) else { return false }
        try IdentityIndex.addRecent(tombstone.entry(key: key, txn.state.header.hashKey), -1, in: &txn)
        return true
    }

    /// Removes the tombstone of a sync identity.
    static func remove(_ tombstone: Tombstone, of sync: SyncIdentity, in txn: inout WriteTransaction) throws {
        try remove(tombstone, key(sync: sync, txn.state.header.hashKey), in: &txn)
    }

    /// Returns the number of records; a deletion may have two.
    static func count(in snapshot: Snapshot) throws -> Int {
        try snapshot.view.count(snapshot.tables[.tombstones])
    }

    /// Calls `body` with the tombstones by id from an id on, in order, until it returns `false`.
    static func forEachByID(from id: SampleID, in snapshot: Snapshot, _ body: (Tombstone) throws -> Bool) throws {
        var cursor = try snapshot.view.cursor(snapshot.tables[.tombstones])
        var found = try cursor.seek(key(id))
        while found {
            let key = cursor.key.copied()
            guard isByID(key), try body(Tombstone(cursor.value, key: key)) else { return }
            found = try cursor.next()
        }
    }

    /// Returns the entry of the identity index that each record must have.
    static func entries(in snapshot: Snapshot) throws -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.tombstones])
        while try cursor.next() {
            let key = cursor.key.copied()
            let tombstone = try Tombstone(cursor.value, key: key)
            entries.append(tombstone.entry(key: key, snapshot.header.hashKey))
        }
        return entries
    }

    /// Returns the matching ones of the `count` tombstones from a key on, and the key after them.
    static func tombstones(
        from position: [UInt8], count: Int, in snapshot: Snapshot, _ matches: (Tombstone) -> Bool
    ) throws -> ([([UInt8], Tombstone)], [UInt8]?) {
        var tombstones: [([UInt8], Tombstone)] = []
        var left = count
        var cursor = try snapshot.view.cursor(snapshot.tables[.tombstones])
        var found = try cursor.seek(position)
        while found {
            let key = cursor.key.copied()
            if left == 0 { return (tombstones, key) }
            left -= 1
            let tombstone = try Tombstone(cursor.value, key: key)
            if matches(tombstone) { tombstones.append((key, tombstone)) }
            found = try cursor.next()
        }
        return (tombstones, nil)
    }
}
