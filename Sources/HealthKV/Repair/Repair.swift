import ColumnFormat
import HealthModel
import LMDB
import PageReader
import Salvage

/// Builds a new store of everything that can be saved of a damaged one.
///
/// The original is opened for reading only, and never mapped as LMDB's. Values that are whole are taken as they are;
/// what is left of others is decoded row by row. The new store takes a new epoch, so that its peers compare before
/// anything is sent.
struct Repair {
    let folder: String
    let options: RepairOptions
    let step: () throws -> Void
    private(set) var report: RepairReport
    /// What a sealed store is bound to, and what proves its key; `nil` for a store that is not sealed.
    private var sealed: SalvagedTables.Seal?
    /// What opens and seals values, likewise.
    private var bodies: SealedBodies?

    init(_ folder: String, _ options: RepairOptions, step: @escaping () throws -> Void) {
        (self.folder, self.options, self.step) = (folder, options, step)
        report = RepairReport(source: folder)
        report.includesDoubtful = options.includesDoubtful
    }

    private var rules: SalvageRules {
        let bodies = bodies
        return SalvageRules(
            headerKey: StoreHeader.key, sessionsKey: SessionTable.key, mends: options.mends,
            asksSessions: options.asksSessions,
            facts: { bytes in
                (try? StoreHeader(bytes.rawBytes)).map {
                    HeaderFacts(transaction: $0.transaction, stamp: $0.stamp, recordSum: $0.recordSum)
                }
            },
            otherFormat: { StoreHeader.otherFormat($0.rawBytes) },
            ended: { try? SessionTable.ended($0.rawBytes) },
            term: { table, key, commit in
                RecordSum.covers(table, key) ? RecordSum.term(table, key, commit: commit) : nil
            },
            opened: { bytes in
                guard let bodies else { return bytes }
                do { return try bodies.opened(bytes.rawBytes) ?? bytes } catch { return nil }
            })
    }

    /// Builds the new store in an empty folder that no one else knows.
    mutating func run(into partial: String) throws {
        let salvage = try search()
        var (gaps, remains): ([SalvagedTables.Gap], [SalvagedRows.Remains]) = ([], [])
        let records: [ChangeRecord]
        do {
            records = try copy(salvage, into: partial, &gaps, &remains)
        } catch let error as FormatError where error.code == .sealed && options.sealer == nil {
            var refusal = StoreError(
                .wrongKey, path: folder, "The store is sealed, and no sealer was given", underlying: error)
            refusal.remedy =
                "Repair it in the app that has the key, by SampleStore.repair with its sealer. Nothing was changed."
            throw refusal
        }
        try rebuild(partial, salvage, gaps, remains, records)
        if !report.check.isClean { try rebuildAgain(partial) }
        report.isSound = report.isSound && !report.isLossy
    }

    // MARK: The search

    /// A live writer may reuse the pages of the snapshot that is being read.
    private static let attempts = 5

    private mutating func search() throws -> Salvage {
        let file = try PageFile(ofUnlinkedStore: folder)
        for attempt in 1...Repair.attempts {
            let metas = MetaPages(settled: file)
            if let failure = metas.failure { throw StoreError.unreadable(folder, failure) }
            if metas.pages == [nil, nil], file.isOfOtherKind { throw StoreError.otherFile(folder) }
            do {
                if let sealer = options.sealer {
                    bodies = nil
                    let id = try SealedIdentity.find(folder, file, metas, sealer, rules, step)
                    sealed = SalvagedTables.Seal(store: id, record: try SealRecord(sealing: sealer))
                    bodies = SealedBodies(sealer, of: id)
                }
                let salvage = try Salvage(file, metas, rules, step: step)
                guard MetaPages(file).newest?.transaction == metas.newest?.transaction else {
                    if attempt < Repair.attempts { continue }
                    throw StoreError(
                        .busy, path: folder, "Another process writes to the store while it is read: close it there")
                }
                note(salvage)
                return salvage
            } catch let error as Salvage.Refusal {
                var refusal = StoreError(
                    .damaged, path: folder,
                    error == .noPages
                        ? "Nothing can be saved: no page of data.mdb is left"
                        : "Nothing can be saved: no page leads to the tables of a store")
                refusal.remedy = "Restore a copy of the folder, or load a dump."
                throw refusal
            } catch let error as FormatError {
                throw StoreError.wrap(error, path: folder)
            } catch let error as PageFileError where error.isOfSystem {
                throw StoreError.unreadable(folder, error)
            }
        }
        throw StoreError(.busy, path: folder, "Another process writes to the store while it is read")
    }

