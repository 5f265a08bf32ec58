import ColumnFormat
import HealthModel
import LMDB

/// How many change records the last condensing left: the next one is due when there are twice as many.
private enum CondensedFeed {
    static let upkeepKind: UInt8 = 4
    static let key = [upkeepKind]

    static func value(_ records: Int, commit: UInt64) -> [UInt8] {
        var record = RecordWriter()
        record.append(UInt64(records))
        return record.value(table: .upkeep, key: key, commit: commit)
    }

    static func read(_ snapshot: borrowing Snapshot) throws -> Int {
        guard let span = try snapshot.view.get(snapshot.tables[.upkeep], key) else { return 0 }
        var record = try RecordReader(span, table: .upkeep, key: key)
        return Int(min(try record.read(UInt64.self), 1 << 48))
    }
}

extension StoreCore {
    /// Looks at some change records, from the newest to the oldest, and forgets those that tell no reader anything any more. Returns `true` if more are
    /// to be looked at.
    func condenseStep() throws -> Bool {
        let limits = options.limits
        var before = condensing.withLock { $0 }
        if before == nil {
            let (records, left) = try read {
                (
                    try $0.snapshot.view.statistics($0.context.tables[.changes]).entries,
                    try CondensedFeed.read($0.snapshot)
                )
            }
            guard records >= 2 * left + limits.changeRecords else { return false }
            before = .max
        }
        var next: UInt64?
        try transact { next = try $0.condenseFeed(before: before ?? .max, count: limits.changeRecordsPerStep) }
        condensing.withLock { $0 = next }
        return next != nil
    }
}

extension WriteTransaction {
    /// Of the change records of commits before one, looks at `count`, and returns where to go on; `nil` at the
    /// beginning of the feed.
    ///
    /// A record serves readers behind whom it lies: it leads to rows that its commits changed last, names what left its
    /// place, and says where anything changed at all. Once all its rows have changed again and later records name the
    /// same departures, only the last is left: where. That goes to the next record that stays.
    ///
    /// What every registered reader has behind it needs no record a commit: the next one that stays leads to its rows
    /// too, since rows carry their commits. Where that would be too many places to look, a new record begins.
    fileprivate mutating func condenseFeed(before end: UInt64, count: Int) throws -> UInt64? {
        let (records, rest) = try snapshot.changeRecords(before: end, count: count)
        var next = rest
        let checkpoints = try checkpoints()
        // The newest records stay apart: readers that nobody registered are near them, and are told exactly what
        // changed.
        let shared = try min(seenByAll(), snapshot.commit(ofRecord: count))
        var departures: Set<Departure> = []
        var carrier: CarrierRecord?
        var looked = 0
        for (index, record) in records.enumerated() {
            // Writers wait for this step.
            if looked > WriteTransaction.lookedAtPerStep {
                next = records[index - 1].commit
                break
            }
            looked += 1 + record.deletions.count
            var kept = record
            // Who still reads began later, and never saw what left. A deletion that is still known is told.
            if record.commit <= state.header.prunedCommit { kept.removals = [] }
            kept.deletions = []
            for deletion in record.deletions {
                let isForgotten = deletion.commit <= state.header.prunedCommit
                let isTold = departures.contains(Departure(id: deletion.id, type: deletion.type))
                guard isForgotten || isTold, try snapshot.tombstone(deletion.id)?.commit != deletion.commit else {
                    kept.deletions.append(deletion)
                    continue
                }
            }
            departures.formUnion(record.deletions.map { Departure(id: $0.id, type: $0.type) })
            // The newest record tells when the store changed last, and has somewhere to carry what others leave.
            let isCheckpoint = checkpoints.contains {
                record.commit <= $0 && carrier.map { $0.record.commit } ?? .max > $0
            }
            if !isCheckpoint, try takeOver(kept, by: &carrier, shared: shared, &looked) {
                try remove(.changes, ChangeRecord.key(record.commit))
                continue
            }
            try replace(carrier?.record)
            carrier = CarrierRecord(record: kept)
            if kept.deletions.count + kept.removals.count < record.deletions.count + record.removals.count {
                try putChanges(kept)
            }
        }
        try replace(carrier?.record)
        if next == nil {
            let left = try snapshot.view.statistics(context.tables[.changes]).entries
            try put(.upkeep, CondensedFeed.key, CondensedFeed.value(left, commit: commit))
        }
        return next
    }

