import ColumnFormat
import HealthModel
import LMDB

/// Deletions that peers tell of, and the removal of what they brought.
extension WriteTransaction {
    /// Takes over a deletion as another store recorded it, version and clock as given. It wins over what it is not below:
    /// by version, then by clock, a deletion before content (SEMANTICS C1). Answers whether anything changed.
    @discardableResult
    public mutating func merge(_ deletion: DeletedSample) throws -> Bool {
        // Without a version no tombstone was left, and there is nothing to take over.
        guard deletion.version > 0 else { return false }
        return try whole { transaction in
            transaction.witness(deletion.modified)
            if let found = try transaction.liveRow(of: deletion) {
                let clock = ChangeClock(
                    time: Instant(nanoseconds: found.row.clockTime), replica: found.row.clockReplica)
                guard (deletion.version, deletion.modified) >= (found.row.version, clock) else { return false }
                try transaction.deleteFound([found], tombstoneVersion: deletion.version, clock: deletion.modified)
                return true
            }
            return try transaction.buryUnknown(deletion)
        }
    }

    /// The live row that a deletion is about: by its id, else by its sync identity.
    private mutating func liveRow(of deletion: DeletedSample) throws -> FoundRow? {
        if let found = try settled(snapshot.find(deletion.id)) { return found }
        guard let text = deletion.syncIdentifier, let type = try snapshot.number(of: deletion.type),
            let source = try snapshot.number(of: deletion.source)
        else { return nil }
        for candidate in try snapshot.find(syncIdentifier: text) where candidate.lane.type == type {
            guard try snapshot.revision(candidate.row.revision).sourceNumber == source else { continue }
            if let found = try settled(candidate) { return found }
        }
        return nil
    }

    /// A deletion of what is not here leaves its tombstone too: an older version may still come, from elsewhere.
    private mutating func buryUnknown(_ deletion: DeletedSample) throws -> Bool {
        let type = try number(of: deletion.type)
        let source = try number(of: deletion.source)
        let sync = deletion.syncIdentifier.map { SyncIdentity(type: type, source: source, identifier: $0) }
        for known in [try snapshot.tombstone(deletion.id), try sync.flatMap { try snapshot.tombstone($0) }] {
            if let known, (known.version, known.clock) >= (deletion.version, deletion.modified) { return false }
        }
        let ordinal = state.takeOrdinal()
        try bury(
            Tombstone(
                deletion, type: type, source: source, commit: commit, ordinal: ordinal,
                time: environment.now().nanoseconds))
        state.deletions.append(ChangeRecord.Deletion(ordinal: ordinal, id: deletion.id, type: type))
        return true
    }

    /// Deletes a sample because a peer did. The tombstone takes the greater of both versions. Answers false when there is no such
    /// sample.
    @discardableResult
    public mutating func delete(id: SampleID, version: Int64) throws -> Bool {
        guard let found = try snapshot.find(id) else { return false }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            try transaction.deleteFound([live], tombstoneVersion: max(version, live.row.version))
            return true
        }
    }

    /// Raises the version of a deletion, because a peer tells that it deleted a greater one of which nothing was heard here: wherever that one
    /// still is, it goes. Answers whether the deletion stood below it.
    @discardableResult
    public mutating func raise(_ deletion: DeletedSample, to version: Int64) throws -> Bool {
        guard deletion.version < version else { return false }
        witness(deletion.modified)
        return try merge(
            DeletedSample(
                id: deletion.id, type: deletion.type, source: deletion.source,
                syncIdentifier: deletion.syncIdentifier, version: version, modified: tick()))
    }

    /// Removes a sample without a trace, as when its provider is disconnected: nothing is sent to peers, and a later pull may
    /// bring it again. Answers false when there is no such sample.
    @discardableResult
    public mutating func purge(id: SampleID) throws -> Bool {
        guard let found = try snapshot.find(id) else { return false }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            try transaction.apply(live.lane, inserts: [], removals: [live.row.point])
            try transaction.reindex(from: (live.row, live.lane), to: nil)
            transaction.state.deletions.append(
                ChangeRecord.Deletion(ordinal: transaction.state.takeOrdinal(), id: id, type: live.lane.type))
            return true
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Whether a live sample was last changed behind a token.
    public func isChanged(id: SampleID, since token: ChangeToken) throws -> Bool {
        guard let row = try snapshot.find(id)?.row else { return false }
        return (row.commit, row.ordinal) > (token.commit, token.ordinal)
    }

    /// The deletions that a mass operation left, by its place in the feed. They are all there once its steps are done.
    public func deletions(at token: ChangeToken) throws -> [DeletedSample] {
        let snapshot = snapshot
        var deletions: [DeletedSample] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.tombstones])
        while try cursor.next() {
            let key = cursor.key.copied()
            guard key.first == 1 else { break }
            let tombstone = try Tombstone(cursor.value, key: key)
            guard tombstone.commit == token.commit, tombstone.ordinal == token.ordinal else { continue }
            deletions.append(try snapshot.deletedSample(tombstone))
        }
        return deletions
    }

    /// The deletion that stands against a sync identifier of a type and source; `nil` where none does.
    public func deletedSample(
        syncIdentifier: String, type: SampleType, source: SourceIdentity
    ) throws -> DeletedSample? {
        let snapshot = snapshot
        guard let type = try snapshot.number(of: type), let source = try snapshot.number(of: source) else {
            return nil
        }
        let sync = SyncIdentity(type: type, source: source, identifier: syncIdentifier)
        return try snapshot.tombstone(sync).map { try snapshot.deletedSample($0) }
    }
}
