import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Imports a batch. Checks every identity: rows that the store knows, or that share an identity, are saved one by
    /// one by the rules of ``save(_:)-(Sample)``; all others go directly into chunks.
    ///
    /// Identical rows without ids are numbered within the batch; across batches give them a
    /// `SampleBatch.Extras.multiplicity`. The sources of the batch's kinds become known in their order, which ranks
    /// them, including kinds without rows.
    @discardableResult
    public mutating func importBatch(_ batch: SampleBatch) throws -> ImportReport {
        guard !batch.kinds.isEmpty else { return ImportReport() }
        try batch.validate()
        return try whole { try $0.importValid(batch) }
    }

    /// Imports a batch that a peer's feed delivered, in the order of the feed. The caller has checked
    /// `SampleBatch.isStorable`. A peer gives no time of writing: its samples count as written at their end, or at
    /// the last complete read of the feed before they arrived if that is later (SEMANTICS C2). Among samples written at
    /// the same time, the last one in the feed wins.
    ///
    /// - Parameters:
    ///   - lastLook: the time at which the feed was last read to its end; `nil` if it never was.
    ///   - ordersHeld: whether to reorder samples that are already stored as well, because they arrived outside the
    ///     feed.
    package mutating func importFeed(
        _ batch: SampleBatch, lastLook: Instant?, ordersHeld: Bool = false
    ) throws -> ImportReport {
        guard !batch.kinds.isEmpty else { return ImportReport() }
        return try whole { txn in
            // The last read cannot be in the future, even if the clock was wrong then.
            let time = lastLook.map { min($0, txn.tick().time) } ?? .beforeAnyLook
            txn.state.importClock = ChangeClock(time: time, replica: txn.state.header.replica)
            defer { txn.state.importClock = nil }
            let first = txn.state.ordinal
            let report = try txn.importValid(batch)
            try txn.orderAsFed(batch, written: time, behind: ordersHeld ? nil : first)
            return report
        }
    }

    /// Several imported samples can compete for one place in the merged view and count as written at the same time.
    /// Gives them clocks in the order of the feed.
    private mutating func orderAsFed(_ batch: SampleBatch, written: Instant, behind first: UInt32?) throws {
        var contested: [UInt32?] = []
        for kind in batch.kinds {
            let type = try NameTable.number(of: kind.type, in: &self)
            // If a type has rivals, all but one of them are shadowed.
            contested.append(
                try ShadowMarks.shadows(type, in: self) && SummaryTable.counts(of: type, in: snapshot).shadowed > 0
                    ? type : nil)
        }
        guard contested.contains(where: { $0 != nil }) else { return }
        for index in 0..<batch.count {
            guard let type = contested[Int(batch.kindOfRow[index])] else { continue }
            let (start, end) = (batch.starts[index], batch.ends[index])
            let rivals = try ShadowMarks.rows(
                Lane(type: type, duration: DurationClass(start: start, end: end)), start: start, end: end, in: snapshot)
            guard rivals.count > 1, let row = try self.row(index, of: batch, among: rivals, type),
                first.map({ row.commit == commit && row.ordinal >= $0 }) ?? true
            else { continue }
            let base = max(written.nanoseconds, end == .max ? .min : end)
            let places = base...base &+ WriteTransaction.placesAtOneTime
            let last = rivals.filter { $0.id != row.id && $0.flags.contains(.imported) && places.contains($0.written) }
                .map(\.written).max()
            guard let last, places.contains(row.written), row.written <= last,
                let found = try SampleLookup.find(row.id, in: snapshot)
            else { continue }
            var moved = found.row
            (moved.clockTime, moved.clockReplica) = (last &+ 1, state.header.replica)
            (moved.commit, moved.ordinal) = (commit, state.takeOrdinal())
            try replaceRow(found, by: moved, type: type, isSameContent: true)
        }
    }

    /// The maximum number of rivals written at the same time that get distinct clocks.
    private static let placesAtOneTime: Int64 = 4_096

    /// Returns the row under which a sample of a batch is stored.
    private func row(
        _ index: Int, of batch: SampleBatch, among rows: [StoredRow], _ type: UInt32
    ) throws -> StoredRow? {
        if let row = rows.first(where: { $0.id == batch.ids[index] }) { return row }
        guard let text = batch.extras[index]?.syncIdentifier else { return nil }
        let source = batch.kinds[Int(batch.kindOfRow[index])].source.identity
        return try rows.first { row in
            let sample = try NameTable.sample(row, type, in: snapshot)
            return sample.syncIdentifier == text && sample.source.identity == source
        }
    }

    private mutating func importValid(_ batch: SampleBatch) throws -> ImportReport {
        try checkRoom()
        var plan = try plan(batch)
        try markKnown(batch, &plan)
        var report = ImportReport()
        try settleUnchanged(batch, &plan, &report)
        if report.unchanged == batch.count { return report }
        let clock = state.importClock ?? tick()
        try insertPlain(batch, &plan, clock, &report)
        for row in 0..<batch.count where plan.careful[row] && !plan.settled[row] {
            var sample = batch.sample(at: row)
            sample.id = plan.ids[row]
            if let multiplicity = plan.multiplicities[row] { sample.multiplicity = multiplicity }
            if sample.source == .thisApp { sample.source = environment.source }
            // Content without an identity of its own must not revert a sample that was edited since.
            if batch.derivesIDs, sample.modified == nil, try settled(SampleLookup.find(sample.id, in: snapshot)) != nil
            {
                report.unchanged += 1
                continue
            }
            report.count(try store(sample, rule: sample.modified == nil ? .local : .merge))
        }
        return report
    }

    private mutating func plan(_ batch: SampleBatch) throws -> ImportPlan {
        var kinds: [ImportKind] = []
        for kind in batch.kinds {
            let source = kind.source == .thisApp ? environment.source : kind.source
            var flags: StoredRow.Flags = kind.isUserEntered ? .userEntered : []
            if kind.origin == .imported { flags.insert(.imported) }
            let (type, revision) = (
                try NameTable.number(of: kind.type, in: &self), try NameTable.number(ofRevision: source, in: &self)
            )
            guard let prefix = context.derivedPrefix(type: type, revision: revision) else {
                throw snapshot.damaged("a source has no name")
            }
            kinds.append(
                ImportKind(
                    type: type, unit: try NameTable.number(of: kind.unit, in: &self), revision: revision, flags: flags,
                    prefix: prefix,
                    sampleType: kind.type, sampleUnit: kind.unit))
        }
        let ids = batch.derivesIDs ? ImportPlan.derivedIDs(batch, kinds) : batch.ids
        return ImportPlan(
            kinds: kinds, ids: ids, careful: [Bool](repeating: false, count: batch.count),
            settled: [Bool](repeating: false, count: batch.count))
    }

    /// Marks rows whose identity may be in the index, and rows of the batch that share an identity.
    private mutating func markKnown(_ batch: SampleBatch, _ plan: inout ImportPlan) throws {
        let key = state.header.hashKey
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
        for index in 1..<max(1, plan.hashes.count) where plan.hashes[index - 1].hash == plan.hashes[index].hash {
            plan.careful[Int(plan.hashes[index - 1].row)] = true
            plan.careful[Int(plan.hashes[index].row)] = true
        }
        try IdentityIndex.markIndexed(plan.hashes, &plan.careful, environment, in: snapshot)
        if batch.derivesIDs || plan.derived.contains(true), !state.intents.isEmpty { try markHidden(batch, &plan) }
    }

    /// Marks rows that unfinished mass operations removed. Those rows are not in the index, and their tombstones are
    /// not written yet, so nothing else would prevent an import from bringing them back.
    private mutating func markHidden(_ batch: SampleBatch, _ plan: inout ImportPlan) throws {
        for (lane, rows) in plan.lanes(batch) {
            let starts = batch.starts[Int(rows.first!)]...batch.starts[Int(rows.last!)]
            guard ChunkTable.mayHide(lane, starts, in: snapshot) else { continue }
            let hidden = try snapshot.hiddenPoints(lane, starts)
            for row in rows.map(Int.init) where !hidden.isEmpty {
                let point = Point(start: batch.starts[row], end: batch.ends[row], id: plan.ids[row])
                if hidden.contains(point) { plan.careful[row] = true }
            }
        }
    }

    /// Inserts the unknown rows into their lanes and adds their identities to the index. A derived id is not in the
    /// index, so a row already stored under one is found only here. If it has the same content it is unchanged;
    /// otherwise the row is marked as careful and saved one by one.
    private mutating func insertPlain(
        _ batch: SampleBatch, _ plan: inout ImportPlan, _ clock: ChangeClock, _ report: inout ImportReport
    ) throws {
        let window = environment.limits.importWindow
        var extraEntries: [IdentityEntry] = []
        for (lane, rows) in plan.lanes(batch) {
            var from = 0
            while from < rows.count {
                let part = rows[from..<min(rows.count, from + window)]
                from += part.count
                var made = try storedRows(part, of: batch, plan, clock)
                if batch.derivesIDs || !plan.derived.isEmpty {
                    var known = try snapshot.known(lane, made)
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
                    for row in made where row.rare != nil { appendRareEntries(row, lane, &extraEntries) }
                }
                try LaneWriter.apply(lane, inserts: made, in: &self)
                if try PeerQueues.hasQueues(in: &self) {
                    for row in made { try PeerQueues.queue(row, lane.type, .save, in: &self) }
                }
                report.inserted += made.count
            }
        }
        try index(batch, plan, extraEntries.sorted())
    }

    private func appendRareEntries(_ row: StoredRow, _ lane: Lane, _ entries: inout [IdentityEntry]) {
        var bare = row
        bare.flags.insert(.derivedID)
        IdentityIndex.appendEntries(of: bare, lane, to: &entries, in: self)
    }

    /// Adds the ids of the plain rows to the index, except derived ones. The hashes are already sorted.
    private mutating func index(_ batch: SampleBatch, _ plan: ImportPlan, _ others: [IdentityEntry]) throws {
        if batch.derivesIDs { return try IdentityIndex.addRuns(others, in: &self) }
        var entries: [IdentityEntry] = []
        entries.reserveCapacity(plan.hashes.count)
        for hashed in plan.hashes where !plan.careful[Int(hashed.row)] {
            let row = Int(hashed.row)
            if !plan.derived.isEmpty, plan.derived[row] { continue }
            // The list also holds hashes of sync identifiers; their entries are in `others`.
            if !batch.extras.isEmpty, batch.extras[row]?.syncIdentifier != nil,
                hashed.hash != IdentityEntry.hash(IdentityHash.of(plan.ids[row], state.header.hashKey))
            {
                continue
            }
            let lane = Lane(
                type: plan.kinds[Int(batch.kindOfRow[row])].type,
                duration: DurationClass(start: batch.starts[row], end: batch.ends[row]))
            entries.append(
                IdentityEntry(
                    hash: hashed.hash << IdentityEntry.quantumBits, start: batch.starts[row], lane: lane))
        }
        try IdentityIndex.addRuns(IdentityMerge.union(entries, others), in: &self)
    }

    private mutating func storedRows(
        _ part: ArraySlice<UInt32>, of batch: SampleBatch, _ plan: ImportPlan, _ clock: ChangeClock
    ) throws -> [StoredRow] {
        // The values that all rows of a kind share. Copy only numbers: retaining and releasing the names of types and
        // units would take longer than the rest of a row.
        let heads = plan.kinds.map { kind in
            let isAuthored = !kind.flags.contains(.imported)
            return (kind.unit, kind.revision, isAuthored ? kind.flags.union(.syncIsID) : kind.flags)
        }
        var rows: [StoredRow] = []
        rows.reserveCapacity(part.count)
        for index in part.lazy.map(Int.init) {
            let (unit, revision, flags) = heads[Int(batch.kindOfRow[index])]
            var row = StoredRow(
                start: batch.starts[index], end: batch.ends[index], id: plan.ids[index], value: batch.values[index],
                unit: unit, revision: revision, flags: flags, version: 1, clockTime: clock.time.nanoseconds,
                clockReplica: clock.replica, commit: commit, ordinal: state.takeOrdinal())
            if batch.derivesIDs || !plan.derived.isEmpty && plan.derived[index] { row.flags.insert(.derivedID) }
            let rare = batch.extras.isEmpty ? nil : batch.extras[index]
            if let modified = rare?.modified ?? (batch.clocks.isEmpty ? nil : batch.clocks[index]) {
                witness(modified)
                (row.clockTime, row.clockReplica) = (modified.time.nanoseconds, modified.replica)
            }
            if let rare { try set(rare, &row) }
            if let clock = rare?.original?.modified ?? rare?.reversion?.modified { witness(clock) }
            rows.append(row)
        }
        return rows
    }

    private mutating func set(_ rare: SampleBatch.Extras, _ row: inout StoredRow) throws {
        row.version = max(1, rare.version)
        row.device = try NameTable.number(of: rare.device, in: &self)
        row.count = Int32(rare.count)
        row.multiplicity = Int32(rare.multiplicity)
        var content = RareFields.Content(rare)
        if let text = rare.syncIdentifier {
            let isOwnText = text == row.id.description
            if isOwnText { row.flags.insert(.syncIsID) } else { row.flags.remove(.syncIsID) }
            content.syncIdentifier = isOwnText ? nil : text
        }
        row.rare = RareFields(content)
    }
}

