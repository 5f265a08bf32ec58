import ColumnFormat
import HealthModel

/// Samples that came from an export before the peer that exported them was read. An export names no ids; once the peer
/// shows a sample under its own id, the sample from the export leaves and the other one takes its place, with what was
/// edited here. What was deleted here stays away.
///
/// A sample of an export is recognised by type, name of the source, times and value. If the peer shows two samples of
/// different sources that fit, nobody can tell which one it was, and neither is adopted.
struct HistoryAdoption {
    /// Samples of a peer, and the samples of exports in whose place they come.
    private var adopted: [(id: SampleID, derived: SampleID)] = []
    /// Samples of a peer that were deleted here under the ids of an export, and those ids.
    private var deleted: [(id: SampleID, derived: SampleID)] = []

    var isEmpty: Bool { adopted.isEmpty && deleted.isEmpty }

    /// Finds the rows of a peer's batch that take the place of a sample of an export.
    static func find(_ batch: SampleBatch, in txn: inout WriteTransaction) throws -> HistoryAdoption {
        var adoption = HistoryAdoption()
        let exported = try batch.kinds.map { kind in
            try !kind.source.bundle.isEmpty
                && NameTable.number(of: SourceIdentity(name: kind.source.name), in: txn.snapshot) != nil
        }
        guard exported.contains(true) else { return adoption }
        var plan = try Importing.plan(batch, in: &txn)
        for row in 0..<batch.count where !exported[Int(batch.kindOfRow[row])] || DerivedID.isDerived(batch.ids[row]) {
            plan.careful[row] = true
        }
        var fitting: [SampleID: [Int]] = [:]
        var twins: [SampleID: Int32] = [:]
        let snapshot = txn.snapshot
        for (lane, rows) in plan.lanes(batch) {
            try NearRows.forEach(lane, rows, of: batch, in: snapshot) { row, stored, lane in
                guard try isExported(row, of: batch, plan, stored, lane, in: snapshot) else { return }
                fitting[stored.id, default: []].append(row)
                twins[stored.id] = stored.multiplicity
            }
        }
        var taken: Set<Int> = []
        for id in fitting.keys.sorted(by: { (twins[$0]!, $0) < (twins[$1]!, $1) }) {
            guard let rows = fitting[id] else { continue }
            let sources = Set(rows.map { batch.kinds[Int(batch.kindOfRow[$0])].source.identity })
            guard sources.count == 1,
                let first = try rows.first(where: { row in
                    try !taken.contains(row) && SampleLookup.find(batch.ids[row], in: snapshot) == nil
                })
            else { continue }
            taken.insert(first)
            adoption.adopted.append((batch.ids[first], id))
        }
        // Each deleted sample is one of the peer's at most.
        var buried: Set<SampleID> = []
        for row in 0..<batch.count where !plan.careful[row] && !taken.contains(row) {
            guard let id = try deletedSample(row, of: batch, plan, besides: buried, in: snapshot) else { continue }
            buried.insert(id)
            adoption.deleted.append((batch.ids[row], id))
        }
        return adoption
    }

    /// Notes that a sample of a peer takes the place of a sample from an export.
    mutating func adopt(_ id: SampleID, insteadOf derived: SampleID) { adopted.append((id, derived)) }

    /// Notes that a sample was deleted here under another id.
    mutating func delete(_ id: SampleID, deletedAs derived: SampleID) { deleted.append((id, derived)) }

    /// Puts what was noted in an order of its own.
    mutating func sort() {
        adopted.sort { $0.derived < $1.derived }
        deleted.sort { $0.derived < $1.derived }
    }

    /// Whether a stored row came from an export and is the sample of a row.
    private static func isExported(
        _ row: Int, of batch: SampleBatch, _ plan: ImportPlan, _ stored: StoredRow, _ lane: Lane, in snapshot: Snapshot
    ) throws -> Bool {
        guard DerivedID.isDerived(stored.id) else { return false }
        let source = try NameTable.revision(stored.revision, in: snapshot).source
        let kind = plan.kinds[Int(batch.kindOfRow[row])]
        if let name = try HistoryMatching.name(of: stored), batch.extras[row]?.metadata.externalName != name {
            return false
        }
        return try source.bundle.isEmpty && source.name == batch.kinds[Int(batch.kindOfRow[row])].source.name
            && NearRows.isNear(stored.end, batch.ends[row])
            && imported(stored, lane, in: snapshot).isSame(
                as: PrintedValue(batch.values[row], kind.sampleUnit), bothPrinted: false, of: kind.sampleType)
    }

    /// Returns the value that a stored row was imported with.
    private static func imported(_ stored: StoredRow, _ lane: Lane, in snapshot: Snapshot) throws -> PrintedValue {
        if stored.rare?.content.original != nil,
            let original = try NameTable.sample(stored, lane.type, in: snapshot).original
        {
            return PrintedValue(original.quantity.value, original.quantity.unit)
        }
        return PrintedValue(stored.value, try NameTable.unit(stored.unit, in: snapshot))
    }

