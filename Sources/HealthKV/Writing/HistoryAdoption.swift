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
        let others = (0..<batch.count).filter { !plan.careful[$0] && !taken.contains($0) }
        try adoption.findDeleted(others, of: batch, plan, in: snapshot) {
            try SampleLookup.find(batch.ids[$0], in: snapshot) == nil
        }
        return adoption
    }

    /// Finds the samples from exports that are here under their own ids as well, among those that another store
    /// brought and those that it brought the own ids of. They are stored already.
    ///
    /// Each store decides for itself, and in whatever order the samples come, the same ones leave: the first of equal
    /// samples of an export leaves if one sample of the peer fits, the second one if two fit.
    static func find(brought: [Sample], in txn: inout WriteTransaction) throws -> HistoryAdoption {
        var adoption = HistoryAdoption()
        var names: [String: (isExported: Bool, isOfPeer: Bool)] = [:]
        func sources(named name: String) throws -> (isExported: Bool, isOfPeer: Bool) {
            if let known = names[name] { return known }
            var found = (isExported: false, isOfPeer: false)
            for number in try NameTable.numbers(meantBy: SourceIdentity(name: name), in: txn.snapshot) {
                if try NameTable.source(number, in: txn.snapshot).bundle.isEmpty {
                    found.isExported = true
                } else {
                    found.isOfPeer = true
                }
            }
            names[name] = found
            return found
        }
        var exported: [SampleID: Sample] = [:]
        var ofPeer = SampleBatch()
        for sample in brought {
            let (name, isNameless) = (sample.source.name, sample.source.bundle.isEmpty)
            if DerivedID.isDerived(sample.id) {
                if isNameless, sample.origin == .imported, try sources(named: name).isOfPeer {
                    exported[sample.id] = sample
                }
            } else if !isNameless, try sources(named: name).isExported {
                ofPeer.append(sample.asImported)
            }
        }
        if !ofPeer.isEmpty {
            let plan = try Importing.plan(ofPeer, in: &txn)
            let snapshot = txn.snapshot
            for (lane, rows) in plan.lanes(ofPeer) {
                try NearRows.forEach(lane, rows, of: ofPeer, in: snapshot) { row, stored, lane in
                    guard exported[stored.id] == nil,
                        try isExported(row, of: ofPeer, plan, stored, lane, in: snapshot)
                    else { return }
                    exported[stored.id] = try NameTable.sample(stored, lane.type, in: snapshot)
                }
            }
            try adoption.findDeleted(Array(0..<ofPeer.count), of: ofPeer, plan, in: snapshot) { _ in true }
        }
        try adoption.findPeers(of: exported, in: &txn)
        return adoption
    }

    /// Finds the samples of a peer that samples from exports are.
    private mutating func findPeers(of exported: [SampleID: Sample], in txn: inout WriteTransaction) throws {
        guard !exported.isEmpty else { return }
        var batch = SampleBatch()
        for id in exported.keys.sorted() { batch.append(exported[id]!.asImported) }
        let plan = try Importing.plan(batch, in: &txn)
        let snapshot = txn.snapshot
        var fitting: [Int: [(id: SampleID, source: SourceIdentity)]] = [:]
        for (lane, rows) in plan.lanes(batch) {
            try NearRows.forEach(lane, rows, of: batch, in: snapshot) { row, stored, lane in
                let source = try NameTable.revision(stored.revision, in: snapshot).source
                guard !DerivedID.isDerived(stored.id), !source.bundle.isEmpty,
                    try HistoryAdoption.isSame(
                        printed: row, of: batch, plan, source.name, stored.end,
                        HistoryAdoption.imported(stored, lane, in: snapshot))
                else { return }
                fitting[row, default: []].append((stored.id, source.identity))
            }
        }
        for row in fitting.keys.sorted() {
            let peers = fitting[row]!.sorted { $0.id < $1.id }
            let number = batch.extras[row]?.multiplicity ?? 0
            // Where an app's name tells equal samples apart, their number counts nothing.
            let twin = number < 1 << 30 ? number : 0
            guard Set(peers.map(\.source)).count == 1, twin < peers.count else { continue }
            adopted.append((peers[twin].id, batch.ids[row]))
        }
    }

    /// Notes which rows were deleted here under the ids of an export. Each deleted sample is one of the peer's at most.
    private mutating func findDeleted(
        _ rows: [Int], of batch: SampleBatch, _ plan: ImportPlan, in snapshot: Snapshot,
        where isNew: (Int) throws -> Bool
    ) throws {
        var taken: Set<SampleID> = []
        for row in rows {
            guard let id = try HistoryAdoption.deletedSample(row, of: batch, plan, besides: taken, in: snapshot),
                try isNew(row), try TombstoneTable.tombstone(batch.ids[row], in: snapshot) == nil
            else { continue }
            taken.insert(id)
            deleted.append((batch.ids[row], id))
        }
    }

    /// Whether a stored row came from an export and is the sample of a row.
    private static func isExported(
        _ row: Int, of batch: SampleBatch, _ plan: ImportPlan, _ stored: StoredRow, _ lane: Lane, in snapshot: Snapshot
    ) throws -> Bool {
        guard DerivedID.isDerived(stored.id) else { return false }
        let source = try NameTable.revision(stored.revision, in: snapshot).source
        let kind = plan.kinds[Int(batch.kindOfRow[row])]
        let value = Quantity(batch.values[row], kind.sampleUnit)
        return try source.bundle.isEmpty && source.name == batch.kinds[Int(batch.kindOfRow[row])].source.name
            && NearRows.isNear(stored.end, batch.ends[row])
            && isSame(printed: imported(stored, lane, in: snapshot), exact: value, of: kind.sampleType)
    }

    /// Whether a row of an export has the name, the end and the value of a peer's sample.
    private static func isSame(
        printed row: Int, of batch: SampleBatch, _ plan: ImportPlan, _ name: String, _ end: Int64, _ value: Quantity
    ) -> Bool {
        let kind = plan.kinds[Int(batch.kindOfRow[row])]
        return name == batch.kinds[Int(batch.kindOfRow[row])].source.name && NearRows.isNear(end, batch.ends[row])
            && isSame(printed: Quantity(batch.values[row], kind.sampleUnit), exact: value, of: kind.sampleType)
    }

    private static func isSame(printed: Quantity, exact: Quantity, of type: SampleType) -> Bool {
        PrintedValue(printed.value, printed.unit).isSame(
            as: PrintedValue(exact.value, exact.unit), bothPrinted: false, of: type)
    }

    /// Returns the value that a stored row was imported with.
    private static func imported(_ stored: StoredRow, _ lane: Lane, in snapshot: Snapshot) throws -> Quantity {
        if stored.rare?.content.original != nil,
            let original = try NameTable.sample(stored, lane.type, in: snapshot).original
        {
            return original.quantity
        }
        return Quantity(stored.value, try NameTable.unit(stored.unit, in: snapshot))
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
        return found
    }

    /// Lets the samples of exports leave, once the peer's samples are stored.
    func finish(in txn: inout WriteTransaction) throws {
        for (id, derived) in adopted {
            guard let shown = try txn.sample(id: id),
                let live = try Saving.settled(SampleLookup.find(derived, in: txn.snapshot), in: &txn)
            else { continue }
            let old = try NameTable.sample(live.row, live.lane.type, in: txn.snapshot)
            // Of two edits the later one stays.
            let (written, writtenBefore) = (shown.modified ?? .unknown, old.modified ?? .unknown)
            if old.isEditedImport, !shown.isEditedImport || written < writtenBefore {
                let outcome = try txn.overlay(id: id) { sample in
                    sample.local = old.local
                    guard old.original != nil else { return }
                    (sample.start, sample.end, sample.quantity) = (old.start, old.end, old.quantity)
                    (sample.metadata, sample.isUserEntered) = (old.metadata, old.isUserEntered)
                }
                // Nothing lies over a sample that was written here. So both stay.
                if outcome == nil { continue }
            }
            let last = try Overlays.lastChange(of: live, in: txn).version
            try Deleting.deleteRows([LeavingRow(live, version: last)], in: &txn)
            try TombstoneTable.forgetPlace(of: derived, in: &txn)
        }
        for (id, derived) in deleted {
            guard try txn.delete(id: id, takesRoutes: false) else { continue }
            try TombstoneTable.forgetPlace(of: derived, in: &txn)
        }
    }
}

extension Sample {
    /// Whether an edit or a note lies over the import.
    fileprivate var isEditedImport: Bool { original != nil || !local.isEmpty }

    /// Returns the times and the value with which the sample was imported.
    fileprivate var asImported: Sample {
        guard let original else { return self }
        var sample = self
        (sample.start, sample.end, sample.quantity) = (original.start, original.end, original.quantity)
        sample.original = nil
        return sample
    }
}
