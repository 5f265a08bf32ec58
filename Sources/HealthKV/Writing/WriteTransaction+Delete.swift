import ColumnFormat
import HealthModel

extension WriteTransaction {
    /// Deletes the sample with an id. Answers false when there is none, which is no error.
    ///
    /// An imported sample is hidden, as ``hide(id:)`` does: no later pull brings it back, whatever its version (SEMANTICS C7);
    /// ``unhide(id:)`` lets it. ``undelete(id:)`` undoes either.
    @discardableResult
    public mutating func delete(id: SampleID) throws -> Bool {
        guard let found = try snapshot.find(id) else { return false }
        return try deleteLive([found]) > 0
    }

    /// Deletes the sample with a sync identifier of a type and source.
    @discardableResult
    public mutating func delete(
        syncIdentifier: String, type: SampleType, source: SourceIdentity
    ) throws -> Bool {
        guard let type = try snapshot.number(of: type), let source = try snapshot.number(of: source) else {
            return false
        }
        let found = try snapshot.find(syncIdentifier: syncIdentifier)
            .filter { candidate in
                try candidate.lane.type == type && snapshot.revision(candidate.row.revision).sourceNumber == source
            }
        return try deleteLive(found) > 0
    }

    /// Deletes all samples of a group, such as a meal with all its nutrients, and answers how many there were.
    ///
    /// - Parameter source: where it is given, what other sources have under the same text stays; else it goes, too.
    @discardableResult
    public mutating func deleteGroup(_ group: String, source: SourceIdentity? = nil) throws -> Int {
        try deleteLive(snapshot.find(group: group, of: source.map { [$0] }))
    }

    mutating func deleteLive(_ found: [FoundRow]) throws -> Int {
        try whole { transaction in
            var leaving: [LeavingRow] = []
            for found in found {
                guard let live = try transaction.settled(found) else { continue }
                try transaction.keepContent(of: live)
                let isImported = live.row.flags.contains(.imported)
                leaving.append(LeavingRow(live, version: isImported ? live.row.versionOfDeletion : nil))
            }
            try transaction.deleteRows(leaving)
            return leaving.count
        }
    }

    /// Deletes live rows, each of which is named once, in their order. A chunk is written once, however many of its rows go: writing it costs
    /// more than all else that a deletion does.
    mutating func deleteRows(_ leaving: [LeavingRow]) throws {
        if leaving.count == 1 {
            try apply(leaving[0].found.lane, inserts: [], removals: [leaving[0].found.row.point])
            return try bury(leaving[0])
        }
        let points = Dictionary(grouping: leaving, by: \.found.lane).mapValues { $0.map(\.found.row.point).sorted() }
        for lane in points.keys.sorted() { try apply(lane, inserts: [], removals: points[lane]!) }
        try indexingTogether { transaction in
            for item in leaving { try transaction.bury(item) }
        }
    }

    /// What follows from a deletion once the row has left its chunk.
    mutating func bury(_ leaving: LeavingRow) throws {
        let (row, lane) = (leaving.found.row, leaving.found.lane)
        let clock = try leaving.clock ?? tick(over: latestClock(of: leaving.found))
        var buried = row
        buried.version = try leaving.version ?? lastChange(of: leaving.found).version
        let (ordinal, now) = (state.takeOrdinal(), environment.now().nanoseconds)
        try bury(buried, lane, clock: clock, commit: commit, ordinal: ordinal, time: now)
        try reindex(from: (row, lane), to: nil)
        try queue(buried, lane.type, .delete)
        state.deletions.append(ChangeRecord.Deletion(commit: commit, ordinal: ordinal, id: row.id, type: lane.type))
    }
}

extension ChangeClock {
    /// The clock of a deletion: behind that of what it deletes, even where a wrong clock of another device stamped that. What came back from a
    /// database of health is a nanosecond older than what was written, and that is deleted with it.
    func covering(_ deleted: ChangeClock) -> ChangeClock {
        let (nanoseconds, overflows) = deleted.time.nanoseconds.addingReportingOverflow(2)
        if overflows || time.nanoseconds >= nanoseconds { return self }
        return ChangeClock(time: Instant(nanoseconds: nanoseconds), replica: replica)
    }
}

/// A live row that is to go, and what its tombstone says.
struct LeavingRow {
    var found: FoundRow
    /// The tombstone's version; the row's own unless it is given.
    var version: Int64?
    /// When another store deleted it; `nil` where it is deleted here.
    var clock: ChangeClock?

    init(_ found: FoundRow, version: Int64? = nil, clock: ChangeClock? = nil) {
        (self.found, self.version, self.clock) = (found, version, clock)
    }
}

extension StoredRow {
    /// When the version was made, and where.
    var clock: ChangeClock { ChangeClock(time: Instant(nanoseconds: clockTime), replica: clockReplica) }

    /// The version of the tombstone that a deletion made here leaves. What was imported stays away for good: its next version, or
    /// a pull when the tombstone is forgotten, would bring it back.
    var versionOfDeletion: Int64 { flags.contains(.imported) ? Sample.versionLimit : version }
}
