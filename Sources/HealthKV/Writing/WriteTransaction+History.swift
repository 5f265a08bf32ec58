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
            try matching.match(txn.environment, in: txn.snapshot)
            var report = ImportReport()
            let rest = try txn.newRows(of: batch, matching, &report)
            // Before other rows change: what was found is still as it was found.
            let others = try txn.joinPlain(matching, of: batch, &report)
            if !rest.isEmpty { report += try Importing.importValid(rest, in: &txn) }
            for (row, found) in others {
                guard let group = matching.group(of: row), try txn.join(group, found) else { continue }
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
        let (now, replica) = (environment.now(), state.header.replica)
        // A file may say that a sample was written in the future; the clocks of the store do not follow it. Where it
        // says that one was written before its end, a clock without a replica says so, too (SEMANTICS C2).
        func written(_ clock: ChangeClock, _ row: Int) -> ChangeClock {
            let isBeforeEnd = batch.ends[row] != .max && clock.time.nanoseconds < batch.ends[row]
            return ChangeClock(time: min(clock.time, now), replica: isBeforeEnd ? 0 : replica)
        }
        if !matching.held.contains(true), !matching.deleted.contains(true), matching.versions.isEmpty,
            matching.renumbered.isEmpty
        {
            var all = batch
            all.mapClocks(written)
            return all
        }
        var rest = SampleBatch()
        rest.reserveCapacity(batch.count)
        let kinds = batch.kinds.map {
            rest.kind(
                $0.type, $0.unit, source: $0.source, origin: $0.origin, isUserEntered: $0.isUserEntered,
                device: $0.device)
        }
        for row in 0..<batch.count {
            if matching.held[row] { report.unchanged += 1 } else if matching.deleted[row] { report.vetoed += 1 }
            if matching.held[row] || matching.deleted[row] { continue }
            let clock = batch.modified(at: row).map { written($0, row) }
            rest.append(
                kind: kinds[Int(batch.kindOfRow[row])], start: Instant(nanoseconds: batch.starts[row]),
                end: Instant(nanoseconds: batch.ends[row]), value: batch.values[row],
                id: matching.versions[row] ?? matching.renumbered[row]?.id ?? batch.ids[row], modified: clock)
            guard !batch.extras.isEmpty, var rare = batch.extras[row] else { continue }
            if rare.modified != nil { rare.modified = clock }
            if let least = matching.leastVersions[row] { rare.version = max(rare.version, least) }
            if let twin = matching.renumbered[row]?.twin { rare.multiplicity = twin }
            if rare.group != nil { rare.group = matching.group(of: row) }
            rest.setExtras(rare, row: rest.count - 1)
        }
        return rest
    }

    /// Makes samples that came alone members of groups, as ``join(_:_:)`` does one by one, but writes each chunk once.
    /// Returns those that are more than an import, and those that a later version replaces in the same batch.
    private mutating func joinPlain(
        _ matching: HistoryMatching, of batch: SampleBatch, _ report: inout ImportReport
    ) throws -> [(row: Int, found: FoundRow)] {
        if !matching.ungrouped.isEmpty { try checkRoom() }
        let replaced = Set(matching.versions.values)
        var others: [(row: Int, found: FoundRow)] = []
        var members: [Lane: [Point: (old: StoredRow, new: StoredRow)]] = [:]
        for (row, found) in matching.ungrouped {
            var content = found.row.rare?.content ?? RareFields.Content()
            guard content.original == nil, content.reversion == nil, !replaced.contains(found.row.id) else {
                others.append((row, found))
                continue
            }
            guard members[found.lane]?[found.row.point] == nil else { continue }
            content.group = matching.group(of: row)
            var member = found.row
            if content.syncIdentifier == nil, !member.flags.contains(.syncIsID) {
                member.version = Sample.version(after: member.version)
            }
            member.rare = RareFields(content)
            (member.commit, member.ordinal) = (commit, state.takeOrdinal())
            members[found.lane, default: [:]][member.point] = (found.row, member)
            report.unchanged -= 1
            report.replaced += 1
        }
        for lane in members.keys.sorted() {
            let rows = members[lane]!.values.map(\.new).sorted { $0.point < $1.point }
            try LaneWriter.apply(lane, inserts: rows, in: &self)
            for row in rows { try PeerQueues.queue(row, lane.type, .save, in: &self) }
        }
        try IdentityIndex.indexingTogether(in: &self) { txn in
            for (lane, rows) in members.sorted(by: { $0.key < $1.key }) {
                for row in rows.values {
                    try IdentityIndex.reindex(from: (row.old, lane), to: (row.new, lane), in: &txn)
                }
            }
        }
        return others
    }

    /// Makes a sample that came alone a member of a group. It keeps the time at which it was written. Its version
    /// rises, by which other stores see that this is the later form; but where the source gave the version, to tell its
    /// own edits by, it stays.
    private mutating func join(_ group: String, _ found: FoundRow) throws -> Bool {
        guard let held = try SampleLookup.find(found.row.id, in: snapshot), !held.isHidden else { return false }
        var sample = try NameTable.sample(held.row, held.lane.type, in: snapshot)
        guard sample.group == nil else { return false }
        sample.group = group
        if sample.syncIdentifier == nil { sample.version = Sample.version(after: sample.version) }
        return try Saving.store(sample, rule: .merge, in: &self) == .replaced
    }
}
