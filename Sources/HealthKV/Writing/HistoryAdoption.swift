import ColumnFormat
import HealthModel

/// Samples that came from an export before the peer that exported them was read. An export names no ids; once the peer
/// shows a sample under its own id, the sample from the export leaves and the other one takes its place, with what was
/// edited here. What was deleted here stays away.
///
/// A sample of an export is recognised by type, name of the source, times and value. If the peer shows two samples of
/// different sources that fit, nobody can tell which one it was, and neither is adopted.
struct HistoryAdoption {
    /// Rows of the batch, and the samples of exports in whose place they come.
    private var adopted: [(row: Int, derived: FoundRow)] = []
    /// Rows of the batch that were deleted here under the ids of an export, and those ids.
    private var deleted: [(row: Int, id: SampleID)] = []

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
        var fitting: [SampleID: [(row: Int, derived: FoundRow)]] = [:]
        let snapshot = txn.snapshot
        for (lane, rows) in plan.lanes(batch) {
            try NearRows.forEach(lane, rows, of: batch, in: snapshot) { row, stored, lane in
                guard try isSame(row, of: batch, plan, stored, lane, in: snapshot) else { return }
                fitting[stored.id, default: []].append((row, FoundRow(lane: lane, row: stored, isHidden: false)))
            }
        }
        var taken: Set<Int> = []
        for id in fitting.keys.sorted() {
            guard let rows = fitting[id] else { continue }
            let sources = Set(rows.map { batch.kinds[Int(batch.kindOfRow[$0.row])].source.identity })
            guard sources.count == 1,
                let first = try rows.first(where: { row in
                    try !taken.contains(row.row) && SampleLookup.find(batch.ids[row.row], in: snapshot) == nil
                })
            else { continue }
            taken.insert(first.row)
            adoption.adopted.append(first)
        }
        // Each deleted sample is one of the peer's at most.
        var buried: Set<SampleID> = []
        for row in 0..<batch.count where !plan.careful[row] && !taken.contains(row) {
            guard let id = try deletedSample(row, of: batch, plan, besides: buried, in: snapshot) else { continue }
            buried.insert(id)
            adoption.deleted.append((row, id))
        }
        return adoption
    }

    /// Whether a stored row came from an export and is the sample of a row.
    private static func isSame(
        _ row: Int, of batch: SampleBatch, _ plan: ImportPlan, _ stored: StoredRow, _ lane: Lane, in snapshot: Snapshot
    ) throws -> Bool {
        guard DerivedID.isDerived(stored.id), NearRows.isNear(stored.end, batch.ends[row]) else { return false }
        let source = try NameTable.revision(stored.revision, in: snapshot).source
        let kind = plan.kinds[Int(batch.kindOfRow[row])]
        guard source.bundle.isEmpty, source.name == batch.kinds[Int(batch.kindOfRow[row])].source.name else {
            return false
        }
        var printed = Quantity(stored.value, try NameTable.unit(stored.unit, in: snapshot))
        if stored.rare?.content.original != nil,
            let original = try NameTable.sample(stored, lane.type, in: snapshot).original
        {
            printed = original.quantity
        }
        return PrintedValue(printed.value, printed.unit).isSame(
            as: PrintedValue(batch.values[row], kind.sampleUnit), bothPrinted: false, of: kind.sampleType)
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

    /// Lets the samples of exports leave, once the rows of the batch are stored.
    func finish(_ batch: SampleBatch, in txn: inout WriteTransaction) throws {
        for (row, derived) in adopted {
            let id = batch.ids[row]
            guard try txn.sample(id: id) != nil,
                let live = try Saving.settled(SampleLookup.find(derived.row.id, in: txn.snapshot), in: &txn)
            else { continue }
            let old = try NameTable.sample(live.row, live.lane.type, in: txn.snapshot)
            if old.original != nil || !old.local.isEmpty {
                try txn.overlay(id: id) { sample in
                    sample.local = old.local
                    guard old.original != nil else { return }
                    (sample.start, sample.end, sample.quantity) = (old.start, old.end, old.quantity)
                    (sample.metadata, sample.isUserEntered) = (old.metadata, old.isUserEntered)
                }
            }
            let last = try Overlays.lastChange(of: live, in: txn).version
            try Deleting.deleteRows([LeavingRow(live, version: last)], in: &txn)
            try TombstoneTable.forgetPlace(of: derived.row.id, in: &txn)
        }
        for (row, id) in deleted {
            guard try txn.delete(id: batch.ids[row], takesRoutes: false) else { continue }
            try TombstoneTable.forgetPlace(of: id, in: &txn)
        }
    }
}
