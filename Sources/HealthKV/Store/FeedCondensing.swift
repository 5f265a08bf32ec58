import ColumnFormat
import HealthModel
import LMDB

/// The number of change records that the last condensing left. The next one is due when there are twice as many.
private enum CondensedFeed {
    static let key = [UpkeepKind.condensedFeed]

    static func value(_ records: Int, stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(UInt64(records))
        return record.value(table: .upkeep, key: key, stamp: stamp)
    }

    static func read(_ snapshot: borrowing Snapshot) throws -> Int {
        guard let span = try snapshot.view.get(snapshot.tables[.upkeep], key) else { return 0 }
        var record = try RecordReader(span, table: .upkeep, key: key)
        return Int(min(try record.read(UInt64.self), 1 << 48))
    }
}

/// The record into which earlier ones are merged.
private struct CarrierRecord {
    var record: ChangeRecord
    /// An upper bound of the chunks that the record leads to, once they are counted.
    var chunks: Int?
}

private struct Departure: Hashable {
    let id: SampleID
    let type: UInt32
}

/// A walk over the feed that condenses it, from the newest record to the oldest.
struct CondensingPass {
    /// The commit before which it continues.
    var end = UInt64.max
    /// The records that it has left so far. Those of later commits do not count: it has not looked at them.
    var left = 0
}

/// Removes and joins change records that no reader needs: a step of upkeep.
enum FeedCondensing {
    /// Condenses the next `count` change records of a pass. Returns the pass to continue with; `nil` at the beginning
    /// of the feed.
    ///
    /// A record serves readers whose position lies before it: it leads to rows that its commits changed last, names
    /// samples that left their position, and says where anything changed at all. Once all its rows have changed again
    /// and later records name the same departures, only its spans are still needed. They move to the next record that
    /// is kept.
    ///
    /// Commits that every registered reader has passed do not need a record each: the next record that is kept leads to
    /// their rows, too, since rows carry their commits. If that makes too many chunks to search, a new record begins.
    ///
    /// - Parameter recent: how many of the newest records stay separate. Unregistered readers are near them, and
    ///   receive exact changes.
    static func condense(
        _ pass: CondensingPass, count: Int, recent: Int, in txn: inout WriteTransaction
    ) throws -> CondensingPass? {
        let (records, rest) = try ChangeLog.records(before: pass.end, count: count, in: txn.snapshot)
        var left = pass.left
        var next = rest
        let checkpoints = try FeedCondensing.checkpoints(in: txn)
        let shared = try min(seenByAll(in: txn), ChangeLog.commit(ofRecord: recent, in: txn.snapshot))
        var departures: Set<Departure> = []
        var carrier: CarrierRecord?
        var looked = 0
        for (index, record) in records.enumerated() {
            // Writers wait for this step, so it ends after a bounded amount of work.
            if looked > max(FeedCondensing.lookedAtPerStep, 4 * count) {
                next = records[index - 1].commit
                break
            }
            looked += 1 + record.deletions.count
            var kept = record
            // Current readers began later, and never saw the removed samples. A deletion whose tombstone is still known
            // stays.
            if record.commit <= txn.state.header.prunedCommit { kept.removals = [] }
            kept.deletions = []
            for deletion in record.deletions {
                let isForgotten = deletion.commit <= txn.state.header.prunedCommit
                let isTold = departures.contains(Departure(id: deletion.id, type: deletion.type))
                guard isForgotten || isTold,
                    try TombstoneTable.tombstone(deletion.id, in: txn.snapshot)?.commit != deletion.commit
                else {
                    kept.deletions.append(deletion)
                    continue
                }
            }
            departures.formUnion(record.deletions.map { Departure(id: $0.id, type: $0.type) })
            // The newest record stays: it tells when the store last changed, and the others can be merged into it.
            let isCheckpoint = checkpoints.contains {
                record.commit <= $0 && carrier.map { $0.record.commit } ?? .max > $0
            }
            if !isCheckpoint, try takeOver(kept, by: &carrier, shared: shared, &looked, in: txn) {
                try ChangeLog.remove(record, in: &txn)
                continue
            }
            left += 1
            try replace(carrier?.record, in: &txn)
            carrier = CarrierRecord(record: kept)
            if kept.deletions.count + kept.removals.count < record.deletions.count + record.removals.count {
                try ChangeLog.put(kept, in: &txn)
            }
        }
        try replace(carrier?.record, in: &txn)
        if let next { return CondensingPass(end: next, left: left) }
        // Another process may have condensed the feed meanwhile.
        left = min(left, try ChangeLog.count(in: txn.snapshot))
        try txn.put(.upkeep, CondensedFeed.key, CondensedFeed.value(left, stamp: txn.stamp))
        return nil
    }

