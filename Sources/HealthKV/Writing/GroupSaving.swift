import ColumnFormat
import HealthModel

/// Groups: samples that are written and deleted as one (SEMANTICS C5).
enum GroupSaving {
    static func resolved(_ source: Source, in txn: borrowing WriteTransaction) -> Source {
        source == .thisApp ? txn.environment.source : source
    }

    /// - Parameter source: the source of the group if there are no samples.
    static func save(group: String, _ samples: [Sample], ifNone source: Source, in txn: inout WriteTransaction) throws
        -> [SaveOutcome]
    {
        let given = samples.map { sample in
            var sample = sample
            sample.group = group
            return sample
        }
        let samples = given.map { sample in
            var sample = sample
            sample.source = resolved(sample.source, in: txn)
            return sample
        }
        let sources = samples.isEmpty ? [resolved(source, in: txn).identity] : Set(samples.map(\.source.identity))
        for sample in samples {
            try sample.validate()
            try txn.checkRange(of: sample)
        }
        return try txn.whole { transaction in
            let before = try liveRows(ofGroup: group, sources, in: &transaction)
            // A group that was deleted stays deleted as a whole, also if it has members now that it did not have.
            if before.isEmpty, try samples.contains(where: { try isDeleted($0, from: group, in: transaction.snapshot) })
            {
                return samples.map { _ in .vetoed }
            }
            var outcomes: [SaveOutcome] = []
            for sample in given {
                outcomes.append(try saveMember(sample, ofLiving: !before.isEmpty, in: &transaction))
            }
            let left = try liveRows(ofGroup: group, sources, in: &transaction).filter { row in
                try !samples.contains { try isVersion($0, of: row, in: transaction.snapshot) }
            }
            // An import leaves in this version only, and may come back; its content is not kept, as that of a deletion.
            for row in left where !row.row.flags.contains(.imported) {
                try ContentTable.keepContent(of: row, in: &transaction)
            }
            try Deleting.deleteRows(left.map { LeavingRow($0) }, in: &transaction)
            return outcomes
        }
    }

    private static func saveMember(_ sample: Sample, ofLiving isLiving: Bool, in txn: inout WriteTransaction) throws
        -> SaveOutcome
    {
        let outcome = try Saving.store(sample, rule: .local, in: &txn)
        guard outcome == .vetoed, isLiving else { return outcome }
        var again = sample
        again.source = resolved(sample.source, in: txn)
        again.version = Sample.version(after: try deletedVersion(of: again, in: txn.snapshot) ?? 0)
        return try Saving.store(again, rule: .local, in: &txn)
    }

    /// Returns `true` if a sample was deleted as a member of a group, in this version or a later one.
    private static func isDeleted(_ sample: Sample, from group: String, in snapshot: Snapshot) throws -> Bool {
        try tombstones(of: sample, in: snapshot).contains { $0.group == group && $0.version >= max(1, sample.version) }
    }

    private static func liveRows(
        ofGroup group: String, _ sources: Set<SourceIdentity>, in txn: inout WriteTransaction
    ) throws -> [FoundRow] {
        var live: [FoundRow] = []
        for row in try SampleLookup.find(group: group, of: sources, in: txn.snapshot) {
            if let row = try Saving.settled(row, in: &txn) { live.append(row) }
        }
        return live
    }

    /// Returns `true` if a sample has the id or sync identity of a row.
    private static func isVersion(_ sample: Sample, of found: FoundRow, in snapshot: Snapshot) throws -> Bool {
        if sample.id == found.row.id { return true }
        // Use the same rule as saving: the sync identifier of a sample written here defaults to its id.
        let given = sample.syncIdentifier ?? (sample.origin == .authored ? sample.id.description : nil)
        guard let given, try NameTable.type(found.lane.type, in: snapshot) == sample.type else { return false }
        let own = found.row.flags.contains(.syncIsID) ? found.row.id.description : found.row.rare?.syncIdentifier
        return try own == given
            && NameTable.source(NameTable.revision(found.row.revision, in: snapshot).sourceNumber, in: snapshot)
                == sample.source.identity
    }

    /// Returns the greatest version among the tombstones of a sample.
    private static func deletedVersion(of sample: Sample, in snapshot: Snapshot) throws -> Int64? {
        try tombstones(of: sample, in: snapshot).map(\.version).max()
    }

    private static func tombstones(of sample: Sample, in snapshot: Snapshot) throws -> [Tombstone] {
        var found = [try TombstoneTable.tombstone(sample.id, in: snapshot)]
        if let type = try NameTable.number(of: sample.type, in: snapshot),
            let source = try NameTable.number(of: sample.source.identity, in: snapshot)
        {
            let text = sample.syncIdentifier ?? sample.id.description
            found.append(
                try TombstoneTable.tombstone(SyncIdentity(type: type, source: source, identifier: text), in: snapshot))
        }
        return found.compactMap(\.self)
    }
}
