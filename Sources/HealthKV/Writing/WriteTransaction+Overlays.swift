import ColumnFormat
import HealthModel

/// Editing and deleting what belongs to somebody else: the import stays beneath, or stays hidden (SEMANTICS C7).
extension WriteTransaction {
    /// Lays an edit over an imported sample. What was imported stays beneath, and later imports change only that.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     guard let weight = try txn.latest(of: .bodyMass), weight.origin == .imported else { return }
    ///     try txn.overlay(id: weight.id) { $0.quantity = Quantity(72.1, .kilogram) }
    /// }
    /// ```
    ///
    /// Times, quantity, metadata, ``Sample/isUserEntered`` and ``Sample/local`` may be changed; the rest stays as it was imported.
    /// An authored sample is edited by saving it; for such a one, or one that is not there, this answers `nil`.
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

    /// Takes the edit off an imported sample again: it is as it was imported last, with that version, and keeps its notes
    /// (``Sample/local``). No older edit of another store comes back. Answers false where no edit lies over the sample.
    @discardableResult
    public mutating func removeOverlay(id: SampleID) throws -> Bool {
        guard let held = try sample(id: id), held.original != nil else { return false }
        return try whole { transaction in
            guard let found = try transaction.settled(transaction.snapshot.find(id)) else { return false }
            var sample = OverlaidImport(held).beneath
            sample.local = held.local
            sample.reversion = Sample.Reversion(
                version: Sample.version(after: held.lastChange.version), modified: transaction.tick())
            try transaction.replaceSample(found, by: sample)
            return true
        }
    }

    /// Hides an imported sample for good: it is deleted here, no later import or merge brings it back, whatever its version,
    /// and nothing is deleted at its source. Answers false when there is no such sample.
    @discardableResult
    public mutating func hide(id: SampleID) throws -> Bool {
        guard let found = try snapshot.find(id), found.row.flags.contains(.imported) else { return false }
        return try whole { transaction in
            guard let live = try transaction.settled(found) else { return false }
            try transaction.keepContent(of: live)
            try transaction.deleteRows([LeavingRow(live, version: Sample.versionLimit)])
            return true
        }
    }

    /// Lets a hidden sample be imported again. Answers false when it was not hidden.
    @discardableResult
    public mutating func unhide(id: SampleID) throws -> Bool {
        guard let tombstone = try snapshot.tombstone(id), tombstone.version == Sample.versionLimit else { return false }
        return try whole { transaction in
            try transaction.revive(id, tombstone.sync, [tombstone])
            if let sync = tombstone.sync, try transaction.snapshot.tombstone(sync) != nil {
                try transaction.remove(
                    tombstone, Tombstone.key(sync: sync, transaction.state.header.hashKey))
            }
            return true
        }
    }

    /// An import of a sample over which an edit lies, or lay: it changes what lies beneath.
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

    /// A record of another store, where an edit lies over the import here or there, or was taken off.
    mutating func mergeOverlaid(_ found: FoundRow, _ held: Sample, _ sample: Sample) throws -> SaveOutcome {
        var brought = sample
        (brought.id, brought.origin, brought.version) = (held.id, held.origin, max(1, sample.version))
        let merged = OverlaidImport(held).merged(with: OverlaidImport(brought)).sample
        let (wanted, stored) = (record(merged), record(held))
        if wanted == stored { return record(brought) == stored ? .unchanged : .older }
        try replaceSample(found, by: merged)
        return .replaced
    }

    /// All that a sample says, but for what the store derives.
    private func record(_ sample: Sample) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.encode(sample)
        return encoder.bytes
    }

    private mutating func replaceSample(_ found: FoundRow, by sample: Sample) throws {
        let type = try number(of: sample.type)
        let row = try self.row(
            sample, clock: sample.modified ?? tick(), keepingDerivedID: found.row, type: type)
        try replaceRow(found, by: row, type: type)
    }

    /// The greatest version and clock of what makes up a row: what a deletion has to reach.
    func lastChange(of found: FoundRow) throws -> (version: Int64, clock: ChangeClock) {
        try overlaid(found)?.lastChange ?? (found.row.version, found.row.clock)
    }

    /// The latest clock of what makes up a row.
    func latestClock(of found: FoundRow) throws -> ChangeClock {
        try overlaid(found)?.clocks.max() ?? found.row.clock
    }

    /// The sample of a row with more than one version; `nil` for others, which need not be decoded.
    private func overlaid(_ found: FoundRow) throws -> Sample? {
        guard let rare = found.row.rare?.content, rare.original != nil || rare.reversion != nil else { return nil }
        return try snapshot.sample(found.row, found.lane.type)
    }
}

extension Sample {
    /// Becomes the next state of an import with an overlay, where the caller saves more than what was imported: an edit, which follows
    /// one that was taken off, or something else in the place of an edit.
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