    /// Merges a record into the next one that is kept. Returns `false` if it must stay separate.
    private static func takeOver(
        _ record: ChangeRecord, by carrier: inout CarrierRecord?, shared: UInt64, _ looked: inout Int,
        in txn: borrowing WriteTransaction
    ) throws -> Bool {
        guard var place = carrier, record.removals.isEmpty else { return false }
        let isEmpty = record.deletions.isEmpty
        guard isEmpty || record.commit <= shared else { return false }
        do {
            let own = try FeedPositions.reach(of: record, most: ChangeRecord.mostChunks, in: txn.snapshot)
            looked += own.chunks
            if isEmpty, !own.holdsRows {
                if record.commit <= txn.state.header.prunedCommit {
                    // Its mark is lost, and with it what it proved: the next record says so.
                    place.record.since = min(place.record.commits.lowerBound, record.commits.lowerBound)
                    carrier = place
                    return true
                }
            } else if record.commit > shared {
                return false
            }
            var chunks = place.chunks.map { $0 + own.chunks } ?? .max
            if chunks > ChangeRecord.mostChunks {
                // Both records may lead to the same chunks.
                let before = try FeedPositions.reach(of: place.record, most: ChangeRecord.mostChunks, in: txn.snapshot)
                    .chunks
                looked += before
                chunks = before + own.chunks
            }
            guard chunks <= ChangeRecord.mostChunks,
                let joined = try FeedCondensing.joined(place.record, with: record, in: txn.snapshot)
            else { return false }
            (place.record, place.chunks) = (joined, chunks)
            carrier = place
            return true
        } catch  where StoreError.isDamage(error) {
            // A record that leads to damaged chunks stays as it is, and does not block other work.
            return false
        }
    }

    /// The chunks and deletions that one step may examine before it stops at the next record: a few milliseconds. A
    /// step with more records may examine four for each of them.
    private static let lookedAtPerStep = 1_000
    /// The records that one step may examine while many wait.
    private static let mostPerStep = 2_048

    /// Returns the last commit that every registered reader of the feed has passed.
    private static func seenByAll(in txn: borrowing WriteTransaction) throws -> UInt64 {
        let readers = try txn.peers().filter { !$0.isRetired && $0.queue == nil }
        return readers.map { peer in
            guard let token = peer.acknowledged, token.epoch == txn.state.header.epoch else { return 0 }
            return token.ordinal == .max ? token.commit : token.commit &- min(1, token.commit)
        }.min() ?? .max
    }

    /// Returns the commits up to which the pages reached that registered peers have acknowledged. The marks of the last
    /// records up to them prove whether the file was rolled back.
    private static func checkpoints(in txn: borrowing WriteTransaction) throws -> Set<UInt64> {
        Set(try txn.peers().flatMap(\.marks).map(\.place).filter { $0.epoch == txn.state.header.epoch }.map(\.head))
    }

    /// Stores a record into which others were merged.
    private static func replace(_ record: ChangeRecord?, in txn: inout WriteTransaction) throws {
        guard var record, let stored = try ChangeLog.record(record.commit, in: txn.snapshot) else { return }
        let isWider = stored.spans.count != record.spans.count || !stored.covers(record.spans)
        guard isWider || stored.since != record.since else { return }
        do { record.spans = try coarse(record.spans, in: txn.snapshot) } catch  where StoreError.isDamage(error) {}
        try ChangeLog.put(record, in: &txn)
    }

