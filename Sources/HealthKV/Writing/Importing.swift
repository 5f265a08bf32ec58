import ColumnFormat
import HealthModel
import LMDB

/// The points of rows to import that a lane already holds.
struct KnownPoints {
    /// Points of rows with the same content.
    var same: Set<Point> = []
    /// Points of rows with other content, and of rows that an unfinished mass operation removed.
    var other: Set<Point> = []

    var isEmpty: Bool { same.isEmpty && other.isEmpty }
    func contains(_ point: Point) -> Bool { same.contains(point) || other.contains(point) }
}

/// The rules of bulk imports: the identities of a batch are compared with the index in one pass, rows that are
/// certainly new go straight into chunks, of several rows of one new sample the one that wins, and the others are saved
/// one by one.
enum Importing {
    /// Several imported samples can compete for one place in the merged view and count as written at the same time.
    /// Gives them clocks in the order of the feed.
    static func orderAsFed(
        _ batch: SampleBatch, written: Instant, behind first: UInt32?, in txn: inout WriteTransaction
    ) throws {
        var contested: [UInt32?] = []
        for kind in batch.kinds {
            let type = try NameTable.number(of: kind.type, in: &txn)
            // If a type has rivals, all but one of them are shadowed.
            contested.append(
                try ShadowMarks.shadows(type, in: txn) && SummaryTable.counts(of: type, in: txn.snapshot).shadowed > 0
                    ? type : nil)
        }
        guard contested.contains(where: { $0 != nil }) else { return }
        for index in 0..<batch.count {
            guard let type = contested[Int(batch.kindOfRow[index])] else { continue }
            let (start, end) = (batch.starts[index], batch.ends[index])
            let rivals = try ShadowMarks.rows(
                Lane(type: type, duration: DurationClass(start: start, end: end)), start: start, end: end,
                in: txn.snapshot)
            guard rivals.count > 1, let row = try Importing.row(index, of: batch, among: rivals, type, in: txn),
                first.map({ row.commit == txn.commit && row.ordinal >= $0 }) ?? true
            else { continue }
            let base = max(written.nanoseconds, end == .max ? .min : end)
            let places = base...base &+ Importing.placesAtOneTime
            let last = rivals.filter { $0.id != row.id && $0.flags.contains(.imported) && places.contains($0.written) }
                .map(\.written).max()
            guard let last, places.contains(row.written), row.written <= last,
                let found = try SampleLookup.find(row.id, in: txn.snapshot)
            else { continue }
            var moved = found.row
            (moved.clockTime, moved.clockReplica) = (last &+ 1, txn.state.header.replica)
            (moved.commit, moved.ordinal) = (txn.commit, txn.state.takeOrdinal())
            try Saving.replaceRow(found, by: moved, type: type, isSameContent: true, in: &txn)
        }
    }

    /// The maximum number of rivals written at the same time that get distinct clocks.
    private static let placesAtOneTime: Int64 = 4_096

    /// Returns the row under which a sample of a batch is stored.
    private static func row(
        _ index: Int, of batch: SampleBatch, among rows: [StoredRow], _ type: UInt32, in txn: borrowing WriteTransaction
    ) throws -> StoredRow? {
        if let row = rows.first(where: { $0.id == batch.ids[index] }) { return row }
        guard let text = batch.extras[index]?.syncIdentifier else { return nil }
        let source = batch.kinds[Int(batch.kindOfRow[index])].source.identity
        return try rows.first { row in
            let sample = try NameTable.sample(row, type, in: txn.snapshot)
            return sample.syncIdentifier == text && sample.source.identity == source
        }
    }

    static func importValid(_ batch: SampleBatch, in txn: inout WriteTransaction) throws -> ImportReport {
        try txn.checkRoom()
        var plan = try Importing.plan(batch, in: &txn)
        let copies = try markKnown(batch, &plan, in: &txn)
        var report = copies.report
        try settleUnchanged(batch, &plan, &report, in: txn)
        if report.unchanged == batch.count { return report }
        let clock = txn.state.importClock ?? txn.tick()
        try insertPlain(batch, &plan, copies, clock, &report, in: &txn)
        for row in copies.losers { if let clock = batch.modified(at: row) { txn.witness(clock) } }
        for row in 0..<batch.count where plan.careful[row] && !plan.settled[row] {
            var sample = batch.sample(at: row)
            sample.id = plan.ids[row]
            if let multiplicity = plan.multiplicities[row] { sample.multiplicity = multiplicity }
            // Content without an identity of its own must not revert a sample that was edited since.
            if batch.derivesIDs, sample.modified == nil,
                try Saving.settled(SampleLookup.find(sample.id, in: txn.snapshot), in: &txn) != nil
            {
                report.unchanged += 1
                continue
            }
            report.count(try Saving.store(sample, rule: sample.modified == nil ? .local : .merge, in: &txn))
        }
        return report
    }

