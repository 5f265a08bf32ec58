import ColumnFormat
import HealthModel

/// Edits and deletions of samples that other sources own: the import stays beneath the edit, or stays hidden (SEMANTICS
/// C7).
enum Overlays {
    /// Lays an edit over an import, or changes the one that lies over it; `nil` for any other sample.
    static func lay(
        over id: SampleID, _ change: (inout Sample) -> Void, in txn: inout WriteTransaction
    ) throws -> SaveOutcome? {
        guard let held = try txn.sample(id: id), held.origin == .imported else { return nil }
        var wanted = held
        change(&wanted)
        var edited = held
        edited.takeOverlay(of: wanted)
        // An edit that changes nothing would hold on to this version of the import.
        if Saving.bytes(edited, in: txn) == Saving.bytes(held, in: txn) { return .unchanged }
        (edited.version, edited.modified) = (0, nil)
        edited.original = held.original ?? Sample.Original(of: held)
        return try txn.save(edited)
    }

    /// Takes the edit off an import. Returns `false` if none lies over it.
    static func takeOff(of id: SampleID, in txn: inout WriteTransaction) throws -> Bool {
        guard let held = try txn.sample(id: id), held.original != nil else { return false }
        return try txn.whole { txn in
            guard let found = try Saving.settled(SampleLookup.find(id, in: txn.snapshot), in: &txn) else {
                return false
            }
            var sample = OverlaidImport(held).beneath
            sample.local = held.local
            sample.reversion = Sample.Reversion(
                version: Sample.version(after: held.lastChange.version), modified: txn.tick())
            try replaceSample(found, by: sample, in: &txn)
            return true
        }
    }

    /// Deletes an import in every version that may come. Returns `false` if there is none.
    static func hide(_ id: SampleID, in txn: inout WriteTransaction) throws -> Bool {
        guard let found = try SampleLookup.find(id, in: txn.snapshot), found.row.flags.contains(.imported) else {
            return false
        }
        return try txn.whole { txn in
            guard let live = try Saving.settled(found, in: &txn) else { return false }
            let routes = try Deleting.withRoutes([live], in: txn).dropFirst()
            try ContentTable.keepContent(of: live, in: &txn)
            try Deleting.deleteRows([LeavingRow(live, version: Sample.versionLimit)], in: &txn)
            _ = try Deleting.deleteLive(Array(routes), in: &txn)
            return true
        }
    }

    /// Lets a hidden import come again. Returns `false` if it is not hidden.
    static func unhide(_ id: SampleID, in txn: inout WriteTransaction) throws -> Bool {
        guard let tombstone = try TombstoneTable.tombstone(id, in: txn.snapshot),
            tombstone.version == Sample.versionLimit
        else { return false }
        return try txn.whole { txn in
            try TombstoneTable.revive(id, tombstone.sync, [tombstone], in: &txn)
            if let sync = tombstone.sync, try TombstoneTable.tombstone(sync, in: txn.snapshot) != nil {
                try TombstoneTable.remove(tombstone, of: sync, in: &txn)
            }
            return true
        }
    }

    /// Imports a new version of a sample that has an edit over it, or had one: changes only the import beneath.
    static func replaceBeneath(_ found: FoundRow, _ held: Sample, by sample: Sample, in txn: inout WriteTransaction)
        throws -> SaveOutcome
    {
        let overlaid = OverlaidImport(held)
        let beneath = overlaid.beneath
        var given = sample
        (given.id, given.origin, given.local, given.reversion) = (held.id, held.origin, beneath.local, nil)
        given.syncIdentifier = sample.syncIdentifier ?? beneath.syncIdentifier
        if given.version > 0, given.version < beneath.version { return .older }
        if given.version <= beneath.version {
            if Saving.bytes(given, in: txn) == Saving.bytes(beneath, in: txn) { return .unchanged }
            given.version = Sample.version(after: beneath.version)
        }
        given.modified = txn.tick()
        try replaceSample(found, by: overlaid.lying(over: given).sample, in: &txn)
        return .replaced
    }

    /// Merges a record of another store if an edit lies over the import in either store, or was taken off it.
    static func mergeOverlaid(_ found: FoundRow, _ held: Sample, _ sample: Sample, in txn: inout WriteTransaction)
        throws -> SaveOutcome
    {
        var brought = sample
        (brought.id, brought.origin, brought.version) = (held.id, held.origin, max(1, sample.version))
        let merged = OverlaidImport(held).merged(with: OverlaidImport(brought)).sample
        let (wanted, stored) = (record(merged, in: txn), record(held, in: txn))
        let told = record(brought, in: txn)
        if wanted == stored { return told == stored ? .unchanged : .older }
        if wanted != told { txn.state.hasCombined = true }
        try replaceSample(found, by: merged, in: &txn)
        return .replaced
    }

    /// Returns all fields of a sample in canonical form, except those that the store derives.
    private static func record(_ sample: Sample, in txn: borrowing WriteTransaction) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.encode(sample)
        return encoder.bytes
    }

    static func replaceSample(_ found: FoundRow, by sample: Sample, in txn: inout WriteTransaction) throws {
        let type = try NameTable.number(of: sample.type, in: &txn)
        let row = try Saving.row(
            sample, clock: sample.modified ?? txn.tick(), keepingDerivedID: found.row, type: type, in: &txn)
        try Saving.replaceRow(found, by: row, type: type, in: &txn)
    }

    /// Returns the greatest version and clock among the records of a row. A deletion has to reach it.
    static func lastChange(of found: FoundRow, in txn: borrowing WriteTransaction) throws -> VersionOrder {
        try overlaid(found, in: txn)?.lastChange ?? VersionOrder(found.row.version, found.row.clock)
    }

    /// Returns the latest clock among the records of a row.
    static func latestClock(of found: FoundRow, in txn: borrowing WriteTransaction) throws -> ChangeClock {
        try overlaid(found, in: txn)?.clocks.max() ?? found.row.clock
    }

    /// Returns the sample of a row that consists of several records; `nil` for other rows, which need not be decoded.
    private static func overlaid(_ found: FoundRow, in txn: borrowing WriteTransaction) throws -> Sample? {
        guard let rare = found.row.rare?.content, rare.original != nil || rare.reversion != nil else { return nil }
        return try NameTable.sample(found.row, found.lane.type, in: txn.snapshot)
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
