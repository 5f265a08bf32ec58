import ColumnFormat
import HealthModel
import LMDB

/// Deletions that peers tell of, and the removal of what they brought.
extension WriteTransaction {
    /// Takes over a deletion as another store recorded it, version and clock as given. It wins over what it is not below:
    /// by version, then by clock, a deletion before content (SEMANTICS C1). Answers whether anything changed.
    @discardableResult
    public mutating func merge(_ deletion: DeletedSample) throws -> Bool { try merge([deletion])[0] }

    /// Takes over deletions as ``merge(_:)-(DeletedSample)`` does one by one, and writes each chunk once. Returns whether each changed anything.
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

    /// Takes over one deletion. A live row that it wins over is left to be deleted with others.
    private mutating func merge(_ deletion: DeletedSample, _ leaving: inout LeavingRows) throws -> Bool {
        // Without a version no tombstone was left, and there is nothing to take over.
        guard deletion.version != 0 else { return false }
        witness(deletion.modified)
        guard let found = try liveRow(of: deletion) else { return try buryUnknown(deletion) }
        let last = try lastChange(of: found)
        guard (deletion.version, deletion.modified) >= (last.version, last.clock) else { return false }
        leaving.append(LeavingRow(found, version: deletion.version, clock: deletion.modified))
        return true
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
        state.deletions.append(ChangeRecord.Deletion(commit: commit, ordinal: ordinal, id: deletion.id, type: type))
        return true
    }

    /// Deletes a sample because a peer did. The tombstone takes the greater of both versions. Answers false when there is no such
    /// sample.
    @discardableResult
    public mutating func delete(id: SampleID, version: Int64) throws -> Bool {
        guard version <= Sample.versionLimit else { throw ModelError.numberOutOfRange(field: "version") }
        guard let found = try snapshot.find(id) else { return false }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            let last = try transaction.lastChange(of: live).version
            try transaction.deleteRows([LeavingRow(live, version: max(version, last))])
            return true
        }
    }

    /// Deletes different samples because a peer did, as ``delete(id:version:)`` does one by one. Their rows are taken from where they were
    /// read, and each chunk is written once.
    package mutating func delete(_ deletions: [(sample: Sample, version: Int64)]) throws {
        for deletion in deletions where deletion.version > Sample.versionLimit {
            throw ModelError.numberOutOfRange(field: "version")
        }
        try whole { transaction in
            var gone = try transaction.takeRows(of: deletions.map(\.sample))
            try transaction.indexingTogether { transaction in
                for (sample, version) in deletions {
                    guard let found = gone.removeValue(forKey: sample.id) else { continue }
                    try transaction.bury(
                        LeavingRow(found, version: max(version, transaction.lastChange(of: found).version)))
                }
            }
        }
    }

    /// Takes the rows of samples out of their chunks, and returns them by id.
    private mutating func takeRows(of samples: [Sample]) throws -> [SampleID: FoundRow] {
        var points: [Lane: [Point]] = [:]
        for sample in samples {
            guard let type = try snapshot.number(of: sample.type) else { continue }
            let point = Point(start: sample.start.nanoseconds, end: sample.end.nanoseconds, id: sample.id)
            let lane = Lane(type: type, duration: DurationClass(start: point.start, end: point.end))
            points[lane, default: []].append(point)
        }
        var gone: [SampleID: FoundRow] = [:]
        for lane in points.keys.sorted() {
            for row in try apply(lane, inserts: [], removals: points[lane]!.sorted()) {
                gone[row.id] = FoundRow(lane: lane, row: row, isHidden: false)
            }
        }
        // What was changed since it was read is looked up.
        for sample in samples where gone[sample.id] == nil {
            guard let live = try settled(snapshot.find(sample.id)) else { continue }
            try apply(live.lane, inserts: [], removals: [live.row.point])
            gone[sample.id] = live
        }
        return gone
    }

    /// Raises the version of a deletion, because a peer tells that it deleted a greater one of which nothing was heard here: wherever that one
    /// still is, it goes. Answers whether the deletion stood below it.
    @discardableResult
    public mutating func raise(_ deletion: DeletedSample, to version: Int64) throws -> Bool {
        guard deletion.version < version else { return false }
        witness(deletion.modified)
        return try merge(deletion.raised(to: version, at: tick(over: deletion.modified)))
    }

    /// Gives the deletions of samples a new place in the feed. Who shows an older version of what was deleted here was restored to it, and
    /// whoever else had heard of the deletion may have forgotten it.
    ///
    /// - Parameter token: only what stands before it, because the rest is told anyway; `nil` for all.
    package mutating func tellDeletionsAgain(of samples: [Sample], before token: ChangeToken?) throws {
        var told: Set<SampleID> = []
        for sample in samples {
            let sync = try syncIdentity(of: sample)
            for known in [try snapshot.tombstone(sample.id), try sync.flatMap { try snapshot.tombstone($0) }] {
                guard var tombstone = known, told.insert(tombstone.id).inserted else { continue }
                if let token, (tombstone.commit, tombstone.ordinal) > (token.commit, token.ordinal) { continue }
                try whole { transaction in
                    (tombstone.commit, tombstone.ordinal) = (transaction.commit, transaction.state.takeOrdinal())
                    try transaction.bury(tombstone)
                    transaction.state.deletions.append(
                        ChangeRecord.Deletion(
                            commit: tombstone.commit, ordinal: tombstone.ordinal, id: tombstone.id, type: tombstone.type))
                }
            }
        }
    }

    private func syncIdentity(of sample: Sample) throws -> SyncIdentity? {
        guard let text = sample.syncIdentifier, let type = try snapshot.number(of: sample.type),
            let source = try snapshot.number(of: sample.source.identity)
        else { return nil }
        return SyncIdentity(type: type, source: source, identifier: text)
    }

    /// Removes a sample without a tombstone, as when its provider is disconnected: nothing is sent to peers, which keep
    /// it, and a later pull may bring it again. Answers false when there is no such sample.
    @discardableResult
    public mutating func purge(id: SampleID) throws -> Bool {
        guard let found = try snapshot.find(id) else { return false }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            let source = try transaction.snapshot.revision(live.row.revision).sourceNumber
            try transaction.notePurged(live.lane.type, source)
            try transaction.apply(live.lane, inserts: [], removals: [live.row.point])
            try transaction.reindex(from: (live.row, live.lane), to: nil)
            transaction.state.deletions.append(
                ChangeRecord.Deletion(
                    commit: transaction.commit, ordinal: transaction.state.takeOrdinal(), id: id, type: live.lane.type))
            return true
        }
    }
}

