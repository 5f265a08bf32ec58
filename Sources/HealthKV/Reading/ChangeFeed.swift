import ColumnFormat
import HealthModel
import LMDB

/// The changes after a token, in order.
enum ChangeFeed {
    /// Returns the changes after a token, in order; `nil` is the beginning of the feed.
    static func changes(since start: ChangeToken?, limit: Int, types: Set<UInt32>?, in snapshot: Snapshot) throws
        -> ChangePage
    {
        if let start { try ChangeLog.check(start, in: snapshot) }
        let origin = start.map(\.origin) ?? snapshot.context.lastCommit
        var place = FeedPlace(commit: start?.commit ?? 0, ordinal: start?.ordinal ?? .max)
        var changes: [Change] = []
        var next: ChangeToken?
        try ChangeLog.forEachRecord(from: place.commit, in: snapshot) { record in
            place = max(place, FeedPlace(commit: record.commits.lowerBound, ordinal: 0))
            while place < record.end {
                guard changes.count < limit else {
                    next = ChangeLog.token(at: place, origin: origin, in: snapshot)
                    return false
                }
                let part = try ChangeFeed.part(
                    of: record, after: place, limit: limit - changes.count, types, in: snapshot)
                for change in part.changes {
                    let token = ChangeLog.token(at: change.place, origin: origin, in: snapshot)
                    changes.append(Change(kind: change.kind, token: token))
                }
                place = part.last
            }
            return true
        }
        return ChangePage(changes: changes, next: next ?? ChangeLog.currentToken(in: snapshot), hasMore: next != nil)
    }

    /// Returns some changes of a record. `last` is the end of the record when no changes are left.
    private static func part(
        of record: ChangeRecord, after: FeedPlace, limit: Int, _ types: Set<UInt32>?, in snapshot: Snapshot
    ) throws -> (changes: [(place: FeedPlace, kind: Change.Kind)], last: FeedPlace) {
        var (candidates, keys, isWhole) = try FeedPositions.candidates(
            of: record, after: after, limit: limit, types, in: snapshot)
        // The last of the found rows bounds the other changes: beyond it, rows that were not found may come first.
        let last = isWhole ? record.end : candidates.map(\.place).max() ?? record.end
        let deletions = record.deletions.filter { $0.place > after && $0.place <= last }
        candidates += deletions.map { FeedCandidate(place: $0.place, chunk: -1) }
        candidates += record.removals.map { FeedPlace(commit: record.commit, ordinal: $0.ordinal) }
            .filter { $0 > after && $0 <= last }.map { FeedCandidate(place: $0, chunk: -1) }
        candidates.sort { $0.place < $1.place }
        let isLast = isWhole && candidates.count <= limit
        if candidates.count > limit { candidates.removeLast(candidates.count - limit) }
        let rows = try ChangeFeed.rows(candidates, keys, record.commits, in: snapshot)
        let departures = Dictionary(deletions.map { ($0.place, $0) }, uniquingKeysWith: { first, _ in first })
        var changes: [(place: FeedPlace, kind: Change.Kind)] = []
        for candidate in candidates {
            if let kind = try ChangeFeed.kind(candidate, rows, record, departures, types, in: snapshot) {
                changes.append((candidate.place, kind))
            }
        }
        return (changes, isLast ? record.end : candidates.last!.place)
    }

    /// Returns the visible rows of the chosen candidates, by their positions.
    private static func rows(
        _ candidates: [FeedCandidate], _ keys: [ChunkKey], _ commits: ClosedRange<UInt64>, in snapshot: Snapshot
    ) throws -> [FeedPlace: (row: StoredRow, type: UInt32)] {
        var rows: [FeedPlace: (row: StoredRow, type: UInt32)] = [:]
        let wanted = Set(candidates.map(\.place))
        for chunk in Set(candidates.map(\.chunk)).sorted() where chunk >= 0 {
            let loaded = try ChunkTable.load(keys[chunk].lane, keys[chunk].lower, in: snapshot)
            for row in loaded.rows where commits.contains(row.commit) {
                let place = FeedPlace(commit: row.commit, ordinal: row.ordinal)
                if wanted.contains(place) { rows[place] = (row, keys[chunk].lane.type) }
            }
        }
        return rows
    }

    private static func kind(
        _ candidate: FeedCandidate, _ rows: [FeedPlace: (row: StoredRow, type: UInt32)], _ record: ChangeRecord,
        _ deletions: [FeedPlace: ChangeRecord.Deletion], _ types: Set<UInt32>?, in snapshot: Snapshot
    ) throws -> Change.Kind? {
        if candidate.chunk >= 0 {
            // A row that a mass operation hides is gone: the removal reports it.
            return try rows[candidate.place].map { .saved(try NameTable.sample($0.row, $0.type, in: snapshot)) }
        }
        if let deletion = deletions[candidate.place] {
            guard types?.contains(deletion.type) ?? true else { return nil }
            return try departed(deletion, types, in: snapshot).map { .deleted($0) }
        }
        guard let removal = record.removals.first(where: { $0.ordinal == candidate.place.ordinal }) else { return nil }
        return try rangeRemoval(removal.scope, types, in: snapshot).map { .removedRange($0) }
    }

