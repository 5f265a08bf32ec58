import ColumnFormat
import HealthModel

/// A live row to delete, and the version and clock for its tombstone.
struct LeavingRow {
    var found: FoundRow
    /// The version of the tombstone; `nil` for the version of the row.
    var version: Int64?
    /// The clock of a deletion made by another store; `nil` for a deletion made here.
    var clock: ChangeClock?
    /// What the sample was when another store deleted it under the same id: an edit that is unknown here may have given
    /// up the row's sync identifier or source, which others may have now. `nil` if it was what the row is. The type
    /// stays the row's, because a health database that holds the sample needs it.
    var identity: DeletedIdentity?

    init(_ found: FoundRow, version: Int64? = nil, clock: ChangeClock? = nil) {
        (self.found, self.version, self.clock) = (found, version, clock)
    }
}

/// The rules by which rows leave: tombstones, queued deletions and index changes.
enum Deleting {
    static func deleteLive(_ found: [FoundRow], in txn: inout WriteTransaction) throws -> Int {
        try txn.whole { transaction in
            var leaving: [LeavingRow] = []
            for found in found {
                guard let live = try Saving.settled(found, in: &transaction) else { continue }
                try ContentTable.keepContent(of: live, in: &transaction)
                let isImported = live.row.flags.contains(.imported)
                leaving.append(LeavingRow(live, version: isImported ? live.row.versionOfDeletion : nil))
            }
            try deleteRows(leaving, in: &transaction)
            return leaving.count
        }
    }

    /// Returns rows, and behind them the routes of the workouts among them.
    static func withRoutes(_ found: [FoundRow], in txn: borrowing WriteTransaction) throws -> [FoundRow] {
        let snapshot = txn.snapshot
        guard let type = try NameTable.number(of: SampleType.workout, in: snapshot) else { return found }
        let workouts = try found.filter { $0.lane.type == type && !$0.isHidden }.map {
            try NameTable.sample($0.row, type, in: snapshot)
        }
        return found + (try routes(of: workouts, besides: Set(found.map(\.row.id)), in: txn))
    }

    /// Returns the routes of workouts that are about to be deleted: nobody who deletes a run keeps its path. A route
    /// that another workout has too stays.
    ///
    /// - Parameter leaving: all samples that are deleted.
    static func routes(
        of workouts: [Sample], besides leaving: Set<SampleID>, in txn: borrowing WriteTransaction
    ) throws -> [FoundRow] {
        var (known, routes): (Set<SampleID>, [FoundRow]) = (leaving, [])
        for workout in workouts {
            for route in try txn.routes(of: workout) where known.insert(route.id).inserted {
                guard try txn.workouts(with: route).allSatisfy({ leaving.contains($0.id) }),
                    let row = try SampleLookup.find(route.id, in: txn.snapshot)
                else { continue }
                routes.append(row)
            }
        }
        return routes
    }

    /// Removes rows without tombstones, and notes that samples of their types and sources left unexplained.
    static func purgeLive(_ found: [FoundRow], in txn: inout WriteTransaction) throws -> Int {
        try txn.whole { transaction in
            var count = 0
            for found in found {
                guard let live = try Saving.settled(found, in: &transaction) else { continue }
                let source = try NameTable.revision(live.row.revision, in: transaction.snapshot).sourceNumber
                try PurgedSamples.note(live.lane.type, source, latest: live.row.start, in: &transaction)
                try LaneWriter.apply(live.lane, inserts: [], removals: [live.row.point], in: &transaction)
                try IdentityIndex.reindex(from: (live.row, live.lane), to: nil, in: &transaction)
                transaction.state.deletions.append(
                    ChangeRecord.Deletion(
                        commit: transaction.commit, ordinal: transaction.state.takeOrdinal(), id: live.row.id,
                        type: live.lane.type))
                count += 1
            }
            return count
        }
    }

    /// Deletes live rows in the given order; each row must occur once. Each chunk is written once, however many of its
    /// rows are deleted: writing a chunk costs more than the rest of a deletion.
    static func deleteRows(_ leaving: [LeavingRow], in txn: inout WriteTransaction) throws {
        if leaving.count == 1 {
            try LaneWriter.apply(leaving[0].found.lane, inserts: [], removals: [leaving[0].found.row.point], in: &txn)
            return try bury(leaving[0], in: &txn)
        }
        let points = Dictionary(grouping: leaving, by: \.found.lane).mapValues { $0.map(\.found.row.point).sorted() }
        for lane in points.keys.sorted() { try LaneWriter.apply(lane, inserts: [], removals: points[lane]!, in: &txn) }
        try IdentityIndex.indexingTogether(in: &txn) { transaction in
            for item in leaving { try bury(item, in: &transaction) }
        }
    }

    /// Writes the tombstone, index, queue and feed changes of a deletion after the row has left its chunk.
    static func bury(_ leaving: LeavingRow, in txn: inout WriteTransaction) throws {
        let (row, lane) = (leaving.found.row, leaving.found.lane)
        let clock = try leaving.clock ?? txn.tick(over: Overlays.latestClock(of: leaving.found, in: txn))
        var buried = row
        buried.version = try leaving.version ?? Overlays.lastChange(of: leaving.found, in: txn).version
        let (ordinal, now) = (txn.state.takeOrdinal(), txn.environment.now().nanoseconds)
        try TombstoneTable.bury(
            buried, lane, as: leaving.identity, clock: clock, commit: txn.commit, ordinal: ordinal, time: now, in: &txn)
        try IdentityIndex.reindex(from: (row, lane), to: nil, in: &txn)
        try PeerQueues.queue(buried, lane.type, .delete, in: &txn)
        txn.state.deletions.append(
            ChangeRecord.Deletion(commit: txn.commit, ordinal: ordinal, id: row.id, type: lane.type))
    }
}