    private mutating func note(_ salvage: Salvage) {
        let lostPages = salvage.lostPages.map { [Finding($0)] } ?? []
        let findings = salvage.findings.map { Finding($0) } + lostPages
        report.findings = findings.map(\.text)
        report.transactionsLost = Int(salvage.transactionsLost)
        report.mendedValues = salvage.damaged.count { $0.mended != nil }
        if let page = salvage.mendedPage {
            report.findings.append("pages: page \(page): the names of the tables were damaged in one bit")
        }
        if salvage.isReloaded {
            report.findings.append("pages: another program wrote the file, and the numbers of transactions are its own")
        } else if !salvage.hasMeta {
            report.findings.append("pages: no meta page leads to the newest state")
        }
        if salvage.holes.isEmpty, !salvage.isOfOneState {
            report.mayHoldDeleted = true
            report.findings.append("pages: records of several states are mixed")
        }
        if salvage.isOfDoubtfulSessions {
            report.isOfDoubtfulSessions = true
            report.findings.append("sessions: values of commits that never happened may be among those that were found")
        }
        for value in salvage.damaged {
            report.findings.append(
                "\(value.table.name): a value is damaged\(value.mended == nil ? "" : ", in one bit")")
        }
        report.isSound = salvage.isWhole && salvage.hasMeta && report.findings.isEmpty
    }

    // MARK: Values

    /// Copies what is whole. Returns the change records as they were found.
    private mutating func copy(
        _ salvage: Salvage, into partial: String, _ gaps: inout [SalvagedTables.Gap],
        _ remains: inout [SalvagedRows.Remains]
    ) throws -> [ChangeRecord] {
        let environment = try Environment(folder: partial, options: unfinished)
        defer { _ = environment.close() }
        var tables = try SalvagedTables(environment)
        let filled = try tables.copy(salvage, step)
        let unreachable = try tables.ensureHeader(salvage.facts?.stamp ?? salvage.lastCommit)
        let journal: JournalFile?
        do {
            journal = try JournalFile.open(StoreFiles.journalPath(in: folder), readOnly: true)
        } catch {
            report.findings.append("journal: \(error)")
            (journal, report.commitsLost) = (nil, 1)
        }
        report.commitsLost += try tables.lay(journal, followsTables: salvage.facts != nil, rules)
        if report.commitsLost > 0 { report.findings.append("journal: a commit is damaged") }
        report.recordsLost = Repair.lostRecords(salvage, filled)
        for (table, count) in unreachable { report.recordsLost[table.name] = count }
        let isOrdered = try tables.dropMergedChanges()
        let records = try tables.changeRecords()
        // Wherever they were found, they are complete if the newest is the one that the header names, and there are as
        // many as the store says. A page of an older state lacks the newest.
        if records.count == salvage.entries(of: .changes), try records.last?.mark == tables.newestMark() {
            report.recordsLost[TableCode.changes.name] = nil
        }
        if salvage.presumes {
            report.mayHoldDeleted = true
            report.findings.append(
                "pages: what tells older states and deletions is lost with the pages: deleted samples may be back")
        }
        if salvage.holes[.upkeep] != nil {
            // Asked before those are restored that change records tell of: most of them were finished long ago.
            let mayLack = try tables.mayLackOperations(knowsHeader: salvage.facts != nil)
            try tables.restoreOperations(records)
            if report.recordsLost[TableCode.changes.name] != nil, mayLack {
                report.mayHoldDeleted = true
                report.findings.append(
                    "upkeep: a deletion of a range or a source may have been under way, and its samples may be back")
            }
        }
        if report.recordsLost[TableCode.changes.name] != nil || !isOrdered { try tables.replaceChanges() }
        let (holes, loose, lanes) = try tables.tile(
            ChunkEncoder(pageSize: salvage.meta.pageSize),
            checksNames: salvage.holes[.names] != nil || salvage.holes[.namesReverse] != nil, step)
        gaps = holes + Repair.lostLanes(salvage, lanes, loose)
        remains = Repair.remains(salvage, loose)
        try tables.finish(sealed)
        return records
    }