/// The points of rows to import that a lane already holds.
struct KnownPoints {
    /// Points of rows with the same content.
    var same: Set<Point> = []
    /// Points of rows with other content, and of rows that an unfinished mass operation removed.
    var other: Set<Point> = []

    var isEmpty: Bool { same.isEmpty && other.isEmpty }
    func contains(_ point: Point) -> Bool { same.contains(point) || other.contains(point) }
}

extension Snapshot {
    /// Returns the points of `rows`, which are sorted by point, at which a lane already holds a row.
    func known(_ lane: Lane, _ rows: [StoredRow]) throws -> KnownPoints {
        guard let first = rows.first, let last = rows.last else { return KnownPoints() }
        var known = KnownPoints()
        var index = 0
        try ChunkTable.forEachChunk(lane, from: .at(first.start), to: .after(last.start), in: self) { chunk in
            guard chunk.rows > 0 else { return true }
            if try chunk.find(startingIn: first.start...last.start).rows.isEmpty { return true }
            let stored = try ChunkTable.allRows(chunk, in: self)
            let hides = try ChunkTable.hidden(stored, lane, in: self)
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
    func hiddenPoints(_ lane: Lane, _ starts: ClosedRange<Int64>) throws -> Set<Point> {
        var points: Set<Point> = []
        try ChunkTable.forEachChunk(lane, from: .at(starts.lowerBound), to: .after(starts.upperBound), in: self) {
            chunk in
            let rows = try ChunkTable.allRows(chunk, in: self)
            if let hides = try ChunkTable.hidden(rows, lane, in: self) {
                for row in rows where hides(row) { points.insert(row.point) }
            }
            return true
        }
        return points
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
