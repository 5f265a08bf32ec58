import ColumnFormat
import HealthModel

/// A deletion is recorded under two keys with independent lifetimes: the id, and the sync identity. The default sync
/// identifier is the text of the id, and needs no record of its own while the id has a tombstone.
extension WriteTransaction {
    /// Writes the tombstone of a row under its id, and under its sync identity if it has one.
    mutating func bury(
        _ row: StoredRow, _ lane: Lane, clock: ChangeClock, commit: UInt64, ordinal: UInt32, time: Int64
    ) throws {
        let source = try snapshot.revision(row.revision).sourceNumber
        try bury(
            Tombstone(
                of: row, type: lane.type, source: source, clock: clock, commit: commit, ordinal: ordinal, time: time))
    }

    mutating func bury(_ buried: Tombstone) throws {
        var tombstone = buried
        if let sync = tombstone.sync, let other = try snapshot.tombstone(sync), other.id != tombstone.id {
            // Of two deletions of one sync identity, the greater one keeps it.
            if (tombstone.version, tombstone.clock) < (other.version, other.clock) {
                tombstone.syncIdentifier = nil
            } else {
                try release(sync, from: other)
            }
        }
        try put(tombstone, Tombstone.key(tombstone.id))
        if let sync = tombstone.sync, sync.identifier != tombstone.id.description {
            try put(tombstone, Tombstone.key(sync: sync, state.header.hashKey))
        }
    }

    /// Removes the tombstones that veto a sample which lives again: those under its id and under its sync identity, no
    /// others.
    mutating func revive(_ id: SampleID, _ sync: SyncIdentity?, _ tombstones: [Tombstone]) throws {
        for tombstone in tombstones {
            if let sync, tombstone.sync == sync { try release(sync, from: tombstone) }
            guard tombstone.id == id, try remove(tombstone, Tombstone.key(id)) else { continue }
            try forgetContent(of: id)
            if let own = tombstone.sync, own != sync, own.identifier == id.description {
                try put(tombstone, Tombstone.key(sync: own, state.header.hashKey))
            }
        }
    }

    /// Restricts a tombstone to its id.
    private mutating func release(_ sync: SyncIdentity, from tombstone: Tombstone) throws {
        try remove(tombstone, Tombstone.key(sync: sync, state.header.hashKey))
        guard var own = try snapshot.tombstone(tombstone.id), own.sync == sync else { return }
        own.syncIdentifier = nil
        try put(own, Tombstone.key(own.id))
    }

    private mutating func put(_ tombstone: Tombstone, _ key: [UInt8]) throws {
        let isNew = try !snapshot.view.contains(context.tables[.tombstones], key)
        try put(.tombstones, key, tombstone.value(key: key, commit: commit))
        if isNew { try addRecent(tombstone.entry(key: key, state.header.hashKey), 1) }
    }

    /// Removes one row of the table together with its entry in the index.
    @discardableResult
    mutating func remove(_ tombstone: Tombstone, _ key: [UInt8]) throws -> Bool {
        guard try remove(.tombstones, key) else { return false }
        try addRecent(tombstone.entry(key: key, state.header.hashKey), -1)
        return true
    }
}
