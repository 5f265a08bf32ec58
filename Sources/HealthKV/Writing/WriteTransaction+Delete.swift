import ColumnFormat
import HealthModel

extension WriteTransaction {
    /// Deletes the sample with an id. Returns `false` if there is none, which is not an error.
    ///
    /// An imported sample is hidden, as by ``hide(id:)``: no later pull brings it back, whatever its version (SEMANTICS
    /// C7), until ``unhide(id:)`` allows it. ``undelete(id:)`` undoes either deletion.
    @discardableResult
    public mutating func delete(id: SampleID) throws -> Bool {
        guard let found = try SampleLookup.find(id, in: snapshot) else { return false }
        return try deleteLive([found]) > 0
    }

    /// Deletes the sample with a sync identifier of a type and source. Returns `false` if there is none.
    @discardableResult
    public mutating func delete(
        syncIdentifier: String, type: SampleType, source: SourceIdentity
    ) throws -> Bool {
        guard let type = try NameTable.number(of: type, in: snapshot),
            let source = try NameTable.number(of: source, in: snapshot)
        else {
            return false
        }
        let found = try SampleLookup.find(syncIdentifier: syncIdentifier, in: snapshot)
            .filter { candidate in
                try candidate.lane.type == type
                    && NameTable.revision(candidate.row.revision, in: snapshot).sourceNumber == source
            }
        return try deleteLive(found) > 0
    }

    /// Deletes all samples of a group, such as a meal with all its nutrients, and returns their number.
    ///
    /// - Parameters:
    ///   - group: the text that identifies the group.
    ///   - source: if given, samples of other sources in a group with the same text stay; otherwise they are deleted,
    ///     too.
    @discardableResult
    public mutating func deleteGroup(_ group: String, source: SourceIdentity? = nil) throws -> Int {
        try deleteLive(SampleLookup.find(group: group, of: source.map { [$0] }, in: snapshot))
    }

    mutating func deleteLive(_ found: [FoundRow]) throws -> Int {
        try whole { transaction in
            var leaving: [LeavingRow] = []
            for found in found {
                guard let live = try transaction.settled(found) else { continue }
                try ContentTable.keepContent(of: live, in: &transaction)
                let isImported = live.row.flags.contains(.imported)
                leaving.append(LeavingRow(live, version: isImported ? live.row.versionOfDeletion : nil))
            }
            try transaction.deleteRows(leaving)
            return leaving.count
        }
    }

    /// Deletes live rows in the given order; each row must occur once. Each chunk is written once, however many of its
    /// rows are deleted: writing a chunk costs more than the rest of a deletion.
    mutating func deleteRows(_ leaving: [LeavingRow]) throws {
        if leaving.count == 1 {
            try LaneWriter.apply(leaving[0].found.lane, inserts: [], removals: [leaving[0].found.row.point], in: &self)
            return try bury(leaving[0])
        }
        let points = Dictionary(grouping: leaving, by: \.found.lane).mapValues { $0.map(\.found.row.point).sorted() }
        for lane in points.keys.sorted() { try LaneWriter.apply(lane, inserts: [], removals: points[lane]!, in: &self) }
        try IdentityIndex.indexingTogether(in: &self) { transaction in
            for item in leaving { try transaction.bury(item) }
        }
    }

    /// Writes the tombstone, index, queue and feed changes of a deletion after the row has left its chunk.
    mutating func bury(_ leaving: LeavingRow) throws {
        let (row, lane) = (leaving.found.row, leaving.found.lane)
        let clock = try leaving.clock ?? tick(over: latestClock(of: leaving.found))
        var buried = row
        buried.version = try leaving.version ?? lastChange(of: leaving.found).version
        let (ordinal, now) = (state.takeOrdinal(), environment.now().nanoseconds)
        try TombstoneTable.bury(buried, lane, clock: clock, commit: commit, ordinal: ordinal, time: now, in: &self)
        try IdentityIndex.reindex(from: (row, lane), to: nil, in: &self)
        try PeerQueues.queue(buried, lane.type, .delete, in: &self)
        state.deletions.append(ChangeRecord.Deletion(commit: commit, ordinal: ordinal, id: row.id, type: lane.type))
    }
}

extension ChangeClock {
    /// Returns a deletion's clock that is later than the clock of the deleted version, even if another device stamped
    /// that version with a wrong clock. A version that came back from a health database has a clock one nanosecond
    /// older than the version that was written; the deletion covers that one, too.
    func covering(_ deleted: ChangeClock) -> ChangeClock {
        let (nanoseconds, overflows) = deleted.time.nanoseconds.addingReportingOverflow(2)
        if overflows || time.nanoseconds >= nanoseconds { return self }
        return ChangeClock(time: Instant(nanoseconds: nanoseconds), replica: replica)
    }
}

/// A live row to delete, and the version and clock for its tombstone.
struct LeavingRow {
    var found: FoundRow
    /// The version of the tombstone; `nil` for the version of the row.
    var version: Int64?
    /// The clock of a deletion made by another store; `nil` for a deletion made here.
    var clock: ChangeClock?

    init(_ found: FoundRow, version: Int64? = nil, clock: ChangeClock? = nil) {
        (self.found, self.version, self.clock) = (found, version, clock)
    }
}

extension StoredRow {
    /// The time and replica at which the version was made.
    var clock: ChangeClock { ChangeClock(time: Instant(nanoseconds: clockTime), replica: clockReplica) }

    /// The version of the tombstone that a deletion made here leaves. An imported sample gets the greatest version, so
    /// that it stays away for good: otherwise its next version, or a pull after the tombstone is pruned, would bring it
    /// back.
    var versionOfDeletion: Int64 { flags.contains(.imported) ? Sample.versionLimit : version }
}