    /// Lets the next record that stays tell what another one tells; returns `false` where that is not to be.
    private func takeOver(
        _ record: ChangeRecord, by carrier: inout CarrierRecord?, shared: UInt64, _ looked: inout Int
    ) throws -> Bool {
        guard var place = carrier, record.removals.isEmpty else { return false }
        let isEmpty = record.deletions.isEmpty
        guard isEmpty || record.commit <= shared else { return false }
        do {
            let own = try snapshot.reach(of: record, most: ChangeRecord.mostChunks)
            looked += own.chunks
            if isEmpty, !own.holdsRows {
                if record.commit <= state.header.prunedCommit { return true }
            } else if record.commit > shared {
                return false
            }
            var chunks = place.chunks.map { $0 + own.chunks } ?? .max
            if chunks > ChangeRecord.mostChunks {
                // Several may lead to the same chunks.
                let before = try snapshot.reach(of: place.record, most: ChangeRecord.mostChunks).chunks
                looked += before
                chunks = before + own.chunks
            }
            guard chunks <= ChangeRecord.mostChunks, let joined = try snapshot.joined(place.record, with: record)
            else { return false }
            (place.record, place.chunks) = (joined, chunks)
            carrier = place
            return true
        } catch  where StoreError.isDamage(error) {
            // A record that leads to what is damaged stays as it is, and keeps no other work from being done.
            return false
        }
    }

    /// The most chunks and deletions that one step looks at, and those of one record more: a few milliseconds.
    private static let lookedAtPerStep = 1_000

    /// The last commit that every registered reader of the feed has behind it.
    private func seenByAll() throws -> UInt64 {
        let readers = try peers().filter { !$0.isRetired && $0.queue == nil }
        return readers.map { peer in
            guard let token = peer.acknowledged, token.epoch == state.header.epoch else { return 0 }
            return token.ordinal == .max ? token.commit : token.commit &- min(1, token.commit)
        }.min() ?? .max
    }

    /// The commits that registered peers have seen: the marks of the last records up to them tell whether the file was rolled back.
    private func checkpoints() throws -> Set<UInt64> {
        Set(try peers().compactMap(\.acknowledged).filter { $0.epoch == state.header.epoch }.map(\.commit))
    }

    /// Stores a record that has taken over another.
    private mutating func replace(_ record: ChangeRecord?) throws {
        guard var record, let stored = try snapshot.changeRecord(record.commit) else { return }
        let isWider = stored.spans.count != record.spans.count || !stored.covers(record.spans)
        guard isWider || stored.since != record.since else { return }
        do { record.spans = try snapshot.coarse(record.spans) } catch  where StoreError.isDamage(error) {}
        try putChanges(record)
    }

    private mutating func putChanges(_ record: ChangeRecord) throws {
        try put(.changes, ChangeRecord.key(record.commit), record.value(writtenIn: commit))
    }
}

/// The record that takes over those before it.
private struct CarrierRecord {
    var record: ChangeRecord
    /// How many chunks it leads to at most, once that is counted.
    var chunks: Int?
}

private struct Departure: Hashable {
    let id: SampleID
    let type: UInt32
}

extension ChangeRecord {
    /// Records with more spans than this take over no others: a reader compares each.
    fileprivate static let mostSpans = 256
    /// Nor do those that lead to more chunks: a reader looks into each.
    fileprivate static let mostChunks = 256
    private static let mostDeletions = 1_024

    fileprivate func mayTakeOver(_ other: ChangeRecord) -> Bool {
        other.deletions.isEmpty || deletions.count + other.deletions.count <= ChangeRecord.mostDeletions
    }

