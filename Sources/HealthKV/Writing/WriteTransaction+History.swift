import ColumnFormat
import HealthModel

extension WriteTransaction {
    /// Imports rows of a file that has no ids. Rows that the store holds in whatever unit are left as they are, rows
    /// that were deleted here stay away, and the rest is imported; see ``HistoryMatching``.
    ///
    /// - Parameter batch: its ids are derived from content, apart from those that the file names. A clock's time is the
    ///   time at which the file says that a sample was written; its replica is not used.
    package mutating func importHistory(_ batch: SampleBatch, _ run: HistoryRun) throws -> ImportReport {
        guard !batch.isEmpty else { return ImportReport() }
        try batch.validate()
        return try whole { txn in
            let plan = try Importing.plan(batch, in: &txn)
            var matching = HistoryMatching(batch, plan, run)
            try matching.match(in: txn.snapshot)
            var report = ImportReport()
            let rest = try txn.newRows(of: batch, matching, &report)
            if !rest.isEmpty { report += try Importing.importValid(rest, in: &txn) }
            for (row, found) in matching.ungrouped {
                guard let group = batch.extras[row]?.group, try txn.join(group, found) else { continue }
                report.unchanged -= 1
                report.replaced += 1
            }
            run.knowledge = matching.knowledge
            return report
        }
    }

    /// Returns the rows that are new, with clocks of this store.
    private mutating func newRows(
        of batch: SampleBatch, _ matching: HistoryMatching, _ report: inout ImportReport
    ) throws -> SampleBatch {
        var rest = SampleBatch()
        rest.reserveCapacity(batch.count)
        let kinds = batch.kinds.map {
            rest.kind(
                $0.type, $0.unit, source: $0.source, origin: $0.origin, isUserEntered: $0.isUserEntered,
                device: $0.device)
        }
        let (now, replica) = (environment.now(), state.header.replica)
        for row in 0..<batch.count {
            if matching.held[row] { report.unchanged += 1 } else if matching.deleted[row] { report.vetoed += 1 }
            if matching.held[row] || matching.deleted[row] { continue }
            // A file may say that a sample was written in the future; the clocks of the store do not follow it.
            let written = batch.modified(at: row).map { ChangeClock(time: min($0.time, now), replica: replica) }
            rest.append(
                kind: kinds[Int(batch.kindOfRow[row])], start: Instant(nanoseconds: batch.starts[row]),
                end: Instant(nanoseconds: batch.ends[row]), value: batch.values[row],
                id: matching.versions[row] ?? batch.ids[row], modified: written)
            guard !batch.extras.isEmpty, var rare = batch.extras[row] else { continue }
            if rare.modified != nil { rare.modified = written }
            rest.setExtras(rare, row: rest.count - 1)
        }
        return rest
    }

    /// Makes a sample that came alone a member of a group. It keeps the time at which it was written.
    private mutating func join(_ group: String, _ found: FoundRow) throws -> Bool {
        guard let held = try SampleLookup.find(found.row.id, in: snapshot), !held.isHidden else { return false }
        var sample = try NameTable.sample(held.row, held.lane.type, in: snapshot)
        guard sample.group == nil else { return false }
        sample.group = group
        sample.version = Sample.version(after: sample.version)
        return try Saving.store(sample, rule: .merge, in: &self) == .replaced
    }
}