    /// How the new file is written as long as it is no store.
    private var unfinished: Environment.Options {
        var options = Environment.Options.unfinished
        options.cipher = bodies
        return options
    }

    /// How the new store is opened. Whether backups include it is up to the caller, as with a copy.
    private var storeOptions: SampleStore.Options {
        var options = SampleStore.Options()
        (options.createIfMissing, options.maintainsWhenIdle, options.isExcludedFromBackup) = (false, false, nil)
        options.sealer = self.options.sealer
        return options
    }

    /// Returns how many records of each table are not there, if that is known: derived tables are rebuilt, chunks are
    /// counted by sample, and names are in two tables.
    private static func lostRecords(_ salvage: Salvage, _ filled: [TableCode: Int]) -> [String: Int] {
        var lost: [String: Int] = [:]
        for table in salvage.holes.keys where !table.isDerived {
            switch table {
            case .chunks, .details, .anchors, .names, .namesReverse: continue
            default: break
            }
            let found = salvage.found[table, default: 0] + filled[table, default: 0]
            guard let all = salvage.entries(of: table) else {
                if !salvage.isComplete { lost[table.name] = 0 }
                continue
            }
            if all > found { lost[table.name] = all - found }
        }
        return lost
    }

    /// The lanes of which no chunk is left.
    private static func lostLanes(
        _ salvage: Salvage, _ known: Set<Lane>, _ loose: [SalvagedTables.LooseChunk]
    ) -> [SalvagedTables.Gap] {
        // A chunk is nothing without its details, and the other way round.
        let holes = (salvage.holes[.chunks] ?? []) + (salvage.holes[.details] ?? [])
        guard !holes.isEmpty else { return [] }
        let met = salvage.pieces.filter { $0.table == .chunks || $0.table == .details }
            .compactMap { try? ChunkKey($0.key.rawBytes).lane }
        var lost: [SalvagedTables.Gap] = []
        for lane in Set(met + loose.map(\.key.lane)).subtracting(known) {
            let first = ChunkKey(lane: lane, lower: .least).bytes
            let mayBeLost = holes.contains { hole in
                let isBehind = hole.upper.map { !first.lexicographicallyPrecedes($0) } ?? false
                return !first.prefix(5).lexicographicallyPrecedes(hole.lower.prefix(5)) && !isBehind
            }
            guard mayBeLost else { continue }
            lost.append(SalvagedTables.Gap(lane: lane, lower: .least, upper: .greatest))
        }
        return lost
    }

    /// Joins the values of chunks that were found by key and commit.
    private static func remains(
        _ salvage: Salvage, _ loose: [SalvagedTables.LooseChunk]
    ) -> [SalvagedRows.Remains] {
        struct Place: Hashable {
            let key: ChunkKey
            let stamp: CommitStamp
        }
        var remains: [Place: SalvagedRows.Remains] = [:]
        func add(
            _ key: ChunkKey, _ stamp: CommitStamp, _ origin: ValueOrigin, hot: SalvagedRows.Remains.Part? = nil,
            details: SalvagedRows.Remains.Part? = nil
        ) {
            let place = Place(key: key, stamp: stamp)
            var item = remains[place] ?? SalvagedRows.Remains(key: key, stamp: stamp, origin: origin)
            item.origin = max(item.origin, origin)
            if let hot { item.hot.append(hot) }
            if let details { item.details.append(details) }
            remains[place] = item
        }
        for chunk in loose {
            add(chunk.key, chunk.stamp, chunk.origin, hot: chunk.hot.map { .bytes($0) })
            guard let details = chunk.details else { continue }
            // The details may be of another commit.
            add(chunk.key, StoredValue.stamp(head: details.rawBytes), chunk.origin, details: .bytes(details))
        }
        for value in salvage.damaged.filter({ !$0.isWhole }) + salvage.pieces.sorted(by: { $0.origin > $1.origin }) {
            guard value.table == .chunks || value.table == .details, let key = try? ChunkKey(value.key.rawBytes) else {
                continue
            }
            if value.table == .chunks {
                add(key, value.stamp, value.origin, hot: .found(value))
            } else {
                add(key, value.stamp, value.origin, details: .found(value))
            }
        }
        return Array(remains.values)
    }

