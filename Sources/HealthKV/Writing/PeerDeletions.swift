import ColumnFormat
import HealthModel
import LMDB

/// Deletions reported by peers, and the removal of samples that peers brought.
extension WriteTransaction {
    /// Merges a deletion as another store recorded it, with the given version and clock. It wins over a sample that is
    /// not greater: compares the version, then the clock, and at a tie the deletion wins over the content (SEMANTICS
    /// C1). Returns `true` if anything changed.
    @discardableResult
    public mutating func merge(_ deletion: DeletedSample) throws -> Bool { try merge([deletion])[0] }

    /// Merges deletions as ``merge(_:)-(DeletedSample)`` does one by one, but writes each chunk once. Returns for each
    /// deletion whether it changed anything.
    package mutating func merge(_ deletions: [DeletedSample]) throws -> [Bool] {
        for deletion in deletions where deletion.version != 0 && !(1...Sample.versionLimit).contains(deletion.version) {
            throw ModelError.numberOutOfRange(field: "version")
        }
        return try whole { transaction in
            var leaving = LeavingRows()
            var changes: [Bool] = []
            for deletion in deletions {
                if leaving.mayBeMeant(by: deletion) { try transaction.deleteRows(leaving.take()) }
                changes.append(try transaction.merge(deletion, &leaving))
            }
            try transaction.deleteRows(leaving.take())
            return changes
        }
    }

    /// Merges one deletion. If it wins over a live row, appends the row to `leaving`, to be deleted together with
    /// others.
    private mutating func merge(_ deletion: DeletedSample, _ leaving: inout LeavingRows) throws -> Bool {
        // A deletion without a version left no tombstone, so there is nothing to merge.
        guard deletion.version != 0 else { return false }
        witness(deletion.modified)
        guard let found = try liveRow(of: deletion) else { return try buryUnknown(deletion) }
        let last = try lastChange(of: found)
        guard (deletion.version, deletion.modified) >= (last.version, last.clock) else { return false }
        leaving.append(LeavingRow(found, version: deletion.version, clock: deletion.modified))
        return true
    }

    /// Returns the live row that a deletion refers to: by its id, otherwise by its sync identity.
    private mutating func liveRow(of deletion: DeletedSample) throws -> FoundRow? {
        if let found = try settled(SampleLookup.find(deletion.id, in: snapshot)) { return found }
        guard let text = deletion.syncIdentifier, let type = try NameTable.number(of: deletion.type, in: snapshot),
            let source = try NameTable.number(of: deletion.source, in: snapshot)
        else { return nil }
        for candidate in try SampleLookup.find(syncIdentifier: text, in: snapshot) where candidate.lane.type == type {
            guard try NameTable.revision(candidate.row.revision, in: snapshot).sourceNumber == source else { continue }
            if let found = try settled(candidate) { return found }
        }
        return nil
    }

    /// Writes a tombstone for a sample that is not stored here, because an older version may still arrive from
    /// elsewhere.
    private mutating func buryUnknown(_ deletion: DeletedSample) throws -> Bool {
        let type = try NameTable.number(of: deletion.type, in: &self)
        let source = try NameTable.number(of: deletion.source, in: &self)
        let sync = deletion.syncIdentifier.map { SyncIdentity(type: type, source: source, identifier: $0) }
        for known in [
            try TombstoneTable.tombstone(deletion.id, in: snapshot),
            try sync.flatMap { try TombstoneTable.tombstone($0, in: snapshot) },
        ] {
            if let known, (known.version, known.clock) >= (deletion.version, deletion.modified) { return false }
        }
        let ordinal = state.takeOrdinal()
        try TombstoneTable.bury(
            Tombstone(
                deletion, type: type, source: source, commit: commit, ordinal: ordinal,
                time: environment.now().nanoseconds), in: &self)
        state.deletions.append(ChangeRecord.Deletion(commit: commit, ordinal: ordinal, id: deletion.id, type: type))
        return true
    }

