import ColumnFormat
import HealthModel

extension WriteTransaction {
    /// Deletes the sample with an id. Answers false when there is none, which is no error.
    @discardableResult
    public mutating func delete(id: SampleID) throws -> Bool {
        guard let found = try settled(snapshot.find(id)) else { return false }
        try delete([found])
        return true
    }

    /// Deletes the sample with a sync identifier of a type and source.
    @discardableResult
    public mutating func delete(
        syncIdentifier: String, type: SampleType, source: SourceIdentity
    ) throws -> Bool {
        guard let type = try snapshot.number(of: type), let source = try snapshot.number(of: source) else { return false }
        let found = try snapshot.find(syncIdentifier: syncIdentifier).filter { candidate in
            try candidate.lane.type == type && snapshot.revision(candidate.row.revision).sourceNumber == source
        }
        return try deleteLive(found) > 0
    }

    /// Deletes all samples of a group, such as a meal with all its nutrients, and answers how many there were.
    @discardableResult
    public mutating func deleteGroup(_ group: String) throws -> Int { try deleteLive(snapshot.find(group: group)) }

    private mutating func deleteLive(_ found: [FoundRow]) throws -> Int {
        var live: [FoundRow] = []
        for row in found { if let row = try settled(row) { live.append(row) } }
        try delete(live)
        return live.count
    }

    private mutating func delete(_ found: [FoundRow]) throws {
        for item in found {
            try apply(item.lane, inserts: [], removals: [item.row.point])
            let ordinal = state.takeOrdinal()
            try bury(
                item.row, item.lane, clock: tick(), commit: commit, ordinal: ordinal, time: environment.now().nanoseconds)
            try reindex(from: (item.row, item.lane), to: nil)
            state.deletions.append(ChangeRecord.Deletion(ordinal: ordinal, id: item.row.id, type: item.lane.type))
        }
    }

    /// Leaves a tombstone for a row under its id, and under its sync identity if it has one of its own.
    mutating func bury(
        _ row: StoredRow, _ lane: Lane, clock: ChangeClock, commit: UInt64, ordinal: UInt32, time: Int64
    ) throws {
        let source = try snapshot.revision(row.revision).sourceNumber
        let tombstone = Tombstone(
            of: row, type: lane.type, source: source, clock: clock, commit: commit, ordinal: ordinal, time: time)
        if let older = try snapshot.tombstone(row.id) { try removeTombstone(older) }
        try store(tombstone)
    }

    private mutating func store(_ tombstone: Tombstone) throws {
        let key = Tombstone.key(tombstone.id)
        try put(.tombstones, key, tombstone.value(key: key, commit: commit))
        try addRecent(IdentityEntry(tombstone: IdentityHash.of(tombstone.id, state.header.hashKey)), 1)
        guard let sync = tombstone.sync else { return }
        let syncKey = Tombstone.key(sync: sync, state.header.hashKey)
        // An older sample of this sync identity may have left its own: this one is later and speaks for both.
        let isNew = try snapshot.tombstone(sync) == nil
        try put(.tombstones, syncKey, tombstone.value(key: syncKey, commit: commit))
        guard isNew else { return }
        try addRecent(IdentityEntry(tombstone: IdentityHash.of(syncIdentifier: sync.identifier, state.header.hashKey)), 1)
    }

    /// Takes a tombstone back: its sample lives again, or it is old enough to forget.
    mutating func removeTombstone(_ tombstone: Tombstone) throws {
        if try remove(.tombstones, Tombstone.key(tombstone.id)) {
            try addRecent(IdentityEntry(tombstone: IdentityHash.of(tombstone.id, state.header.hashKey)), -1)
        }
        guard let sync = tombstone.sync, try snapshot.tombstone(sync)?.id == tombstone.id else { return }
        if try remove(.tombstones, Tombstone.key(sync: sync, state.header.hashKey)) {
            let hash = IdentityHash.of(syncIdentifier: sync.identifier, state.header.hashKey)
            try addRecent(IdentityEntry(tombstone: hash), -1)
        }
    }
}
