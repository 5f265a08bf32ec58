import ColumnFormat

@testable import HealthKV

/// A fault planted in a store behind the model's back. The model must find each of them without the help of a check.
enum Fault: CaseIterable {
    /// The identity index loses one entry.
    case missingIdentity
    /// A deletion loses its tombstone.
    case missingTombstone
    /// A chunk loses one row.
    case missingRow
    /// A row's value changes in its last bit.
    case changedValue
    /// A removal never happens: a deleted row is back in its chunk.
    case undoneRemoval
    /// A shadow mark is turned.
    case turnedShadow
    /// A count is off by one.
    case wrongCount
    /// A commit has no record in the feed.
    case missingChangeRecord

    /// What a check finds of it; `nil` where the tables still agree with each other, and only the model knows better.
    var finding: Finding.Kind? {
        switch self {
        case .missingIdentity, .undoneRemoval: .identityMissing
        case .missingRow, .wrongCount: .countsWrong
        case .turnedShadow: .shadowWrong
        case .missingChangeRecord: .changeMissing
        case .missingTombstone, .changedValue: nil
        }
    }
}

extension ModelRun {
    /// Plants a fault in one random place; answers false where the store has none for it now.
    func plant(_ fault: Fault) throws -> Bool {
        faults.insert(fault)
        note("planted: \(fault)")
        guard let sample = anyLive() else { return false }
        var isPlanted = false
        try store.core.transact { txn in
            guard let found = try SampleLookup.find(sample.id, in: txn.snapshot) else { return }
            switch fault {
            case .missingIdentity:
                guard let entry = IdentityIndex.entries(of: found.row, found.lane, in: txn).first else { return }
                try IdentityIndex.addRecent(entry, -1, in: &txn)
            case .missingTombstone:
                guard let id = model.gravesByID.keys.sorted().first else { return }
                guard try txn.remove(.tombstones, TombstoneTable.key(id)) else { return }
            case .missingRow: try rewrite(&txn, found) { rows, index in rows.remove(at: index) }
            case .changedValue:
                try rewrite(&txn, found) { rows, index in
                    rows[index].value = Double(bitPattern: rows[index].value.bitPattern ^ 1)
                }
            case .undoneRemoval:
                var row = found.row
                row.id = SampleID(using: &random)
                row.flags.remove(.derivedID)
                try LaneWriter.apply(found.lane, inserts: [row], in: &txn)
            case .turnedShadow:
                var row = found.row
                row.flags.formSymmetricDifference(.shadowed)
                try ShadowMarks.replaceMarks(found.lane, [row], in: &txn)
            case .wrongCount:
                var counts = try SummaryTable.counts(of: found.lane.type, in: txn.snapshot)
                counts.sources[counts.sources.keys.sorted()[0]]!.samples += 1
                txn.context.state.counts[found.lane.type] = counts
                txn.state.isChanged = true
            case .missingChangeRecord:
                guard try txn.remove(.changes, ChangeLog.key(found.row.commit)) else { return }
            }
            isPlanted = true
        }
        return isPlanted
    }

    /// Writes the chunk of a row again, changed, without a word to anyone.
    private func rewrite(
        _ txn: inout WriteTransaction, _ found: FoundRow, _ change: (inout [StoredRow], Int) -> Void
    ) throws {
        let chunk = try ChunkTable.load(found.lane, found.row.point, in: txn.snapshot)
        var rows = chunk.rows + chunk.purged
        rows.sort { $0.point < $1.point }
        change(&rows, rows.firstIndex { $0.id == found.row.id }!)
        try ChunkTable.write(chunk.bounds, rows, exists: true, in: &txn)
    }
}