    static func plan(_ batch: SampleBatch, in txn: inout WriteTransaction) throws -> ImportPlan {
        var kinds: [ImportKind] = []
        for kind in batch.kinds {
            let source = kind.source == .thisApp ? txn.environment.source : kind.source
            var flags: StoredRow.Flags = kind.isUserEntered ? .userEntered : []
            if kind.origin == .imported { flags.insert(.imported) }
            let (type, revision) = (
                try NameTable.number(of: kind.type, in: &txn), try NameTable.number(ofRevision: source, in: &txn)
            )
            guard let prefix = txn.context.derivedPrefix(type: type, revision: revision) else {
                throw txn.snapshot.damaged(.sourceNameless)
            }
            kinds.append(
                ImportKind(
                    type: type, unit: try NameTable.number(of: kind.unit, in: &txn), revision: revision, flags: flags,
                    device: try NameTable.number(of: kind.device, in: &txn), prefix: prefix,
                    derivedUnit: DerivedUnit(kind.unit, of: kind.type), sampleType: kind.type, sampleUnit: kind.unit))
        }
        let ids = batch.derivesIDs ? ImportPlan.derivedIDs(batch, kinds) : batch.ids
        return ImportPlan(
            kinds: kinds, ids: ids, careful: [Bool](repeating: false, count: batch.count),
            settled: [Bool](repeating: false, count: batch.count))
    }

    /// Marks rows whose identity may be in the index. Rows of the batch that share an identity become one row, or are
    /// marked as well.
    private static func markKnown(
        _ batch: SampleBatch, _ plan: inout ImportPlan, in txn: inout WriteTransaction
    ) throws -> BatchCopies {
        let key = txn.state.header.hashKey
        plan.hashes.reserveCapacity(batch.count)
        for row in 0..<batch.count {
            let hash = IdentityEntry.hash(IdentityHash.of(plan.ids[row], key))
            plan.hashes.append(HashedRow(hash: hash, row: UInt32(row)))
        }
        for (row, rare) in batch.extras {
            guard let text = rare.syncIdentifier else { continue }
            let id = SampleID(canonical: text)
            // If the sync identifier is the text of the row's own id, it is the default and needs no entry.
            if id == plan.ids[row] { continue }
            let hash = IdentityEntry.hash(IdentityHash.of(syncIdentifier: text, key))
            plan.hashes.append(HashedRow(hash: hash, row: UInt32(row)))
            // The text of another sample's id has the hash of that id. A derived id is not in the index, so look the
            // row up.
            if let id, DerivedID.isDerived(id) { plan.careful[row] = true }
        }
        HashedRow.sort(&plan.hashes)
        if batch.derivesIDs { plan.numberTwins(batch) } else { plan.markDerived(batch) }
        try IdentityIndex.markIndexed(plan.hashes, &plan.careful, txn.environment, in: txn.snapshot)
        let copies = try BatchCopies.fold(batch, &plan, in: txn)
        if batch.derivesIDs || plan.derived.contains(true), !txn.state.intents.isEmpty {
            try markHidden(batch, &plan, in: &txn)
        }
        return copies
    }

    /// Marks rows that unfinished mass operations removed. Those rows are not in the index, and their tombstones are
    /// not written yet, so nothing else would prevent an import from bringing them back.
    private static func markHidden(_ batch: SampleBatch, _ plan: inout ImportPlan, in txn: inout WriteTransaction)
        throws
    {
        for (lane, rows) in plan.lanes(batch) {
            let starts = batch.starts[Int(rows.first!)]...batch.starts[Int(rows.last!)]
            guard ChunkTable.mayHide(lane, starts, in: txn.snapshot) else { continue }
            let hidden = try hiddenPoints(lane, starts, in: txn.snapshot)
            for row in rows.map(Int.init) where !hidden.isEmpty {
                let point = Point(start: batch.starts[row], end: batch.ends[row], id: plan.ids[row])
                if hidden.contains(point) { plan.careful[row] = true }
            }
        }
    }