    // MARK: The store

    private mutating func rebuild(
        _ partial: String, _ salvage: Salvage, _ gaps: [SalvagedTables.Gap], _ remains: [SalvagedRows.Remains],
        _ records: [ChangeRecord]
    ) throws {
        let store = try SampleStore.open(at: partial, options: storeOptions)
        let steps = UncheckedSteps(next: step)
        do {
            let expected = try counts(in: store)
            do { try store.rebuild { try steps.next() } } catch  where StoreError.isDamage(error) {
                // Links are the one table of which a part is worse than nothing: peers make them again.
                report.recordsLost[TableCode.links.name] = 0
                try store.write { txn in _ = try txn.clear(.links) }
                try store.rebuild { try steps.next() }
            }
            report.keepsNameless =
                try self.options.includesDoubtful || !report.mayHoldDeleted && !mayHavePeers(store)
            let rows = RowsBox(
                SalvagedRows(
                    gaps, records, unknown: lostCommits(salvage), includesDoubtful: self.options.includesDoubtful,
                    keepsNameless: report.keepsNameless))
            let isHoled = salvage.holes[.tombstones] != nil || salvage.presumes
            let source = UncheckedSalvage(salvage)
            if salvage.holes[.names] != nil { try store.write { try Repair.nameDevices(in: &$0) } }
            if !gaps.isEmpty || isHoled {
                try store.write { txn in
                    try rows.value.fill(from: remains, { try source.value.bytes(of: $0) }, in: &txn, steps.next)
                    if isHoled {
                        try Repair.dropTombstonesOfLive(in: &txn)
                        try Repair.restoreTombstones(records, in: &txn)
                    }
                }
                try store.maintain()
            }
            try finish(store, expected, rows.value, gaps, salvage)
            // What an import brought may be lost: it starts over, and adds only that.
            if report.isLossy { try store.write { try ImportJob.finishAll(in: &$0) } }
            try store.close()
        } catch {
            try? store.close()
            throw error
        }
    }

    /// Returns `true` if a peer may hold samples of the store.
    private func mayHavePeers(_ store: SampleStore) throws -> Bool {
        let tables: [TableCode] = [.peers, .pending, .links]
        if tables.contains(where: { report.recordsLost[$0.name] != nil }) { return true }
        return try store.read { try !$0.peers().isEmpty || !$0.pending().isEmpty }
    }

    /// Returns the number of samples of each type, as the counts had it; `nil` for a type whose count is not known.
    private func counts(in store: SampleStore) throws -> [UInt32: Int] {
        try store.read { txn in
            var counts: [UInt32: Int] = [:]
            for (type, count) in (try? SummaryTable.allCounts(in: txn.snapshot)) ?? [] { counts[type] = count.samples }
            return counts
        }
    }