    /// Deletes a sample because a peer deleted it. The tombstone takes the greater of both versions. Returns `false` if
    /// there is no such sample.
    @discardableResult
    public mutating func delete(id: SampleID, version: Int64) throws -> Bool {
        guard version <= Sample.versionLimit else { throw ModelError.numberOutOfRange(field: "version") }
        guard let found = try SampleLookup.find(id, in: snapshot) else { return false }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            let last = try transaction.lastChange(of: live).version
            try transaction.deleteRows([LeavingRow(live, version: max(version, last))])
            return true
        }
    }

    /// Deletes distinct samples because a peer deleted them, as ``delete(id:version:)`` does one by one. Takes the rows
    /// from the points at which the samples were read, and writes each chunk once.
    package mutating func delete(_ deletions: [(sample: Sample, version: Int64)]) throws {
        for deletion in deletions where deletion.version > Sample.versionLimit {
            throw ModelError.numberOutOfRange(field: "version")
        }
        try whole { transaction in
            var gone = try transaction.takeRows(of: deletions.map(\.sample))
            try IdentityIndex.indexingTogether(in: &transaction) { transaction in
                for (sample, version) in deletions {
                    guard let found = gone.removeValue(forKey: sample.id) else { continue }
                    try transaction.bury(
                        LeavingRow(found, version: max(version, transaction.lastChange(of: found).version)))
                }
            }
        }
    }

    /// Removes the rows of samples from their chunks, and returns them by id.
    private mutating func takeRows(of samples: [Sample]) throws -> [SampleID: FoundRow] {
        var points: [Lane: [Point]] = [:]
        for sample in samples {
            guard let type = try NameTable.number(of: sample.type, in: snapshot) else { continue }
            let point = Point(start: sample.start.nanoseconds, end: sample.end.nanoseconds, id: sample.id)
            let lane = Lane(type: type, duration: DurationClass(start: point.start, end: point.end))
            points[lane, default: []].append(point)
        }
        var gone: [SampleID: FoundRow] = [:]
        for lane in points.keys.sorted() {
            for row in try LaneWriter.apply(lane, inserts: [], removals: points[lane]!.sorted(), in: &self) {
                gone[row.id] = FoundRow(lane: lane, row: row, isHidden: false)
            }
        }
        // Look up the samples that changed since they were read.
        for sample in samples where gone[sample.id] == nil {
            guard let live = try settled(SampleLookup.find(sample.id, in: snapshot)) else { continue }
            try LaneWriter.apply(live.lane, inserts: [], removals: [live.row.point], in: &self)
            gone[sample.id] = live
        }
        return gone
    }

    /// Raises the version of a deletion, because a peer reports that it deleted a greater version that is unknown here.
    /// That version is then deleted wherever it still exists. Returns `true` if the deletion was below it.
    @discardableResult
    public mutating func raise(_ deletion: DeletedSample, to version: Int64) throws -> Bool {
        guard deletion.version < version else { return false }
        witness(deletion.modified)
        return try merge(deletion.raised(to: version, at: tick(over: deletion.modified)))
    }

    /// Gives the deletions of samples a new place in the feed. A peer that shows an older version of a sample deleted
    /// here was restored to an earlier state, and other peers that had received the deletion may have forgotten it.
    ///
    /// - Parameter token: limits this to deletions before the token, because later ones are reported anyway.
    package mutating func tellDeletionsAgain(of samples: [Sample], before token: ChangeToken) throws {
        var told: Set<SampleID> = []
        for sample in samples {
            let sync = try syncIdentity(of: sample)
            for known in [
                try TombstoneTable.tombstone(sample.id, in: snapshot),
                try sync.flatMap { try TombstoneTable.tombstone($0, in: snapshot) },
            ] {
                guard var tombstone = known, told.insert(tombstone.id).inserted,
                    // The sync identifier may be dead while the sample lives under another one.
                    try SampleLookup.find(tombstone.id, in: snapshot) == nil
                else { continue }
                if (tombstone.commit, tombstone.ordinal) > (token.commit, token.ordinal) { continue }
                try whole { transaction in
                    (tombstone.commit, tombstone.ordinal) = (transaction.commit, transaction.state.takeOrdinal())
                    try TombstoneTable.bury(tombstone, in: &transaction)
                    transaction.state.deletions.append(
                        ChangeRecord.Deletion(
                            commit: tombstone.commit, ordinal: tombstone.ordinal, id: tombstone.id, type: tombstone.type
                        ))
                }
            }
        }
    }

    private func syncIdentity(of sample: Sample) throws -> SyncIdentity? {
        guard let text = sample.syncIdentifier, let type = try NameTable.number(of: sample.type, in: snapshot),
            let source = try NameTable.number(of: sample.source.identity, in: snapshot)
        else { return nil }
        return SyncIdentity(type: type, source: source, identifier: text)
    }

    /// Removes a sample without a tombstone, as when its provider is disconnected: nothing is sent to peers, which keep
    /// it, and a later pull may bring it again. Returns `false` if there is no such sample.
    @discardableResult
    public mutating func purge(id: SampleID) throws -> Bool {
        guard let found = try SampleLookup.find(id, in: snapshot) else { return false }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            let source = try NameTable.revision(live.row.revision, in: transaction.snapshot).sourceNumber
            try PurgedSamples.note(live.lane.type, source, in: &transaction)
            try LaneWriter.apply(live.lane, inserts: [], removals: [live.row.point], in: &transaction)
            try IdentityIndex.reindex(from: (live.row, live.lane), to: nil, in: &transaction)
            transaction.state.deletions.append(
                ChangeRecord.Deletion(
                    commit: transaction.commit, ordinal: transaction.state.takeOrdinal(), id: id, type: live.lane.type))
            return true
        }
    }
}

