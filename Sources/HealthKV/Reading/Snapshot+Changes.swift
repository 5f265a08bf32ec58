import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    /// The position after the last complete commit. A writer's own commit may still grow, also by the work of other
    /// callers.
    var currentToken: ChangeToken { token(context.lastCommit, .max, mark: header.mark, origin: 0) }

    private func token(_ commit: UInt64, _ ordinal: UInt32, mark: UInt64, origin: UInt64) -> ChangeToken {
        ChangeToken(
            store: header.storeID, epoch: header.epoch, commit: commit, ordinal: ordinal, mark: mark, origin: origin)
    }

    /// Returns the position after a commit that is on the disk.
    func token(behind commit: UInt64) throws -> ChangeToken {
        token(commit, .max, mark: try History.mark(upTo: commit, view, tables), origin: 0)
    }

    /// Returns how a token relates to the history of this file.
    func fit(of token: ChangeToken) throws -> TokenFit {
        // The changes of a running write transaction are in no record yet, and no other transaction can see them.
        let isUnderWay = context.isOfWriter && token.commit == context.lastCommit + 1
        if isUnderWay, token.store == header.storeID, token.epoch == header.epoch { return .fits }
        return try History.fit(of: token, header, view, tables)
    }

    /// Throws if the feed cannot be continued from the token.
    private func check(_ token: ChangeToken) throws {
        func expired(_ why: String) -> StoreError { StoreError(.tokenExpired, path: context.path, why) }
        switch try fit(of: token) {
        case .fits: break
        case .otherStore: throw expired("The change token belongs to another store")
        case .otherEpoch: throw expired("The change token is from before the store was restored")
        case .ahead: throw expired("The change token is newer than the store")
        case .forked: throw expired("The change token is of another copy of the store")
        }
        let pruned = header.prunedCommit
        guard pruned == 0 || (token.commit, token.ordinal) >= (pruned, .max) || token.origin >= pruned else {
            throw expired("The change token has expired")
        }
    }

    /// Returns the changes after a token, in order; `nil` is the beginning of the feed.
    func changes(since start: ChangeToken?, limit: Int, types: Set<UInt32>?) throws -> ChangePage {
        if let start { try check(start) }
        let origin = start.map(\.origin) ?? context.lastCommit
        var place = FeedPlace(commit: start?.commit ?? 0, ordinal: start?.ordinal ?? .max)
        var changes: [Change] = []
        var cursor = try view.cursor(tables[.changes])
        var found = try cursor.seek(ChangeRecord.key(place.commit))
        while found {
            let record = try ChangeRecord(cursor.value, key: cursor.key.copied())
            place = max(place, FeedPlace(commit: record.commits.lowerBound, ordinal: 0))
            // The marks of the record's commits before its last one are unknown. Tokens among them carry the mark of
            // the history before the record.
            let markBefore = record.since > 0 ? try History.mark(upTo: record.since &- 1, view, tables) : 0
            while place < record.end {
                guard changes.count < limit else {
                    let next = token(place, in: record, markBefore, origin)
                    return ChangePage(changes: changes, next: next, hasMore: true)
                }
                let part = try part(of: record, after: place, limit: limit - changes.count, types)
                for change in part.changes {
                    let token = token(change.place, in: record, markBefore, origin)
                    changes.append(Change(kind: change.kind, token: token))
                }
                place = part.last
            }
            found = try cursor.next()
        }
        return ChangePage(changes: changes, next: currentToken, hasMore: false)
    }

    private func token(
        _ place: FeedPlace, in record: ChangeRecord, _ markBefore: UInt64, _ origin: UInt64
    ) -> ChangeToken {
        let mark = place.commit == record.commit ? record.mark : markBefore
        return token(place.commit, place.ordinal, mark: mark, origin: origin)
    }

    /// Returns some changes of a record. `last` is the end of the record when no changes are left.
    private func part(
        of record: ChangeRecord, after: FeedPlace, limit: Int, _ types: Set<UInt32>?
    ) throws -> (changes: [(place: FeedPlace, kind: Change.Kind)], last: FeedPlace) {
        var (candidates, keys, isWhole) = try candidates(of: record, after: after, limit: limit, types)
        // The last of the found rows bounds the other changes: beyond it, rows that were not found may come first.
        let last = isWhole ? record.end : candidates.map(\.place).max() ?? record.end
        let deletions = record.deletions.filter { $0.place > after && $0.place <= last }
        candidates += deletions.map { FeedCandidate(place: $0.place, chunk: -1) }
        candidates += record.removals.map { FeedPlace(commit: record.commit, ordinal: $0.ordinal) }
            .filter { $0 > after && $0 <= last }.map { FeedCandidate(place: $0, chunk: -1) }
        candidates.sort { $0.place < $1.place }
        let isLast = isWhole && candidates.count <= limit
        if candidates.count > limit { candidates.removeLast(candidates.count - limit) }
        let rows = try rows(candidates, keys, record.commits)
        let departures = Dictionary(deletions.map { ($0.place, $0) }, uniquingKeysWith: { first, _ in first })
        var changes: [(place: FeedPlace, kind: Change.Kind)] = []
        for candidate in candidates {
            if let kind = try kind(candidate, rows, record, departures, types) {
                changes.append((candidate.place, kind))
            }
        }
        return (changes, isLast ? record.end : candidates.last!.place)
    }

    /// Returns the visible rows of the chosen candidates, by their positions.
    private func rows(
        _ candidates: [FeedCandidate], _ keys: [ChunkKey], _ commits: ClosedRange<UInt64>
    ) throws -> [FeedPlace: (row: StoredRow, type: UInt32)] {
        var rows: [FeedPlace: (row: StoredRow, type: UInt32)] = [:]
        let wanted = Set(candidates.map(\.place))
        for chunk in Set(candidates.map(\.chunk)).sorted() where chunk >= 0 {
            let loaded = try load(keys[chunk].lane, keys[chunk].lower)
            for row in loaded.rows where commits.contains(row.commit) {
                let place = FeedPlace(commit: row.commit, ordinal: row.ordinal)
                if wanted.contains(place) { rows[place] = (row, keys[chunk].lane.type) }
            }
        }
        return rows
    }

    private func kind(
        _ candidate: FeedCandidate, _ rows: [FeedPlace: (row: StoredRow, type: UInt32)], _ record: ChangeRecord,
        _ deletions: [FeedPlace: ChangeRecord.Deletion], _ types: Set<UInt32>?
    ) throws -> Change.Kind? {
        if candidate.chunk >= 0 {
            // A row that a mass operation hides is gone: the removal reports it.
            return try rows[candidate.place].map { .saved(try sample($0.row, $0.type)) }
        }
        if let deletion = deletions[candidate.place] {
            guard types?.contains(deletion.type) ?? true else { return nil }
            return try departed(deletion, types).map { .deleted($0) }
        }
        guard let removal = record.removals.first(where: { $0.ordinal == candidate.place.ordinal }) else { return nil }
        return try rangeRemoval(removal.scope, types).map { .removedRange($0) }
    }

    /// Returns what to report for a sample that left its position, by a deletion or by an edit that moved it; `nil` for
    /// nothing. A reader that holds the sample at the old position cannot know whether a mass operation covered it at
    /// the new one.
    private func departed(
        _ deletion: ChangeRecord.Deletion, _ types: Set<UInt32>?
    ) throws -> DeletedSample? {
        let tombstone = try tombstone(deletion.id)
        if let tombstone, (tombstone.commit, tombstone.ordinal) == (deletion.commit, deletion.ordinal) {
            return try deletedSample(tombstone)
        }
        if let found = try find(deletion.id), !found.isHidden {
            // It is live: the feed reports it elsewhere, unless the reader does not follow its type.
            guard let types, !types.contains(found.lane.type) else { return nil }
        } else if let tombstone, types?.contains(tombstone.type) ?? true, try isDeletedAlone(tombstone) {
            return nil
        } else if deletion.commit <= header.prunedCommit {
            // The deletion was pruned, and readers whose tokens are still valid never saw the sample.
            return nil
        }
        let source = try tombstone.map { try self.source($0.source) } ?? SourceIdentity(name: "")
        return DeletedSample(
            id: deletion.id, type: try type(deletion.type), source: source,
            syncIdentifier: tombstone?.syncIdentifier, version: tombstone?.version ?? 0,
            modified: tombstone?.clock ?? .unknown, group: tombstone?.group)
    }

    /// Returns `true` if the feed reports a deletion at its own position, not by the removal of a mass operation.
    private func isDeletedAlone(_ tombstone: Tombstone) throws -> Bool {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.seek(ChangeRecord.key(tombstone.commit)) else { return false }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).deletions.contains {
            ($0.commit, $0.ordinal) == (tombstone.commit, tombstone.ordinal) && $0.id == tombstone.id
        }
    }

    func deletedSample(_ tombstone: Tombstone) throws -> DeletedSample {
        DeletedSample(
            id: tombstone.id, type: try type(tombstone.type), source: try source(tombstone.source),
            syncIdentifier: tombstone.syncIdentifier, version: tombstone.version,
            modified: tombstone.clock, group: tombstone.group)
    }

    private func rangeRemoval(_ scope: Intent.Scope, _ types: Set<UInt32>?) throws -> RangeRemoval? {
        switch scope {
        case .range(let number, let from, let to):
            guard types?.contains(number) ?? true else { return nil }
            return RangeRemoval(
                type: try type(number), source: nil, from: Instant(nanoseconds: from), to: Instant(nanoseconds: to))
        case .source(let number):
            return RangeRemoval(type: nil, source: try source(number), from: .distantPast, to: .distantFuture)
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// The position in the feed up to which this snapshot reaches.
    public var currentToken: ChangeToken { snapshot.currentToken }

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
            for type in types { if let number = try snapshot.number(of: type) { numbers.insert(number) } }
            return numbers
        }
        return try snapshot.changes(since: token, limit: limit, types: numbers)
    }

    /// Returns how a position in the feed relates to the history of this file.
    package func fit(of token: ChangeToken) throws -> TokenFit { try snapshot.fit(of: token) }

    /// Returns a deleted sample; `nil` if it is live, never existed, or was deleted too long ago.
    public func deletedSample(id: SampleID) throws -> DeletedSample? {
        let snapshot = snapshot
        return try snapshot.tombstone(id).map { try snapshot.deletedSample($0) }
    }
}
