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
    /// Of the change records of commits before one, looks at `count`, and returns where to go on; `nil` at the beginning of the feed.
    ///
    /// A record serves readers behind whom it lies: it leads to rows that its commit changed last, names what left its place, and says where anything
    /// changed at all. Once all its rows have changed again and later records name the same departures, only the last is left: where. That goes to the
    /// next record that stays.
    fileprivate mutating func condenseFeed(before end: UInt64, count: Int) throws -> UInt64? {
        let (records, next) = try snapshot.changeRecords(before: end, count: count)
        let checkpoints = try checkpoints()
        var departures: Set<Departure> = []
        var carrier: ChangeRecord?
        for record in records {
            var kept = record
            let isForgotten = record.commit <= state.header.prunedCommit
            // Who still reads began later, and never saw what left. A deletion that is still known is told.
            if isForgotten { kept.removals = [] }
            kept.deletions = []
            for deletion in record.deletions {
                let isTold = departures.contains(Departure(id: deletion.id, type: deletion.type))
                guard isForgotten || isTold, try snapshot.tombstone(deletion.id)?.commit != record.commit else {
                    kept.deletions.append(deletion)
                    continue
                }
            }
            departures.formUnion(record.deletions.map { Departure(id: $0.id, type: $0.type) })
            let isEmpty = kept.deletions.isEmpty && kept.removals.isEmpty
            // The newest record tells when the store changed last, and has somewhere to carry what others leave.
            let isCheckpoint = checkpoints.contains { record.commit <= $0 && carrier.map { $0.commit } ?? .max > $0 }
            guard isEmpty, !isCheckpoint, let place = carrier, try !snapshot.holdsRows(of: record) else {
                try replace(carrier)
                carrier = kept
                if kept.deletions.count + kept.removals.count < record.deletions.count + record.removals.count {
                    try putChanges(kept)
                }
                continue
            }
            if isForgotten {
                try remove(.changes, ChangeRecord.key(record.commit))
            } else if let joined = place.joined(with: record) {
                try remove(.changes, ChangeRecord.key(record.commit))
                carrier = joined
            } else {
                try replace(carrier)
                carrier = kept
            }
        }
        try replace(carrier)
        if next == nil {
            let left = try snapshot.view.statistics(context.tables[.changes]).entries
            try put(.upkeep, CondensedFeed.key, CondensedFeed.value(left, commit: commit))
        }
        return next
    }

    /// The commits that registered peers have seen: the marks of the last records up to them tell whether the file was rolled back.
    private func checkpoints() throws -> Set<UInt64> {
        Set(try peers().compactMap(\.acknowledged).filter { $0.epoch == state.header.epoch }.map(\.commit))
    }

    /// Stores a record that has taken over another.
    private mutating func replace(_ record: ChangeRecord?) throws {
        guard let record, let stored = try snapshot.changeRecord(record.commit) else { return }
        let isWider = stored.spans.count != record.spans.count || !stored.covers(record.spans)
        if isWider || stored.since != record.since { try putChanges(record) }
    }

    private mutating func putChanges(_ record: ChangeRecord) throws {
        try put(.changes, ChangeRecord.key(record.commit), record.value(writtenIn: commit))
    }
}

private struct Departure: Hashable {
    let id: SampleID
    let type: UInt32
}

extension ChangeRecord {
    /// Records with more spans than this take over no others: a reader compares each.
    private static let mostSpans = 64

    fileprivate func covers(_ others: [(lane: Lane, starts: ClosedRange<Int64>)]) -> Bool {
        others.allSatisfy { other in
            spans.contains {
                $0.lane == other.lane && $0.starts.lowerBound <= other.starts.lowerBound
                    && $0.starts.upperBound >= other.starts.upperBound
            }
        }
    }

    /// With the spans of an earlier record; `nil` where that makes too many.
    fileprivate func joined(with earlier: ChangeRecord) -> ChangeRecord? {
        var joined = self
        // The mark of the earlier one goes with it: what it told of histories is not known any more.
        joined.since = earlier.since > 0 ? earlier.since : earlier.commit
        if covers(earlier.spans) { return joined }
        var touched = TouchedSpans()
        for span in spans + earlier.spans { touched.add(span.lane, span.starts) }
        joined.spans = touched.sorted
        return joined.spans.count <= ChangeRecord.mostSpans ? joined : nil
    }
}

extension Snapshot {
    fileprivate func changeRecord(_ commit: UInt64) throws -> ChangeRecord? {
        let key = ChangeRecord.key(commit)
        guard let span = try view.get(tables[.changes], key) else { return nil }
        return try ChangeRecord(span, key: key)
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