    /// Returns the commits whose change records may be lost.
    private func lostCommits(_ salvage: Salvage) -> [ClosedRange<UInt64>] {
        guard report.recordsLost[TableCode.changes.name] != nil else { return [] }
        func commit(_ key: [UInt8]) -> UInt64 {
            (key + [UInt8](repeating: 0, count: 8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        return (salvage.holes[.changes] ?? []).map { hole in
            let first = commit(hole.lower)
            return first...max(first, hole.upper.map(commit) ?? .max)
        }
    }

    /// Removes tombstones of samples that live: they are from an older state.
    private static func dropTombstonesOfLive(in txn: inout WriteTransaction) throws {
        let all = try TombstoneTable.tombstones(from: [], count: .max, in: txn.snapshot) { _ in true }.0
        for (key, tombstone) in all {
            let isLive: Bool
            if TombstoneTable.isByID(key) {
                isLive = try SampleLookup.find(tombstone.id, in: txn.snapshot) != nil
            } else {
                isLive = try tombstone.sync.map { try lives($0, in: txn.snapshot) } ?? false
            }
            if isLive { try TombstoneTable.remove(tombstone, key, in: &txn) }
        }
    }

    /// Gives a name to devices whose names are lost: their samples are worth more.
    private static func nameDevices(in txn: inout WriteTransaction) throws {
        var nameless: Set<UInt32> = []
        for type in try ChunkTable.typesWithChunks(in: txn.snapshot) {
            let snapshot = txn.snapshot
            try RowReader.forEachRow(of: type, RowQuery(includeShadowed: true), in: snapshot) { row in
                let isKnown = nameless.contains(row.device) || (try? NameTable.device(row.device, in: snapshot)) != nil
                if row.device != 0, !isKnown { nameless.insert(row.device) }
                return true
            }
        }
        for number in nameless {
            try NameTable.putName(
                .device, number, NameCoding.encode(device: Device(name: "unknown \(number)")), in: &txn)
        }
    }

    private static func lives(_ sync: SyncIdentity, in snapshot: Snapshot) throws -> Bool {
        try SampleLookup.find(syncIdentifier: sync.identifier, in: snapshot).contains { found in
            try found.lane.type == sync.type
                && NameTable.revision(found.row.revision, in: snapshot).sourceNumber == sync.source
        }
    }

    /// Buries again what change records say was deleted: its tombstone may be among the lost ones.
    private static func restoreTombstones(_ records: [ChangeRecord], in txn: inout WriteTransaction) throws {
        var source: UInt32?
        for record in records {
            for deletion in record.deletions where deletion.commit > txn.state.header.prunedCommit {
                guard try SampleLookup.find(deletion.id, in: txn.snapshot) == nil,
                    try TombstoneTable.tombstone(deletion.id, in: txn.snapshot) == nil
                else { continue }
                let number = try source ?? NameTable.number(of: SourceIdentity(bundle: "", name: "unknown"), in: &txn)
                source = number
                // No version is known, so none may come back.
                let buried = DeletedSample(
                    id: deletion.id, type: try NameTable.type(deletion.type, in: txn.snapshot),
                    source: SourceIdentity(bundle: "", name: "unknown"), syncIdentifier: nil,
                    version: Sample.versionLimit,
                    modified: ChangeClock(time: Instant(nanoseconds: record.time), replica: 0))
                try TombstoneTable.bury(
                    Tombstone(
                        buried, type: deletion.type, source: number, commit: deletion.commit,
                        ordinal: deletion.ordinal, time: record.time), in: &txn)
            }
        }
    }

    /// Makes a store consistent in which records of several states contradict each other: a new feed leads to
    /// everything, and what is derived is derived again.
    private mutating func rebuildAgain(_ partial: String) throws {
        try SalvagedTables.restartFeed(partial, unfinished)
        let store = try SampleStore.open(at: partial, options: storeOptions)
        defer { try? store.close() }
        let steps = UncheckedSteps(next: step)
        try store.rebuild { try steps.next() }
        report.check = try checked(store)
        report.findings.append("changes: records of several states contradicted each other, and the feed begins again")
    }

    // MARK: The report

    private mutating func finish(
        _ store: SampleStore, _ expected: [UInt32: Int], _ rows: SalvagedRows, _ gaps: [SalvagedTables.Gap],
        _ salvage: Salvage
    ) throws {
        let knowsCounts = salvage.holes[.summaries] == nil
        let spans = Dictionary(grouping: gaps, by: \.lane.type).mapValues { gaps in
            gaps.map(\.lower.start).min()!...gaps.map(\.upper.start).max()!
        }
        var found: [UInt32: Int] = [:]
        var names: [UInt32: SampleType] = [:]
        // A chunk of which a part is lost was looked at row by row, so its mended part alone tells nothing.
        let mended = Repair.mendedChunks(salvage).filter { chunk in
            !gaps.contains { $0.lane == chunk.key.lane && $0.holds(chunk.key.lower) }
        }
        (report.kept, report.peers, report.pending) = try store.read { txn in
            let parts = try txn.types().map { summary in
                if let number = try NameTable.number(of: summary.type, in: txn.snapshot) {
                    found[number] = summary.samples
                }
                return RepairReport.Part(
                    type: summary.type, from: summary.first, to: summary.last, samples: summary.samples,
                    isCertain: true)
            }
            let types = Set(expected.keys).union(spans.keys).union(rows.doubtful.keys).union(rows.nameless.keys)
            for type in types.union(mended.map(\.key.lane.type)) {
                names[type] = try? NameTable.type(type, in: txn.snapshot)
            }
            return (parts, try txn.peers().count, try txn.pending().count)
        }
        let kept = Dictionary(report.kept.map { ($0.type, $0) }) { first, _ in first }
        report.mended = mended.map {
            let part = Repair.part(names[$0.key.lane.type], $0.key.lower.start...$0.end, $0.rows, isCertain: true)
            // A chunk without a bound of its own ends where the samples of its type do.
            let all = kept[part.type]
            return RepairReport.Part(
                type: part.type, from: part.from ?? all?.from, to: part.to ?? all?.to, samples: part.samples,
                isCertain: part.isCertain)
        }
        report.doubtful = rows.doubtful.sorted { $0.key < $1.key }.map {
            Repair.part(names[$0.key], $0.value.starts, $0.value.count, isCertain: true)
        }
        report.identitiesLost = rows.nameless.sorted { $0.key < $1.key }.map {
            Repair.part(names[$0.key], $0.value.starts, $0.value.count, isCertain: true)
        }
        report.detailsLost = report.identitiesLost
        for type in Set(expected.keys).union(spans.keys).sorted() {
            let isCounted = knowsCounts && expected[type] != nil
            let missing = expected[type].map { $0 - (found[type] ?? 0) }
            if isCounted, let missing, missing > 0 {
                report.lost.append(Repair.part(names[type], spans[type], missing, isCertain: true))
            } else if !isCounted, let span = spans[type], rows.strayIDs[type] != nil || !rows.closes(type) {
                let least = missing.flatMap { $0 > 0 ? $0 : nil }
                report.lost.append(Repair.part(names[type], span, least, isCertain: false))
            } else if !isCounted, spans[type] == nil, let missing, missing > 0 {
                report.lost.append(Repair.part(names[type], nil, missing, isCertain: false))
            }
        }
        // Chunks of lanes of which nothing is left at all.
        let chunks = salvage.pieces.count { $0.table == .chunks && $0.isWhole && $0.origin >= .current }
        let there = salvage.found[.chunks, default: 0] + chunks + rows.filledChunks
        let isShort = salvage.entries(of: .chunks).map { $0 > there } ?? !salvage.isComplete
        // A type of which neither chunks nor counts are left is in no list.
        let isOpen = salvage.presumes || isShort && !knowsCounts
        if salvage.holes[.chunks] != nil || salvage.holes[.details] != nil, isOpen {
            report.lost.append(Repair.part(nil, nil, nil, isCertain: false))
        }
        report.check = try checked(store)
    }

    private func checked(_ store: SampleStore) throws -> CheckReport {
        var failure: (any Error)?
        let report = try store.check { _ in
            do { try step() } catch { failure = error }
            return failure == nil
        }
        if let failure { throw failure }
        return report
    }

    /// Returns the chunks in which a bit was set right, with their numbers of samples and the ends of their ranges.
    private static func mendedChunks(_ salvage: Salvage) -> [(key: ChunkKey, rows: Int, end: Int64)] {
        var chunks: [ChunkKey: (rows: Int, end: Int64)] = [:]
        for value in salvage.damaged where value.table == .chunks || value.table == .details {
            guard let bytes = value.mended, let key = try? ChunkKey(value.key.rawBytes) else { continue }
            guard let stored = try? StoredValue(bytes.rawBytes, table: value.table, acceptsSealed: true) else {
                if chunks[key] == nil { chunks[key] = (0, .max) }
                continue
            }
            // It ends before the next chunk begins.
            let upper = (try? Point(bound: stored.upper)) ?? .greatest
            chunks[key] = (stored.rows, max(key.lower.start, upper.start))
        }
        return chunks.sorted { $0.key < $1.key }.map { ($0.key, $0.value.rows, $0.value.end) }
    }

    private static func part(_ type: SampleType?, _ starts: ClosedRange<Int64>?, _ count: Int?, isCertain: Bool)
        -> RepairReport.Part
    {
        RepairReport.Part(
            type: type ?? SampleType("unknown"),
            from: starts.flatMap { $0.lowerBound == .min ? nil : Instant(nanoseconds: $0.lowerBound) },
            to: starts.flatMap { $0.upperBound == .max ? nil : Instant(nanoseconds: $0.upperBound) },
            samples: count, isCertain: isCertain)
    }
}

/// Passes rows through a write, which runs on the writing thread while the caller waits.
private final class RowsBox: @unchecked Sendable {
    // @unchecked Sendable: the caller touches it again only after the write.
    var value: SalvagedRows

    init(_ value: SalvagedRows) { self.value = value }
}

/// Passes what counts the steps to the writing thread, likewise.
private struct UncheckedSteps: @unchecked Sendable {
    // @unchecked Sendable: the caller waits for the writing thread.
    let next: () throws -> Void
}

/// Passes the search to a write, likewise.
private struct UncheckedSalvage: @unchecked Sendable {
    // @unchecked Sendable: the caller waits for the write.
    let value: Salvage

    init(_ value: Salvage) { self.value = value }
}

extension SampleStore {
    /// Builds a new store of everything that can be saved of the store in a folder, however damaged, and checks it. The
    /// original is opened for reading only. The new store has the same identity and a new epoch: its peers compare
    /// before anything is sent.
    ///
    /// ```swift
    /// let report = try SampleStore.repair(at: folder, to: folder + "-repaired")
    /// if report.isLossy { print(report.lost, report.doubtful) }
    /// ```
    ///
    /// - Parameters:
    ///   - folder: The folder of the store. Nobody may write to it meanwhile.
    ///   - destination: A folder that does not exist or is empty. It appears when the new store is complete.
    ///   - options: What to keep.
    ///   - progress: Called often. Return `false` to stop.
    public static func repair(
        at folder: String, to destination: String, options: RepairOptions = RepairOptions(),
        progress: @escaping () -> Bool = { true }
    ) throws -> RepairReport {
        let place = CopyDestination(destination)
        try place.check(against: folder)
        place.removeLeftovers()
        return try inPartialFolder(place, folder, options, progress) { partial, report in
            guard FileSystem.rename(partial, to: place.folder) else {
                throw StoreError(.storage, path: destination, "The new store cannot be given its name")
            }
            guard FileSystem.flush(folder: FileSystem.parent(of: place.folder)) else {
                throw StoreError(.storage, path: destination, "The name of the new store cannot be made durable")
            }
            return report
        }
    }

    /// Repairs a store into a temporary folder, calls `body` with the new store, opened for reading, and removes it: so
    /// one sees what a repair would give.
    public static func withSalvaged<Result>(
        at folder: String, options: RepairOptions = RepairOptions(), progress: @escaping () -> Bool = { true },
        _ body: (SampleStore, RepairReport) throws -> Result
    ) throws -> Result {
        let place = CopyDestination(FileSystem.temporaryFolder + "/healthkv-salvage")
        return try inPartialFolder(place, folder, options, progress) { partial, report in
            var opening = SampleStore.Options()
            (opening.readOnly, opening.createIfMissing, opening.sealer) = (true, false, options.sealer)
            let store = try SampleStore.open(at: partial, options: opening)
            defer { try? store.close() }
            return try body(store, report)
        }
    }

    private static func inPartialFolder<Result>(
        _ place: CopyDestination, _ folder: String, _ options: RepairOptions, _ progress: @escaping () -> Bool,
        _ body: (String, RepairReport) throws -> Result
    ) throws -> Result {
        if let size = FileSystem.storedBytes(of: StoreFiles.dataPath(in: folder)),
            let free = FileSystem.freeBytes(at: FileSystem.parent(of: place.folder)), free < size
        {
            throw StoreError(
                .full, path: place.folder, "The new store may need \(size) bytes, and \(free) are free on the disk")
        }
        let partial = place.newPartial()
        // Errors name the folder that the caller knows.
        if let failure = FileSystem.makingFolderFails(partial) { throw StoreError.unmade(place.folder, failure) }
        guard let lock = FolderClaim(partial) else {
            throw StoreError(.storage, path: partial, "The folder for the new store cannot be locked")
        }
        defer { lock.release() }
        let store = partial + "/" + CopyDestination.inner
        if let failure = FileSystem.makingFolderFails(store) { throw StoreError.unmade(place.folder, failure) }
        defer { CopyDestination.remove(partial) }
        do {
            var repair = Repair(folder, options) {
                guard progress() else { throw StoreError(.cancelled, path: folder, "The repair was stopped") }
            }
            try repair.run(into: store)
            FileSystem.remove(StoreFiles.lockPath(in: store))
            return try body(store, repair.report)
        } catch {
            throw StoreError.wrap(error, path: folder)
        }
    }
}
