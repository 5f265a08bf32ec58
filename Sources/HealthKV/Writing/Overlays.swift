import ColumnFormat
import HealthModel

/// Edits and deletions of samples that other sources own: the import stays beneath the edit, or stays hidden (SEMANTICS
/// C7).
enum Overlays {
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
