import ColumnFormat
import HealthModel

/// Edits and deletions of samples that other sources own: the import stays beneath the edit, or stays hidden (SEMANTICS
/// C7).
extension WriteTransaction {
    /// Lays an edit over an imported sample. The import stays beneath, and later imports change only that.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     guard let weight = try txn.latest(of: .bodyMass), weight.origin == .imported else { return }
    ///     try txn.overlay(id: weight.id) { $0.quantity = Quantity(72.1, .kilogram) }
    /// }
    /// ```
    ///
    /// The change may set times, quantity, metadata, `Sample.isUserEntered` and `Sample.local`; the rest stays as
    /// it was imported. Edit an authored sample by saving it. Returns `nil` for an authored sample, and if there is no
    /// such sample.
    @discardableResult
    public mutating func overlay(id: SampleID, _ change: (inout Sample) -> Void) throws -> SaveOutcome? {
        guard let held = try sample(id: id), held.origin == .imported else { return nil }
        var wanted = held
        change(&wanted)
        var edited = held
        edited.takeOverlay(of: wanted)
        (edited.version, edited.modified) = (0, nil)
        edited.original = held.original ?? Sample.Original(of: held)
        return try save(edited)
    }

    /// Removes the edit from an imported sample. The sample is again as it was last imported, with that version, and
    /// keeps its notes (`Sample.local`). No older edit of another store comes back. Returns `false` if no edit lies
    /// over the sample.
    @discardableResult
    public mutating func removeOverlay(id: SampleID) throws -> Bool {
        guard let held = try sample(id: id), held.original != nil else { return false }
        return try whole { transaction in
            guard let found = try transaction.settled(SampleLookup.find(id, in: transaction.snapshot)) else {
                return false
            }
            var sample = OverlaidImport(held).beneath
            sample.local = held.local
            sample.reversion = Sample.Reversion(
                version: Sample.version(after: held.lastChange.version), modified: transaction.tick())
            try transaction.replaceSample(found, by: sample)
            return true
        }
    }

    /// Hides an imported sample permanently: it is deleted here, no later import or merge brings it back, whatever its
    /// version, and nothing is deleted at its source. Returns `false` if there is no such sample.
    @discardableResult
    public mutating func hide(id: SampleID) throws -> Bool {
        guard let found = try SampleLookup.find(id, in: snapshot), found.row.flags.contains(.imported) else {
            return false
        }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            try ContentTable.keepContent(of: live, in: &transaction)
            try transaction.deleteRows([LeavingRow(live, version: Sample.versionLimit)])
            return true
        }
    }

    /// Allows a hidden sample to be imported again. Returns `false` if it was not hidden.
    @discardableResult
    public mutating func unhide(id: SampleID) throws -> Bool {
        guard let tombstone = try TombstoneTable.tombstone(id, in: snapshot), tombstone.version == Sample.versionLimit
        else { return false }
        return try whole { transaction in
            try TombstoneTable.revive(id, tombstone.sync, [tombstone], in: &transaction)
            if let sync = tombstone.sync, try TombstoneTable.tombstone(sync, in: transaction.snapshot) != nil {
                try TombstoneTable.remove(
                    tombstone, Tombstone.key(sync: sync, transaction.state.header.hashKey), in: &transaction)
            }
            return true
        }
    }

    /// Imports a new version of a sample that has an edit over it, or had one: changes only the import beneath.
    mutating func replaceBeneath(_ found: FoundRow, _ held: Sample, by sample: Sample) throws -> SaveOutcome {
        let overlaid = OverlaidImport(held)
        let beneath = overlaid.beneath
        var given = sample
        (given.id, given.origin, given.local, given.reversion) = (held.id, held.origin, beneath.local, nil)
        given.syncIdentifier = sample.syncIdentifier ?? beneath.syncIdentifier
        if given.version > 0, given.version < beneath.version { return .older }
        if given.version <= beneath.version {
            if bytes(given) == bytes(beneath) { return .unchanged }
            given.version = Sample.version(after: beneath.version)
        }
        given.modified = tick()
        try replaceSample(found, by: overlaid.lying(over: given).sample)
        return .replaced
    }

    /// Merges a record of another store if an edit lies over the import in either store, or was taken off it.
    mutating func mergeOverlaid(_ found: FoundRow, _ held: Sample, _ sample: Sample) throws -> SaveOutcome {
        var brought = sample
        (brought.id, brought.origin, brought.version) = (held.id, held.origin, max(1, sample.version))
        let merged = OverlaidImport(held).merged(with: OverlaidImport(brought)).sample
        let (wanted, stored) = (record(merged), record(held))
        if wanted == stored { return record(brought) == stored ? .unchanged : .older }
        try replaceSample(found, by: merged)
        return .replaced
    }

    /// Returns all fields of a sample in canonical form, except those that the store derives.
    private func record(_ sample: Sample) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.encode(sample)
        return encoder.bytes
    }

    private mutating func replaceSample(_ found: FoundRow, by sample: Sample) throws {
        let type = try NameTable.number(of: sample.type, in: &self)
        let row = try self.row(
            sample, clock: sample.modified ?? tick(), keepingDerivedID: found.row, type: type)
        try replaceRow(found, by: row, type: type)
    }

    /// Returns the greatest version and clock among the records of a row. A deletion has to reach it.
    func lastChange(of found: FoundRow) throws -> (version: Int64, clock: ChangeClock) {
        try overlaid(found)?.lastChange ?? (found.row.version, found.row.clock)
    }

    /// Returns the latest clock among the records of a row.
    func latestClock(of found: FoundRow) throws -> ChangeClock {
        try overlaid(found)?.clocks.max() ?? found.row.clock
    }

    /// Returns the sample of a row that consists of several records; `nil` for other rows, which need not be decoded.
    private func overlaid(_ found: FoundRow) throws -> Sample? {
        guard let rare = found.row.rare?.content, rare.original != nil || rare.reversion != nil else { return nil }
        return try NameTable.sample(found.row, found.lane.type, in: snapshot)
    }
}

extension Sample {
    /// Sets the versions for replacing an import that has an overlay, if the caller saves more than a new import: an
    /// edit, which must be above a removed edit, or other content in place of an edit.
    mutating func follow(_ held: Sample, _ clock: ChangeClock) {
        if original != nil {
            version = max(version, Sample.version(after: held.reversion?.version ?? 0))
        } else if let beneath = held.original {
            version = max(version, Sample.version(after: beneath.version))
            reversion = Reversion(version: Sample.version(after: held.lastChange.version), modified: clock)
        } else {
            reversion = held.reversion
        }
    }
}