    /// Spans in order, overlapping ones as one.
    fileprivate static func united(
        _ spans: [(lane: Lane, starts: ClosedRange<Int64>)]
    ) -> [(lane: Lane, starts: ClosedRange<Int64>)] {
        var united: [(lane: Lane, starts: ClosedRange<Int64>)] = []
        for span in spans.sorted(by: { ($0.lane, $0.starts.lowerBound) < ($1.lane, $1.starts.lowerBound) }) {
            if let last = united.last, last.lane == span.lane, span.starts.lowerBound <= last.starts.upperBound {
                let upper = max(last.starts.upperBound, span.starts.upperBound)
                united[united.count - 1].starts = last.starts.lowerBound...upper
            } else {
                united.append(span)
            }
        }
        return united
    }

    fileprivate func covers(_ others: [(lane: Lane, starts: ClosedRange<Int64>)]) -> Bool {
        others.allSatisfy { other in
            spans.contains {
                $0.lane == other.lane && $0.starts.lowerBound <= other.starts.lowerBound
                    && $0.starts.upperBound >= other.starts.upperBound
            }
        }
    }
}

extension Snapshot {
    /// A record that also tells what an earlier one told; `nil` where that makes too many spans.
    fileprivate func joined(_ record: ChangeRecord, with earlier: ChangeRecord) throws -> ChangeRecord? {
        var joined = record
        // The mark of the earlier one goes with it: what it told of histories is not known any more.
        joined.since = earlier.commits.lowerBound
        joined.deletions = earlier.deletions + record.deletions
        guard record.mayTakeOver(earlier) else { return nil }
        if record.covers(earlier.spans) { return joined }
        joined.spans = ChangeRecord.united(record.spans + earlier.spans)
        if joined.spans.count <= ChangeRecord.mostSpans { return joined }
        joined.spans = try coarse(joined.spans)
        // Where little was gained the next one would ask again.
        return joined.spans.count <= ChangeRecord.mostSpans / 2 ? joined : nil
    }

    /// Spans in order, of which neighbours are one where that leads to no more chunks.
    fileprivate func coarse(
        _ spans: [(lane: Lane, starts: ClosedRange<Int64>)]
    ) throws -> [(lane: Lane, starts: ClosedRange<Int64>)] {
        var coarse: [(lane: Lane, starts: ClosedRange<Int64>)] = []
        for span in spans {
            guard let last = coarse.last, last.lane == span.lane,
                try adjoin(span.lane, last.starts.upperBound, span.starts.lowerBound)
            else {
                coarse.append(span)
                continue
            }
            let upper = max(last.starts.upperBound, span.starts.upperBound)
            coarse[coarse.count - 1].starts = last.starts.lowerBound...upper
        }
        return coarse
    }

    /// Whether two instants of a lane lie in one chunk or in two that follow each other.
    private func adjoin(_ lane: Lane, _ one: Int64, _ other: Int64) throws -> Bool {
        var chunks = 0
        try forEachChunk(lane, from: .at(one), to: .after(max(one, other))) { _ in
            chunks += 1
            return chunks <= 2
        }
        return chunks <= 2
    }
}

extension Snapshot {
    fileprivate func changeRecord(_ commit: UInt64) throws -> ChangeRecord? {
        let key = ChangeRecord.key(commit)
        guard let span = try view.get(tables[.changes], key) else { return nil }
        return try ChangeRecord(span, key: key)
    }

    /// The commit of the record that so many others follow; 0 where there are not so many.
    fileprivate func commit(ofRecord count: Int) throws -> UInt64 {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.last() else { return 0 }
        for _ in 0..<count { guard try cursor.previous() else { return 0 } }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).commit
    }

    /// Records of commits before one, the newest first, and the commit before which there are more.
    fileprivate func changeRecords(before end: UInt64, count: Int) throws -> ([ChangeRecord], UInt64?) {
        var records: [ChangeRecord] = []
        var cursor = try view.cursor(tables[.changes])
        var found = end == .max ? try cursor.last() : try cursor.seekAtOrBefore(ChangeRecord.key(end - 1))
        while found {
            if records.count == count { return (records, records.last?.commit) }
            records.append(try ChangeRecord(cursor.value, key: cursor.key.copied()))
            found = try cursor.previous()
        }
        return (records, nil)
    }
}