    /// Returns the derived id under which a row was deleted here. What another store deleted, that store finds itself:
    /// if both took a sample of the peer for the deleted one, a later sample of the same time could be deleted as well.
    private static func deletedSample(
        _ row: Int, of batch: SampleBatch, _ plan: ImportPlan, besides buried: Set<SampleID>, in snapshot: Snapshot
    ) throws -> SampleID? {
        let kind = plan.kinds[Int(batch.kindOfRow[row])]
        let span = NearRows.within(aSecondOf: batch.starts[row])
        let prefix = DerivedID.Prefix(type: kind.sampleType, source: SourceIdentity(name: ""))
        var found: SampleID?
        try TombstoneTable.forEachByID(from: DerivedID.first(prefix, start: span.from), in: snapshot) { tombstone in
            guard DerivedID.isDerived(tombstone.id), DerivedID.typeBits(of: tombstone.id) == prefix.type & 0xFFFF,
                DerivedID.start(of: tombstone.id).nanoseconds < span.to
            else { return false }
            guard tombstone.type == kind.type, let place = tombstone.place,
                tombstone.clockReplica == snapshot.header.replica, !buried.contains(tombstone.id),
                NearRows.isNear(place.end, batch.ends[row])
            else { return true }
            let source = try NameTable.revision(place.revision, in: snapshot).source
            guard source.bundle.isEmpty, source.name == batch.kinds[Int(batch.kindOfRow[row])].source.name else {
                return true
            }
            found = tombstone.id
            return false
        }
        guard found != nil, try SampleLookup.find(batch.ids[row], in: snapshot) == nil,
            try TombstoneTable.tombstone(batch.ids[row], in: snapshot) == nil
        else { return nil }
        return found
    }

    /// Lets the samples of exports leave, once the peer's samples are stored. Returns the edits that are not shown any
    /// more.
    @discardableResult
    func finish(in txn: inout WriteTransaction) throws -> LostEdits {
        var lost = LostEdits()
        var leaving: [LeavingRow] = []
        for (id, derived) in adopted {
            guard let shown = try txn.sample(id: id),
                let live = try Saving.settled(SampleLookup.find(derived, in: txn.snapshot), in: &txn)
            else { continue }
            let old = try NameTable.sample(live.row, live.lane.type, in: txn.snapshot)
            // Of two edits the later one stays, and of two notes.
            let isLater = (old.modified ?? .unknown) > (shown.modified ?? .unknown)
            let takesEdit = old.original != nil && (shown.original == nil || isLater)
            let takesNotes = !old.local.isEmpty && (shown.local.isEmpty || isLater)
            if takesEdit || takesNotes {
                let outcome = try txn.overlay(id: id) { sample in
                    if takesNotes { sample.local = old.local }
                    guard takesEdit else { return }
                    (sample.start, sample.end, sample.quantity) = (old.start, old.end, old.quantity)
                    (sample.metadata, sample.isUserEntered) = (old.metadata, old.isUserEntered)
                }
                // Nothing lies over a sample that was written here. So both stay.
                if outcome == nil { continue }
            }
            if old.original != nil, shown.original != nil, !old.isShown(like: shown) {
                lost.replaced.append(takesEdit ? shown : old)
            }
            leaving.append(LeavingRow(live, version: try Overlays.lastChange(of: live, in: txn).version))
        }
        if !leaving.isEmpty { try Deleting.deleteRows(leaving, in: &txn) }
        for row in leaving { try TombstoneTable.forgetPlace(of: row.found.row.id, in: &txn) }
        for (id, derived) in deleted {
            let shown = try txn.sample(id: id)
            guard try txn.delete(id: id, takesRoutes: false) else { continue }
            if let shown, shown.original != nil { lost.deleted.append(shown) }
            try TombstoneTable.forgetPlace(of: derived, in: &txn)
        }
        return lost
    }
}

/// Edits that are not shown any more after samples from exports and their samples with ids became one.
package struct LostEdits {
    /// Samples with an edit in whose place a later edit is.
    package var replaced: [Sample] = []
    /// Samples with an edit that were deleted, because they had been deleted under their other id.
    package var deleted: [Sample] = []

    package init() {}
}

extension Sample {
    /// Whether an edit or a note lies over the import.
    var isEditedImport: Bool { original != nil || !local.isEmpty }

    /// Whether a person sees the same measurement.
    package func isShown(like other: Sample) -> Bool {
        (start, end, quantity) == (other.start, other.end, other.quantity) && metadata == other.metadata
    }

    /// The sample with the times, the value and the metadata with which it was imported.
    var asImported: Sample {
        guard let original else { return self }
        var sample = self
        (sample.start, sample.end, sample.quantity) = (original.start, original.end, original.quantity)
        (sample.metadata, sample.original) = (original.metadata, nil)
        return sample
    }
}