    /// Inserts the unknown rows into their lanes and adds their identities to the index. A derived id is not in the
    /// index, so a row already stored under one is found only here. If it has the same content it is unchanged;
    /// otherwise the row is marked as careful and saved one by one.
    private static func insertPlain(
        _ batch: SampleBatch, _ plan: inout ImportPlan, _ copies: BatchCopies, _ clock: ChangeClock,
        _ report: inout ImportReport, in txn: inout WriteTransaction
    ) throws {
        let window = txn.environment.limits.importWindow
        var extraEntries: [IdentityEntry] = []
        for (lane, rows) in plan.lanes(batch) {
            var from = 0
            while from < rows.count {
                let part = rows[from..<min(rows.count, from + window)]
                from += part.count
                var made = try storedRows(part, of: batch, plan, clock, in: &txn)
                if batch.derivesIDs || !plan.derived.isEmpty {
                    var known = try Importing.known(lane, made, in: txn.snapshot)
                    for (number, row) in zip(part, made) where known.contains(row.point) {
                        // A version or clock of its own takes part in the comparison, so equal content does not
                        // suffice.
                        if batch.saysMore(Int(number)), known.same.remove(row.point) != nil {
                            known.other.insert(row.point)
                        }
                        if known.other.contains(row.point) { plan.careful[Int(number)] = true }
                    }
                    report.unchanged += known.same.count
                    if !known.isEmpty { made.removeAll { known.contains($0.point) } }
                }
                if !batch.extras.isEmpty {
                    for row in made where row.rare?.syncIdentifier != nil || row.rare?.group != nil {
                        appendRareEntries(row, lane, &extraEntries, in: txn)
                    }
                }
                try LaneWriter.apply(lane, inserts: made, in: &txn)
                if try PeerQueues.hasQueues(in: &txn) {
                    for row in made { try PeerQueues.queue(row, lane.type, .save, in: &txn) }
                }
                report.inserted += made.count
            }
        }
        for row in copies.renamed where !plan.careful[row] {
            extraEntries.append(
                IdentityEntry(
                    hash: IdentityHash.of(plan.ids[row], txn.state.header.hashKey), start: batch.starts[row],
                    lane: lane(of: row, batch, plan)))
        }
        try index(batch, plan, extraEntries.sorted(), in: &txn)
    }

    private static func lane(of row: Int, _ batch: SampleBatch, _ plan: ImportPlan) -> Lane {
        Lane(
            type: plan.kinds[Int(batch.kindOfRow[row])].type,
            duration: DurationClass(start: batch.starts[row], end: batch.ends[row]))
    }

    private static func appendRareEntries(
        _ row: StoredRow, _ lane: Lane, _ entries: inout [IdentityEntry], in txn: borrowing WriteTransaction
    ) {
        var bare = row
        bare.flags.insert(.derivedID)
        IdentityIndex.appendIdentity(of: bare, lane, to: &entries, in: txn.snapshot)
    }

    /// Adds the ids of the plain rows to the index, except derived ones. The hashes are already sorted.
    private static func index(
        _ batch: SampleBatch, _ plan: ImportPlan, _ others: [IdentityEntry], in txn: inout WriteTransaction
    ) throws {
        if batch.derivesIDs { return try IdentityIndex.addRuns(others, in: &txn) }
        var entries: [IdentityEntry] = []
        entries.reserveCapacity(plan.hashes.count)
        for hashed in plan.hashes where !plan.careful[Int(hashed.row)] {
            let row = Int(hashed.row)
            if !plan.derived.isEmpty, plan.derived[row] { continue }
            // A row has the id of an earlier copy; the entry is in `others`.
            if plan.ids[row] != batch.ids[row] { continue }
            // The list also holds hashes of sync identifiers; their entries are in `others`.
            if !batch.extras.isEmpty, batch.extras[row]?.syncIdentifier != nil,
                hashed.hash != IdentityEntry.hash(IdentityHash.of(plan.ids[row], txn.state.header.hashKey))
            {
                continue
            }
            entries.append(
                IdentityEntry(
                    hash: hashed.hash << IdentityEntry.quantumBits, start: batch.starts[row],
                    lane: lane(of: row, batch, plan)))
        }
        try IdentityIndex.addRuns(IdentityMerge.union(entries, others), in: &txn)
    }