/// Rows to be deleted together. Until then, lookups still find them.
private struct LeavingRows {
    private var rows: [LeavingRow] = []
    private var ids: Set<SampleID> = []
    private var identifiers: Set<String> = []

    mutating func append(_ row: LeavingRow) {
        rows.append(row)
        ids.insert(row.found.row.id)
        if let text = row.found.row.rare?.syncIdentifier { identifiers.insert(text) }
    }

    /// Returns `true` if a deletion may refer to one of the rows, by its id or sync identifier.
    func mayBeMeant(by deletion: DeletedSample) -> Bool {
        if rows.isEmpty { return false }
        if ids.contains(deletion.id) { return true }
        guard let text = deletion.syncIdentifier else { return false }
        return identifiers.contains(text) || SampleID(canonical: text).map { ids.contains($0) } ?? false
    }

    mutating func take() -> [LeavingRow] {
        defer { self = LeavingRows() }
        return rows
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns `true` if a live sample was last changed after a token.
    public func isChanged(id: SampleID, since token: ChangeToken) throws -> Bool {
        guard let row = try SampleLookup.find(id, in: snapshot)?.row else { return false }
        return (row.commit, row.ordinal) > (token.commit, token.ordinal)
    }

    /// Returns `true` if a sample lives and was last changed at or before a commit.
    package func isHeld(_ id: SampleID, since commit: UInt64) throws -> Bool {
        try SampleLookup.find(id, in: snapshot).map { $0.row.commit <= commit } ?? false
    }

    /// Returns a page of the deletions that the store remembers, in the order of their ids: those of one mass
    /// operation, given by its place in the feed, or all. The deletions of a mass operation are complete once
    /// ``isUnfinished(removalAt:)`` returns `false`.
    ///
    /// ```swift
    /// var page = try store.read { try $0.deletions() }
    /// while let next = page.next { page = try store.read { try $0.deletions(after: next) } }
    /// ```
    public func deletions(
        at token: ChangeToken? = nil, after id: SampleID? = nil, limit: Int = 1_000
    ) throws -> DeletionPage {
        try snapshot.require(limit, 1, "limit")
        return try snapshot.deletions(at: token, after: id, limit: limit)
    }

    /// Returns `true` if the mass operation at a place in the feed is unfinished: not every sample that it deletes has
    /// its tombstone yet.
    public func isUnfinished(removalAt token: ChangeToken) -> Bool {
        snapshot.context.state.intents.contains { ($0.commit, $0.ordinal) == (token.commit, token.ordinal) }
    }

    /// Returns the deletion of a sync identifier of a type and source; `nil` if there is none.
    public func deletedSample(
        syncIdentifier: String, type: SampleType, source: SourceIdentity
    ) throws -> DeletedSample? {
        let snapshot = snapshot
        guard let type = try NameTable.number(of: type, in: snapshot),
            let source = try NameTable.number(of: source, in: snapshot)
        else {
            return nil
        }
        let sync = SyncIdentity(type: type, source: source, identifier: syncIdentifier)
        return try TombstoneTable.tombstone(sync, in: snapshot).map { try ChangeFeed.deletedSample($0, in: snapshot) }
    }
}

/// A page of the deletions that a store remembers.
public struct DeletionPage: Sendable, Hashable {
    /// The deletions. A page that is not the last may have none.
    public let deletions: [DeletedSample]
    /// The next page begins after this id; `nil` at the end.
    public let next: SampleID?
}

extension Snapshot {
    /// The maximum number of tombstones that a page examines, however few of them match, so that a read stays short.
    private static let tombstonesAtOnce = 65_536

    fileprivate func deletions(at token: ChangeToken?, after id: SampleID?, limit: Int) throws -> DeletionPage {
        var deletions: [DeletedSample] = []
        var (last, left) = (id, Snapshot.tombstonesAtOnce)
        var cursor = try view.cursor(tables[.tombstones])
        var found = try cursor.seek(Tombstone.key(id ?? .zero))
        while found {
            let key = cursor.key.copied()
            // Keys by sync identity follow the keys by id.
            guard key.first == 1 else { break }
            let tombstone = try Tombstone(cursor.value, key: key)
            found = try cursor.next()
            if tombstone.id == id { continue }
            if left == 0 || deletions.count == limit { return DeletionPage(deletions: deletions, next: last) }
            (last, left) = (tombstone.id, left - 1)
            if let token, (tombstone.commit, tombstone.ordinal) != (token.commit, token.ordinal) { continue }
            deletions.append(try ChangeFeed.deletedSample(tombstone, in: self))
        }
        return DeletionPage(deletions: deletions, next: nil)
    }
}
