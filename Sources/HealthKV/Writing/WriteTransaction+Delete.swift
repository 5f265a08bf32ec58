import ColumnFormat
import HealthModel

extension WriteTransaction {
    /// Deletes the sample with an id. Answers false when there is none, which is no error.
    ///
    /// An imported sample is hidden, as ``hide(id:)`` does: no later pull brings it back, whatever its version (SEMANTICS C7);
    /// ``unhide(id:)`` lets it.
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
            var live: [FoundRow] = []
            for row in found { if let row = try transaction.settled(row) { live.append(row) } }
            for row in live {
                let isImported = row.row.flags.contains(.imported)
                try transaction.deleteFound([row], tombstoneVersion: isImported ? row.row.versionOfDeletion : nil)
            }
            return live.count
        }
    }

    /// Deletes live rows. A tombstone's version is the row's unless it is given.
    mutating func deleteFound(
        _ found: [FoundRow], tombstoneVersion: Int64? = nil, clock: ChangeClock? = nil
    ) throws {
        for item in found {
            var buried = item.row
            let last = try lastChange(of: item)
            let clock = try clock ?? tick(over: latestClock(of: item))
            buried.version = tombstoneVersion ?? last.version
            try apply(item.lane, inserts: [], removals: [item.row.point])
            let ordinal = state.takeOrdinal()
            try bury(
                buried, item.lane, clock: clock, commit: commit, ordinal: ordinal,
                time: environment.now().nanoseconds)
            try reindex(from: (item.row, item.lane), to: nil)
            try queue(buried, item.lane.type, .delete)
            state.deletions.append(ChangeRecord.Deletion(ordinal: ordinal, id: item.row.id, type: item.lane.type))
        }
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

extension StoredRow {
    /// When the version was made, and where.
    var clock: ChangeClock { ChangeClock(time: Instant(nanoseconds: clockTime), replica: clockReplica) }

    /// The version of the tombstone that a deletion made here leaves. What was imported stays away for good: its next version, or
    /// a pull when the tombstone is forgotten, would bring it back.
    var versionOfDeletion: Int64 { flags.contains(.imported) ? Sample.versionLimit : version }
}
