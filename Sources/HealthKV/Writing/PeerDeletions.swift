import ColumnFormat
import HealthModel
import LMDB

/// Rows to be deleted together. Until then, lookups still find them.
struct LeavingRows {
    private var rows: [LeavingRow] = []
    private var ids: Set<SampleID> = []
    private var identifiers: Set<String> = []

    mutating func append(_ row: LeavingRow) {
        rows.append(row)
        ids.insert(row.found.row.id)
        for text in [row.found.row.rare?.syncIdentifier, row.identity?.syncIdentifier].compactMap(\.self) {
            identifiers.insert(text)
            // The tombstone under this id may hold the row's sync identity.
            if let id = SampleID(canonical: text) { ids.insert(id) }
        }
    }

    /// Returns `true` if a deletion may refer to one of the rows, or to a tombstone that a row's own one is compared
    /// with: by its id or sync identifier.
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

/// A page of the deletions that a store remembers.
public struct DeletionPage: Sendable, Hashable {
    /// The deletions. A page that is not the last may have none.
    public let deletions: [DeletedSample]
    /// The next page begins after this id; `nil` at the end.
    public let next: SampleID?
}

/// Deletions reported by peers, and the removal of samples that peers brought.
enum PeerDeletions {
    /// Merges one deletion. If it wins over a live row, appends the row to `leaving`, to be deleted together with
    /// others.
    static func merge(_ deletion: DeletedSample, _ leaving: inout LeavingRows, in txn: inout WriteTransaction) throws
        -> Bool
    {
        // A deletion without a version left no tombstone, so there is nothing to merge.
        guard deletion.version != 0 else { return false }
        txn.witness(deletion.modified)
        guard let found = try liveRow(of: deletion, in: &txn) else { return try buryUnknown(deletion, in: &txn) }
        let last = try Overlays.lastChange(of: found, in: txn)
        guard deletion.order >= last else { return false }
        var row = LeavingRow(found, version: deletion.version, clock: deletion.modified)
        if found.row.id == deletion.id {
            row.identity = DeletedIdentity(
                source: try NameTable.number(of: deletion.source, in: &txn), syncIdentifier: deletion.syncIdentifier)
        }
        leaving.append(row)
        return true
    }

    /// Returns the live row that a deletion refers to: by its id, otherwise by its sync identity.
    private static func liveRow(of deletion: DeletedSample, in txn: inout WriteTransaction) throws -> FoundRow? {
        if let found = try Saving.settled(SampleLookup.find(deletion.id, in: txn.snapshot), in: &txn) { return found }
        guard let text = deletion.syncIdentifier, let type = try NameTable.number(of: deletion.type, in: txn.snapshot),
            let source = try NameTable.number(of: deletion.source, in: txn.snapshot)
        else { return nil }
        for candidate in try SampleLookup.find(syncIdentifier: text, in: txn.snapshot) where candidate.lane.type == type
        {
            guard try NameTable.revision(candidate.row.revision, in: txn.snapshot).sourceNumber == source else {
                continue
            }
            if let found = try Saving.settled(candidate, in: &txn) { return found }
        }
        return nil
    }

    /// Writes a tombstone for a sample that is not stored here, because an older version may still arrive from
    /// elsewhere.
    private static func buryUnknown(_ deletion: DeletedSample, in txn: inout WriteTransaction) throws -> Bool {
        let type = try NameTable.number(of: deletion.type, in: &txn)
        let source = try NameTable.number(of: deletion.source, in: &txn)
        let sync = deletion.syncIdentifier.map { SyncIdentity(type: type, source: source, identifier: $0) }
        let earlier = try TombstoneTable.tombstone(deletion.id, in: txn.snapshot)
        for known in [earlier, try sync.flatMap { try TombstoneTable.tombstone($0, in: txn.snapshot) }] {
            if let known, known.order >= deletion.order { return false }
        }
        var place = earlier?.place
        if let start = deletion.start, let end = deletion.end, start <= end {
            let revision = try NameTable.number(ofAnyRevision: deletion.source, in: &txn)
            place = DeletedPlace(start: start, end: end, revision: revision)
        }
        let ordinal = txn.state.takeOrdinal()
        try TombstoneTable.bury(
            Tombstone(
                deletion, type: type, source: source, place: place, commit: txn.commit, ordinal: ordinal,
                time: txn.environment.now().nanoseconds), in: &txn)
        txn.state.deletions.append(
            ChangeRecord.Deletion(commit: txn.commit, ordinal: ordinal, id: deletion.id, type: type))
        return true
    }

    /// Removes the rows of samples from their chunks, and returns them by id.
    static func takeRows(of samples: [Sample], in txn: inout WriteTransaction) throws -> [SampleID: FoundRow] {
        var points: [Lane: [Point]] = [:]
        for sample in samples {
            guard let type = try NameTable.number(of: sample.type, in: txn.snapshot) else { continue }
            let point = Point(start: sample.start.nanoseconds, end: sample.end.nanoseconds, id: sample.id)
            let lane = Lane(type: type, duration: DurationClass(start: point.start, end: point.end))
            points[lane, default: []].append(point)
        }
        var gone: [SampleID: FoundRow] = [:]
        for lane in points.keys.sorted() {
            for row in try LaneWriter.apply(lane, inserts: [], removals: points[lane]!.sorted(), in: &txn) {
                gone[row.id] = FoundRow(lane: lane, row: row, isHidden: false)
            }
        }
        // Look up the samples that changed since they were read.
        for sample in samples where gone[sample.id] == nil {
            guard let live = try Saving.settled(SampleLookup.find(sample.id, in: txn.snapshot), in: &txn) else {
                continue
            }
            try LaneWriter.apply(live.lane, inserts: [], removals: [live.row.point], in: &txn)
            gone[sample.id] = live
        }
        return gone
    }

    static func syncIdentity(of sample: Sample, in txn: borrowing WriteTransaction) throws -> SyncIdentity? {
        guard let text = sample.syncIdentifier, let type = try NameTable.number(of: sample.type, in: txn.snapshot),
            let source = try NameTable.number(of: sample.source.identity, in: txn.snapshot)
        else { return nil }
        return SyncIdentity(type: type, source: source, identifier: text)
    }

    /// The maximum number of tombstones that a page examines, however few of them match, so that a read stays short.
    private static let tombstonesAtOnce = 65_536

    static func deletions(at token: ChangeToken?, after id: SampleID?, limit: Int, in snapshot: Snapshot) throws
        -> DeletionPage
    {
        var deletions: [DeletedSample] = []
        var (last, left) = (id, PeerDeletions.tombstonesAtOnce)
        var isFull = false
        try TombstoneTable.forEachByID(from: id ?? .zero, in: snapshot) { tombstone in
            if tombstone.id == id { return true }
            isFull = left == 0 || deletions.count == limit
            if isFull { return false }
            (last, left) = (tombstone.id, left - 1)
            if let token, (tombstone.commit, tombstone.ordinal) != (token.commit, token.ordinal) { return true }
            deletions.append(try ChangeFeed.deletedSample(tombstone, in: snapshot))
            return true
        }
        return DeletionPage(deletions: deletions, next: isFull ? last : nil)
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
        return try PeerDeletions.deletions(at: token, after: id, limit: limit, in: snapshot)
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