/// Rows that are to be deleted together. Until they are, they are found as if they lived.
private struct LeavingRows {
    private var rows: [LeavingRow] = []
    private var ids: Set<SampleID> = []
    private var identifiers: Set<String> = []

    mutating func append(_ row: LeavingRow) {
        rows.append(row)
        ids.insert(row.found.row.id)
        if let text = row.found.row.rare?.syncIdentifier { identifiers.insert(text) }
    }

    /// Whether a deletion may be about one of them, by its id or sync identifier.
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
    /// Whether a live sample was last changed behind a token.
    public func isChanged(id: SampleID, since token: ChangeToken) throws -> Bool {
        guard let row = try snapshot.find(id)?.row else { return false }
        return (row.commit, row.ordinal) > (token.commit, token.ordinal)
    }

    /// Whether a live sample was last changed up to a commit.
    package func isHeld(_ id: SampleID, since commit: UInt64) throws -> Bool {
        try snapshot.find(id).map { $0.row.commit <= commit } ?? false
    }

    /// Some of the deletions that the store remembers, in the order of their ids: those that a mass operation left, by its place
    /// in the feed, or all. What a mass operation deletes is all there once ``isUnfinished(removalAt:)`` says no.
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

    /// Whether the mass operation at a place in the feed is still being carried out: not all that it deletes has its tombstone
    /// yet.
    public func isUnfinished(removalAt token: ChangeToken) -> Bool {
        snapshot.context.intents.contains { ($0.commit, $0.ordinal) == (token.commit, token.ordinal) }
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

/// Some of the deletions that a store remembers.
public struct DeletionPage: Sendable, Hashable {
    /// The deletions. There may be none on a page that is not the last.
    public let deletions: [DeletedSample]
    /// The next page begins behind this id; `nil` at the end.
    public let next: SampleID?
}

extension Snapshot {
    /// A page looks at no more tombstones than these, however few of them are asked for: a read is not to last long.
    private static let tombstonesAtOnce = 65_536

    fileprivate func deletions(at token: ChangeToken?, after id: SampleID?, limit: Int) throws -> DeletionPage {
        var deletions: [DeletedSample] = []
        var (last, left) = (id, Snapshot.tombstonesAtOnce)
        var cursor = try view.cursor(tables[.tombstones])
        var found = try cursor.seek(Tombstone.key(id ?? .zero))
        while found {
            let key = cursor.key.copied()
            // Behind those by id stand those by sync identity.
            guard key.first == 1 else { break }
            let tombstone = try Tombstone(cursor.value, key: key)
            found = try cursor.next()
            if tombstone.id == id { continue }
            if left == 0 || deletions.count == limit { return DeletionPage(deletions: deletions, next: last) }
            (last, left) = (tombstone.id, left - 1)
            if let token, (tombstone.commit, tombstone.ordinal) != (token.commit, token.ordinal) { continue }
            deletions.append(try deletedSample(tombstone))
        }
        return DeletionPage(deletions: deletions, next: nil)
    }
}
