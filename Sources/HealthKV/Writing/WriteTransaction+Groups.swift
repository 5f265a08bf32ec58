import ColumnFormat
import HealthModel

/// Groups: samples that are written and deleted as one (SEMANTICS C5).
extension WriteTransaction {
    /// Makes a group consist of exactly these samples: saves them, and deletes the other samples of the group. All or
    /// nothing.
    ///
    /// Saving a changed meal again edits the samples that changed. A nutrient that is left out is deleted; one that
    /// returns to a group that still lives gets a greater version. A group that was deleted as a whole stays deleted.
    /// Another app may use the same text for a group, so only samples of the sources of these samples count (SEMANTICS
    /// C4), or of this app if `samples` is empty.
    @discardableResult
    public mutating func save(group: String, _ samples: [Sample]) throws -> [SaveOutcome] {
        try save(group: group, samples, ifNone: .thisApp)
    }

    /// Saves a meal with all its nutrients: see ``save(group:_:)``.
    @discardableResult
    public mutating func save(_ meal: Meal, source: Source = .thisApp) throws -> [SaveOutcome] {
        try save(group: meal.id, meal.samples(source: source), ifNone: source)
    }

    /// Deletes a meal of a source with all its nutrients, and returns the number of deleted samples. Samples of other
    /// sources under the same id stay.
    ///
    /// ```swift
    /// try store.write { _ = try $0.deleteMeal(id: "log-17") }
    /// ```
    @discardableResult
    public mutating func deleteMeal(id: String, source: Source = .thisApp) throws -> Int {
        try deleteGroup(id, source: resolved(source).identity)
    }

    private func resolved(_ source: Source) -> Source { source == .thisApp ? environment.source : source }

    /// - Parameter source: the source of the group if there are no samples.
    private mutating func save(group: String, _ samples: [Sample], ifNone source: Source) throws -> [SaveOutcome] {
        let samples = samples.map { sample in
            var sample = sample
            sample.group = group
            sample.source = resolved(sample.source)
            return sample
        }
        let sources = samples.isEmpty ? [resolved(source).identity] : Set(samples.map(\.source.identity))
        for sample in samples { try sample.validate() }
        return try whole { transaction in
            let before = try transaction.liveRows(ofGroup: group, sources)
            var outcomes: [SaveOutcome] = []
            for sample in samples {
                outcomes.append(try transaction.saveMember(sample, ofLiving: !before.isEmpty))
            }
            let left = try transaction.liveRows(ofGroup: group, sources).filter { row in
                try !samples.contains { try transaction.snapshot.isVersion($0, of: row) }
            }
            try transaction.deleteRows(left.map { LeavingRow($0) })
            return outcomes
        }
    }

    private mutating func saveMember(_ sample: Sample, ofLiving isLiving: Bool) throws -> SaveOutcome {
        let outcome = try store(sample, rule: .local)
        guard outcome == .vetoed, isLiving else { return outcome }
        var again = sample
        again.version = Sample.version(after: try snapshot.deletedVersion(of: sample) ?? 0)
        return try store(again, rule: .local)
    }

    private mutating func liveRows(
        ofGroup group: String, _ sources: Set<SourceIdentity>
    ) throws -> [FoundRow] {
        var live: [FoundRow] = []
        for row in try SampleLookup.find(group: group, of: sources, in: snapshot) {
            if let row = try settled(row) { live.append(row) }
        }
        return live
    }
}

extension Snapshot {
    /// Returns `true` if a sample has the id or sync identity of a row.
    fileprivate func isVersion(_ sample: Sample, of found: FoundRow) throws -> Bool {
        if sample.id == found.row.id { return true }
        // Use the same rule as saving: the sync identifier of a sample written here defaults to its id.
        let given = sample.syncIdentifier ?? (sample.origin == .authored ? sample.id.description : nil)
        guard let given, try NameTable.type(found.lane.type, in: self) == sample.type else { return false }
        let own = found.row.flags.contains(.syncIsID) ? found.row.id.description : found.row.rare?.syncIdentifier
        return try own == given
            && NameTable.source(NameTable.revision(found.row.revision, in: self).sourceNumber, in: self)
                == sample.source.identity
    }

    /// Returns the greatest version among the tombstones of a sample.
    fileprivate func deletedVersion(of sample: Sample) throws -> Int64? {
        var versions = [try TombstoneTable.tombstone(sample.id, in: self)?.version]
        if let type = try NameTable.number(of: sample.type, in: self),
            let source = try NameTable.number(of: sample.source.identity, in: self)
        {
            let text = sample.syncIdentifier ?? sample.id.description
            versions.append(
                try TombstoneTable.tombstone(SyncIdentity(type: type, source: source, identifier: text), in: self)?
                    .version)
        }
        return versions.compactMap(\.self).max()
    }
}