    /// Returns what to report for a sample that left its position, by a deletion or by an edit that moved it; `nil` for
    /// nothing. A reader that holds the sample at the old position cannot know whether a mass operation covered it at
    /// the new one.
    private static func departed(
        _ deletion: ChangeRecord.Deletion, _ types: Set<UInt32>?, in snapshot: Snapshot
    ) throws -> DeletedSample? {
        let tombstone = try TombstoneTable.tombstone(deletion.id, in: snapshot)
        if let tombstone, (tombstone.commit, tombstone.ordinal) == (deletion.commit, deletion.ordinal) {
            return try deletedSample(tombstone, in: snapshot)
        }
        if let found = try SampleLookup.find(deletion.id, in: snapshot), !found.isHidden {
            // It is live: the feed reports it elsewhere, unless the reader does not follow its type.
            guard let types, !types.contains(found.lane.type) else { return nil }
        } else if let tombstone, types?.contains(tombstone.type) ?? true, try isDeletedAlone(tombstone, in: snapshot) {
            return nil
        } else if deletion.commit <= snapshot.header.prunedCommit {
            // The deletion was pruned, and readers whose tokens are still valid never saw the sample.
            return nil
        }
        let source = try tombstone.map { try NameTable.source($0.source, in: snapshot) } ?? SourceIdentity(name: "")
        return DeletedSample(
            id: deletion.id, type: try NameTable.type(deletion.type, in: snapshot), source: source,
            syncIdentifier: tombstone?.syncIdentifier, version: tombstone?.version ?? 0,
            modified: tombstone?.clock ?? .unknown, group: tombstone?.group)
    }

    /// Returns `true` if the feed reports a deletion at its own position, not by the removal of a mass operation.
    private static func isDeletedAlone(_ tombstone: Tombstone, in snapshot: Snapshot) throws -> Bool {
        try ChangeLog.firstRecord(from: tombstone.commit, in: snapshot)?.deletions.contains {
            ($0.commit, $0.ordinal) == (tombstone.commit, tombstone.ordinal) && $0.id == tombstone.id
        } ?? false
    }

    static func deletedSample(_ tombstone: Tombstone, in snapshot: Snapshot) throws -> DeletedSample {
        var source = try NameTable.source(tombstone.source, in: snapshot)
        var place: DeletedPlace?
        // A peer may have told of the deletion under another source than that of the sample.
        if let known = tombstone.place, let revision = try? NameTable.revision(known.revision, in: snapshot),
            revision.sourceNumber == tombstone.source
        {
            // Its name at the time, which a file may give.
            source.name = revision.source.name
            place = known
        }
        return DeletedSample(
            id: tombstone.id, type: try NameTable.type(tombstone.type, in: snapshot), source: source,
            syncIdentifier: tombstone.syncIdentifier, version: tombstone.version,
            modified: tombstone.clock, group: tombstone.group,
            start: place.map { Instant(nanoseconds: $0.start) }, end: place.map { Instant(nanoseconds: $0.end) })
    }

    private static func rangeRemoval(_ scope: Intent.Scope, _ types: Set<UInt32>?, in snapshot: Snapshot) throws
        -> RangeRemoval?
    {
        switch scope {
        case .range(let number, let from, let to):
            guard types?.contains(number) ?? true else { return nil }
            return RangeRemoval(
                type: try NameTable.type(number, in: snapshot), source: nil, from: Instant(nanoseconds: from),
                to: Instant(nanoseconds: to))
        case .source(let number):
            return RangeRemoval(
                type: nil, source: try NameTable.source(number, in: snapshot), from: .distantPast, to: .distantFuture)
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// The position in the feed up to which this snapshot reaches.
    public var currentToken: ChangeToken { ChangeLog.currentToken(in: snapshot) }

    /// Returns the changes after a token, in the order in which they were made; `nil` is the beginning of the feed.
    ///
    /// A sample that changed several times appears once, at its last position and in its current state. A sample that
    /// was saved and deleted since appears as deleted only.
    ///
    /// - Throws: ``StoreError/Code/tokenExpired`` if the store no longer knows all deletions since the token.
    public func changes(
        since token: ChangeToken?, limit: Int = 1_000, of types: Set<SampleType>? = nil
    ) throws -> ChangePage {
        let snapshot = snapshot
        try snapshot.require(limit, 1, "limit")
        let numbers = try types.map { types in
            var numbers: Set<UInt32> = []
            for type in types {
                if let number = try NameTable.askedNumber(of: type, in: snapshot) { numbers.insert(number) }
            }
            return numbers
        }
        return try ChangeFeed.changes(since: token, limit: limit, types: numbers, in: snapshot)
    }

    /// Returns how a position in the feed relates to the history of this file.
    package func fit(of token: ChangeToken) throws -> TokenFit { try ChangeLog.fit(of: token, in: snapshot) }

    /// Returns a deleted sample; `nil` if it is live, never existed, or was deleted too long ago.
    public func deletedSample(id: SampleID) throws -> DeletedSample? {
        let snapshot = snapshot
        return try TombstoneTable.tombstone(id, in: snapshot).map { try ChangeFeed.deletedSample($0, in: snapshot) }
    }
}