    /// Returns a record that also covers an earlier one; `nil` if that makes too many spans.
    private static func joined(_ record: ChangeRecord, with earlier: ChangeRecord, in snapshot: Snapshot) throws
        -> ChangeRecord?
    {
        var joined = record
        // The mark of the earlier record is lost, and with it what it proved about histories. A record that a repair
        // wrote goes back further than those that were found beside it.
        joined.since = min(record.commits.lowerBound, earlier.commits.lowerBound)
        joined.deletions = earlier.deletions + record.deletions
        guard record.mayTakeOver(earlier) else { return nil }
        if record.covers(earlier.spans) { return joined }
        joined.spans = ChangeRecord.united(record.spans + earlier.spans)
        if joined.spans.count <= ChangeRecord.mostSpans { return joined }
        joined.spans = try coarse(joined.spans, in: snapshot)
        // If this saved little, the next merge would have to try again.
        return joined.spans.count <= ChangeRecord.mostSpans / 2 ? joined : nil
    }

    /// Returns the spans in order, with neighbours merged if that leads to no more chunks.
    private static func coarse(
        _ spans: [(lane: Lane, starts: ClosedRange<Int64>)], in snapshot: Snapshot
    ) throws -> [(lane: Lane, starts: ClosedRange<Int64>)] {
        var coarse: [(lane: Lane, starts: ClosedRange<Int64>)] = []
        for span in spans {
            guard let last = coarse.last, last.lane == span.lane,
                try adjoin(span.lane, last.starts.upperBound, span.starts.lowerBound, in: snapshot)
            else {
                coarse.append(span)
                continue
            }
            let upper = max(last.starts.upperBound, span.starts.upperBound)
            coarse[coarse.count - 1].starts = last.starts.lowerBound...upper
        }
        return coarse
    }

    /// Returns `true` if two instants of a lane lie in the same chunk or in two adjacent ones.
    private static func adjoin(_ lane: Lane, _ one: Int64, _ other: Int64, in snapshot: Snapshot) throws -> Bool {
        var chunks = 0
        try ChunkTable.forEachChunk(lane, from: .at(one), to: .after(max(one, other)), in: snapshot) { _ in
            chunks += 1
            return chunks <= 2
        }
        return chunks <= 2
    }
}

extension FeedCondensing {
    /// Examines some change records, from the newest to the oldest, and removes those that no reader needs any more.
    /// Returns `false` if no walk is due: one that has just ended may have left many that came meanwhile.
    static func step(in core: StoreCore) throws -> Bool {
        let limits = core.options.limits
        let begun = core.condensing.withLock { $0 }
        let records = try core.read { try ChangeLog.count(in: $0.snapshot) }
        if begun == nil {
            let left = try core.read { try CondensedFeed.read($0.snapshot) }
            guard records >= 2 * left + limits.changeRecords else { return false }
        }
        // Beside writes that come without a pause there are few steps: the more records wait, the more each examines.
        let most = max(limits.changeRecordsPerStep, min(records / 8, FeedCondensing.mostPerStep))
        var next: CondensingPass?
        try core.transact {
            next = try FeedCondensing.condense(
                begun ?? CondensingPass(), count: most, recent: limits.changeRecordsPerStep, in: &$0)
        }
        core.condensing.withLock { $0 = next }
        return true
    }
}

extension ChangeRecord {
    /// A record with more spans than this takes in no others: a reader compares each.
    fileprivate static let mostSpans = 256
    /// A record that leads to more chunks than this takes in no others: a reader searches each.
    fileprivate static let mostChunks = 256
    private static let mostDeletions = 1_024

    fileprivate func mayTakeOver(_ other: ChangeRecord) -> Bool {
        other.deletions.isEmpty || deletions.count + other.deletions.count <= ChangeRecord.mostDeletions
    }

    /// Returns the spans in order, with overlapping ones merged.
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