    private static func storedRows(
        _ part: ArraySlice<UInt32>, of batch: SampleBatch, _ plan: ImportPlan, _ clock: ChangeClock,
        in txn: inout WriteTransaction
    ) throws -> [StoredRow] {
        // The values that all rows of a kind share. Copy only numbers: retaining and releasing the names of types and
        // units would take longer than the rest of a row.
        let heads = plan.kinds.map { kind in
            let isAuthored = !kind.flags.contains(.imported)
            return (kind.unit, kind.revision, isAuthored ? kind.flags.union(.syncIsID) : kind.flags, kind.device)
        }
        var rows: [StoredRow] = []
        rows.reserveCapacity(part.count)
        var known = KnownRareFields()
        for index in part.lazy.map(Int.init) {
            let (unit, revision, flags, device) = heads[Int(batch.kindOfRow[index])]
            var row = StoredRow(
                start: batch.starts[index], end: batch.ends[index], id: plan.ids[index], value: batch.values[index],
                unit: unit, revision: revision, flags: flags, version: 1, clockTime: clock.time.nanoseconds,
                clockReplica: clock.replica, commit: txn.commit, ordinal: txn.state.takeOrdinal())
            row.device = device
            if batch.derivesIDs || !plan.derived.isEmpty && plan.derived[index] { row.flags.insert(.derivedID) }
            let rare = batch.extras.isEmpty ? nil : batch.extras[index]
            if let modified = rare?.modified ?? (batch.clocks.isEmpty ? nil : batch.clocks[index]) {
                txn.witness(modified)
                (row.clockTime, row.clockReplica) = (modified.time.nanoseconds, modified.replica)
            }
            if let rare { try set(rare, &row, &known, in: &txn) }
            if let clock = rare?.original?.modified ?? rare?.reversion?.modified { txn.witness(clock) }
            rows.append(row)
        }
        return rows
    }

    private static func set(
        _ rare: SampleBatch.Extras, _ row: inout StoredRow, _ known: inout KnownRareFields,
        in txn: inout WriteTransaction
    ) throws {
        row.version = max(1, rare.version)
        if let device = rare.device { row.device = try NameTable.number(of: device, in: &txn) }
        row.count = Int32(rare.count)
        row.multiplicity = Int32(rare.multiplicity)
        guard let text = rare.syncIdentifier else {
            row.rare = known.fields(of: rare)
            return
        }
        var content = RareFields.Content(rare)
        let isOwnText = text == row.id.description
        if isOwnText { row.flags.insert(.syncIsID) } else { row.flags.remove(.syncIsID) }
        content.syncIdentifier = isOwnText ? nil : text
        row.rare = RareFields(content)
    }

    /// Returns the points of `rows`, which are sorted by point, at which a lane already holds a row.
    static func known(_ lane: Lane, _ rows: [StoredRow], in snapshot: Snapshot) throws -> KnownPoints {
        guard let first = rows.first, let last = rows.last else { return KnownPoints() }
        var known = KnownPoints()
        var index = 0
        try ChunkTable.forEachChunk(lane, from: .at(first.start), to: .after(last.start), in: snapshot) { chunk in
            guard chunk.rows > 0 else { return true }
            if try chunk.find(startingIn: first.start...last.start).rows.isEmpty { return true }
            let stored = try ChunkTable.allRows(chunk, in: snapshot)
            let hides = try ChunkTable.hidden(stored, lane, in: snapshot)
            for row in stored {
                while index < rows.count, rows[index].point < row.point { index += 1 }
                guard index < rows.count, rows[index].point == row.point else { continue }
                if rows[index].bringsNothing(to: row), !(hides?(row) ?? false) {
                    known.same.insert(row.point)
                } else {
                    known.other.insert(row.point)
                }
            }
            return true
        }
        return known
    }

    /// Returns the points of a lane's rows, in a range of starts, that unfinished mass operations hide.
    static func hiddenPoints(_ lane: Lane, _ starts: ClosedRange<Int64>, in snapshot: Snapshot) throws -> Set<Point> {
        var points: Set<Point> = []
        try ChunkTable.forEachChunk(lane, from: .at(starts.lowerBound), to: .after(starts.upperBound), in: snapshot) {
            chunk in
            let rows = try ChunkTable.allRows(chunk, in: snapshot)
            if let hides = try ChunkTable.hidden(rows, lane, in: snapshot) {
                for row in rows where hides(row) { points.insert(row.point) }
            }
            return true
        }
        return points
    }

    // A repeated import consists mostly of samples that the store already holds. They are compared chunk by chunk,
    // because looking up each sample would cost more than importing it did.

    /// Counts and marks the careful rows that the store holds at the same point with equal content.
    static func settleUnchanged(
        _ batch: SampleBatch, _ plan: inout ImportPlan, _ report: inout ImportReport, in txn: borrowing WriteTransaction
    ) throws {
        guard plan.careful.count(where: { $0 }) > 256 else { return }
        var candidates = plan
        candidates.careful = plan.careful.indices.map { !plan.careful[$0] || batch.saysMore($0) }
        for (lane, rows) in candidates.lanes(batch) {
            var index = 0
            guard let first = rows.first, let last = rows.last else { continue }
            let starts = (batch.starts[Int(first)], batch.starts[Int(last)])
            let snapshot = txn.snapshot
            var settled: [Int] = []
            try ChunkTable.forEachChunk(lane, from: .at(starts.0), to: .after(starts.1), in: snapshot) { chunk in
                // Rows of the batch before this chunk have no counterpart.
                while index < rows.count, plan.point(batch, Int(rows[index])) < chunk.key.lower { index += 1 }
                guard index < rows.count else { return false }
                guard chunk.rows > 0, plan.point(batch, Int(rows[index])) < chunk.upper else { return true }
                for stored in try ChunkTable.visibleRows(chunk, in: snapshot) {
                    let point = stored.point
                    while index < rows.count, plan.point(batch, Int(rows[index])) < point { index += 1 }
                    // Identical rows of one batch share a point.
                    var twin = index
                    while twin < rows.count, plan.point(batch, Int(rows[twin])) == point {
                        if plan.isUnchanged(batch, Int(rows[twin]), stored) { settled.append(Int(rows[twin])) }
                        twin += 1
                    }
                }
                return true
            }
            for row in settled { plan.settled[row] = true }
            report.unchanged += settled.count
        }
    }
}

/// The rare fields that were encoded last. Thousands of samples of one source have the same ones.
private struct KnownRareFields {
    private var last: [(extras: SampleBatch.Extras, fields: RareFields?)] = []
    private var next = 0

    private static let most = 8

    mutating func fields(of extras: SampleBatch.Extras) -> RareFields? {
        if let known = last.first(where: { $0.extras.identity == extras.identity }) { return known.fields }
        let fields = RareFields(RareFields.Content(extras))
        if last.count < KnownRareFields.most {
            last.append((extras, fields))
        } else {
            last[next] = (extras, fields)
            next = (next + 1) % KnownRareFields.most
        }
        return fields
    }
}

extension StoredRow {
    /// Returns `true` if a row to import has no rare fields and says nothing that the stored row does not.
    fileprivate func bringsNothing(to stored: StoredRow) -> Bool {
        value.bitPattern == stored.value.bitPattern && unit == stored.unit && revision == stored.revision
            && flags.contains(.userEntered) == stored.flags.contains(.userEntered) && device == stored.device
            && count == stored.count && multiplicity == stored.multiplicity && rare == nil
            && !(stored.rare?.saysMore ?? false)
    }
}

extension ImportPlan {
    func point(_ batch: SampleBatch, _ row: Int) -> Point {
        Point(start: batch.starts[row], end: batch.ends[row], id: ids[row])
    }

    /// Returns `true` if a row without rare fields equals a stored row.
    fileprivate func isUnchanged(_ batch: SampleBatch, _ row: Int, _ stored: StoredRow) -> Bool {
        let kind = kinds[Int(batch.kindOfRow[row])]
        return stored.value.bitPattern == batch.values[row].bitPattern && stored.unit == kind.unit
            && stored.revision == kind.revision
            && stored.flags.contains(.userEntered) == kind.flags.contains(.userEntered) && stored.device == kind.device
            && stored.count == 1 && Int(stored.multiplicity) == (multiplicities[row] ?? 0)
            && !(stored.rare?.saysMore ?? false)
    }
}
