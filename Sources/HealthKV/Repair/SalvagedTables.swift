import ColumnFormat
import HealthModel
import LMDB
import PageReader
import Salvage

/// Copies the values that were found into the tables of a new file, as they are.
struct SalvagedTables {
    private let environment: Environment
    private let tables: OpenTables
    /// Values that the next transaction writes.
    private var waiting: [(table: TableCode, key: [UInt8], value: [UInt8])] = []
    private var waitingBytes = 0

    /// A transaction holds its pages in memory.
    private static let bytesAtOnce = 16 << 20

    init(_ environment: Environment) throws {
        self.environment = environment
        var transaction = try environment.beginWrite()
        tables = try OpenTables(creatingIn: &transaction, environment)
        try transaction.commit()
    }

    /// Puts one record in the place of all change records of a store that is complete otherwise, and lets the next
    /// rebuild count everything again.
    static func restartFeed(_ folder: String, _ options: Environment.Options) throws {
        let environment = try Environment(folder: folder, options: options)
        defer { _ = environment.close() }
        let tables = try SalvagedTables(environment)
        try tables.inTransaction { transaction in
            try tables.replaceChanges(in: &transaction)
            var header = try StoreHeader.read(transaction.view, tables.tables)
            header.transaction = UInt64(transaction.id)
            header.recordSum = nil
            try transaction.put(tables.tables[.meta], StoreHeader.key, header.value)
        }
        try environment.sync()
    }

    private func inTransaction<Result>(_ body: (inout LMDB.WriteTransaction) throws -> Result) throws -> Result {
        var transaction = try environment.beginWrite()
        let result = try body(&transaction)
        try transaction.commit()
        return result
    }

    /// What a new store makes itself: derived tables, positions in feeds, the location of the file, and its seal.
    private static func isLeftOut(_ table: TableCode, _ key: [UInt8]) -> Bool {
        switch table {
        case .identity, .anchors: true
        // The counts tell how many samples there were.
        case .summaries: key.count != SummaryTable.countsKey(0).count
        case .meta: [RestoreMark.key, Journal.key, SealRecord.key].contains(key)
        default: false
        }
    }

    /// Whether a value that is on a page of an older state may take the place of one that is lost: what it says is
    /// still true, or errs on the side of what was deleted.
    private static func outlives(_ table: TableCode, _ key: [UInt8]) -> Bool {
        switch table {
        case .names, .namesReverse, .changes, .tombstones, .peers, .audit: true
        case .meta: !key.starts(with: SyncNote.prefix)
        // Repeating a mass operation changes nothing, and without it the rows that it hides come back.
        case .upkeep: key.first == UpkeepKind.intent || key == HeaderCopy.key
        default: false
        }
    }

    /// Copies everything that the trees lead to, and then what fills their holes. Returns the number of current
    /// records that filled a hole, by table.
    mutating func copy(_ salvage: Salvage, _ step: () throws -> Void) throws -> [TableCode: Int] {
        var failure: (any Error)?
        try salvage.forEachInTrees { value, bytes in
            guard failure == nil else { return }
            do { try put(value, bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        try flush()
        var filled: [TableCode: Int] = [:]
        var leftOut: Set<[UInt8]> = []
        // Of several values for a key the one from the surest place counts, and of those the last that was written.
        let known = salvage.facts?.commit
        for value in salvage.pieces.filter(\.isWhole).sorted(by: {
            ($0.origin, $0.stamp.commit) > ($1.origin, $1.stamp.commit)
        }) {
            try step()
            // What is only taken for current is looked at row by row, beside deletions and what was found elsewhere.
            if salvage.presumes, value.table == .chunks || value.table == .details { continue }
            if value.origin < .current {
                // Older states of chunks are looked at row by row. A commit behind the last one never happened.
                guard value.table != .chunks, value.table != .details, known.map({ value.stamp.commit <= $0 }) ?? true,
                    value.origin == .unsure || SalvagedTables.outlives(value.table, value.key)
                else { continue }
            }
            guard try !holds(value.table, value.key) else { continue }
            let isTaken = try put(value, salvage.bytes(of: value))
            // The next value may have the same key.
            try flush()
            // A record of an older state may have been removed since, so it does not show that none is lost. One that a
            // new store makes itself is not missed.
            let isNew = isTaken || leftOut.insert(value.key).inserted
            if isNew, value.origin >= .current { filled[value.table, default: 0] += 1 }
        }
        return filled
    }

    private func holds(_ table: TableCode, _ key: [UInt8]) throws -> Bool {
        let transaction = try environment.beginRead()
        return try transaction.view.contains(tables[table], key)
    }

    @discardableResult
    private mutating func put(_ value: FoundValue, _ bytes: [UInt8]) throws -> Bool {
        let isSealed = SealedValue.isSealed(bytes.rawBytes) || value.table == .meta && value.key == SealRecord.key
        if isSealed, environment.options.cipher == nil { throw FormatError(.sealed, "body in \(value.table.name)") }
        guard !SalvagedTables.isLeftOut(value.table, value.key) else { return false }
        waiting.append((value.table, value.key, bytes))
        waitingBytes += bytes.count + value.key.count
        if waitingBytes > SalvagedTables.bytesAtOnce { try flush() }
        return true
    }

    private mutating func flush() throws {
        let values = waiting
        (waiting, waitingBytes) = ([], 0)
        guard !values.isEmpty else { return }
        try inTransaction { transaction in
            for (table, key, value) in values { try transaction.put(tables[table], key, value) }
        }
    }

    /// Lays the commits of the journal over what was found. Returns the number of commits that are lost.
    mutating func lay(_ journal: JournalFile?, followsTables: Bool, _ rules: SalvageRules) throws -> Int {
        guard let journal else { return 0 }
        return try inTransaction { transaction in
            let (found, lost) = try Journal.readableCommits(
                in: transaction.view, tables, journal, transaction: transaction.id - 1, followsTables: followsTables,
                isSound: { rules.isSound($2, $0, key: $1) })
            if found.count > 0 {
                transaction.collect(over: found.layer)
                try transaction.fold()
            }
            return lost
        }
    }

    /// Returns the change records that are whole.
    func changeRecords() throws -> [ChangeRecord] {
        let transaction = try environment.beginRead()
        var records: [ChangeRecord] = []
        var cursor = try transaction.view.cursor(tables[.changes])
        while try cursor.next() {
            if let record = try? ChangeRecord(cursor.value, key: cursor.key.copied()) { records.append(record) }
        }
        return records
    }

    /// Removes the change records that a later one has taken over: they are from pages of an older state.
    ///
    /// - Returns: `false` if one of them goes back further than the one that would replace it.
    func dropMergedChanges() throws -> Bool {
        var lowest = UInt64.max
        var merged: [UInt64] = []
        for record in try changeRecords().reversed() {
            if record.commit >= lowest {
                guard record.commits.lowerBound >= lowest else { return false }
                merged.append(record.commit)
            }
            lowest = min(lowest, record.commits.lowerBound)
        }
        if merged.isEmpty { return true }
        try inTransaction { transaction in
            for commit in merged { try transaction.delete(tables[.changes], key: ChangeLog.key(commit).rawBytes) }
        }
        return true
    }

    /// Returns the mark of the newest change record, as the header has it.
    func newestMark() throws -> UInt64 {
        let transaction = try environment.beginRead()
        return try StoreHeader.read(transaction.view, tables).mark
    }

    /// Begins again the mass operations that change records tell of: how far they had come may be lost.
    func restoreOperations(_ records: [ChangeRecord]) throws {
        try inTransaction { transaction in
            let stamp = try StoreHeader.read(transaction.view, tables).stamp
            for operation in records.flatMap(\.operations) {
                let key = IntentTable.key(operation)
                if try transaction.view.contains(tables[.upkeep], key) { continue }
                try transaction.put(tables[.upkeep], key, operation.value(stamp: stamp))
            }
        }
    }

    /// Whether mass operations that were under way may be lost: the header counts them, if it is the one of the state.
    func mayLackOperations(knowsHeader: Bool) throws -> Bool {
        guard knowsHeader else { return true }
        return try inTransaction { transaction in
            let header = try StoreHeader.read(transaction.view, tables)
            return try count(.upkeep, startingWith: [UpkeepKind.intent], in: &transaction) < Int(header.intents)
        }
    }

    /// Puts one record in the place of all change records, because some are lost: it leads to everything, and tells the
    /// deletions that are still known.
    func replaceChanges() throws { try inTransaction { try replaceChanges(in: &$0) } }

    private func replaceChanges(in transaction: inout LMDB.WriteTransaction) throws {
        let header = try StoreHeader.read(transaction.view, tables)
        guard header.commit > 0 else { return }
        var record = ChangeRecord(commit: header.commit, time: header.clock, mark: header.mark)
        record.since = 1
        var lanes: Set<Lane> = []
        do {
            var cursor = try transaction.view.cursor(tables[.chunks])
            while try cursor.next() { lanes.insert(try ChunkKey(cursor.key).lane) }
            var changes = try transaction.view.cursor(tables[.changes])
            while try changes.next() {
                guard let known = try? ChangeRecord(changes.value, key: changes.key.copied()) else { continue }
                record.deletions += known.deletions.filter { $0.commit <= header.commit }
                record.time = max(record.time, known.time)
                if known.commit == header.commit { record.removals = known.removals }
            }
        }
        let starts = Instant.earliest.nanoseconds...Instant.latest.nanoseconds - 1
        record.spans = lanes.sorted().map { ($0, starts) }
        try transaction.clear(tables[.changes])
        try transaction.put(tables[.changes], ChangeLog.key(header.commit), record.value(stamp: header.stamp))
    }

    /// Makes a header if none was found, and makes one of an older state as new as the values. Of the header, the
    /// ranking of sources and their copy, what was written last counts. Returns the number of records that are lost
    /// with the header, by table.
    func ensureHeader(_ last: CommitStamp) throws -> [TableCode: Int] {
        try inTransaction { try ensureHeader(last, in: &$0) }
    }

    private func ensureHeader(
        _ last: CommitStamp, in transaction: inout LMDB.WriteTransaction
    ) throws -> [TableCode: Int] {
        var lost: [TableCode: Int] = [:]
        var header = StoreHeader()
        let copy = try headerCopy(in: &transaction)
        if let copy { try takePriorities(copy.priorities, in: &transaction) }
        if try transaction.view.contains(tables[.meta], StoreHeader.key) {
            header = try StoreHeader.read(transaction.view, tables)
            if header.commit >= last.commit { return lost }
            if let copy, copy.header.commit > header.commit { header = copy.header }
        } else if let copy {
            header = copy.header
        } else {
            // The keys of these tables are hashes, and the key of the hash is lost with the header.
            for table in [TableCode.namesReverse, .links, .totals, .peers, .pending] {
                let count = try transaction.view.count(tables[table])
                try transaction.clear(tables[table])
                if table != .namesReverse, count > 0 { lost[table] = count }
            }
            let keys = try keys(of: .tombstones, in: &transaction).filter { !TombstoneTable.isByID($0) }
            for key in keys { try transaction.delete(tables[.tombstones], key: key.rawBytes) }
            try renameNotes(header, in: &transaction)
        }
        if header.commit < last.commit { (header.commit, header.session) = (last.commit, last.session) }
        try transaction.put(tables[.meta], StoreHeader.key, header.value)
        // Which sessions were between that header and this commit is not known, and the record must not say that none
        // was.
        let sessions = SessionTable.key
        try transaction.delete(tables[.upkeep], key: sessions.rawBytes)
        return lost
    }

    /// Gives the notes of the sync the keys that they have under another header. A note that cannot be read is lost.
    private func renameNotes(_ header: StoreHeader, in transaction: inout LMDB.WriteTransaction) throws {
        for key in try keys(of: .meta, in: &transaction) where key.starts(with: SyncNote.prefix) {
            guard let bytes = try transaction.view.get(tables[.meta], key)?.copied() else { continue }
            let stamp = StoredValue.stamp(head: bytes.rawBytes)
            try transaction.delete(tables[.meta], key: key.rawBytes)
            guard let note = try? SyncNote.read(bytes.rawBytes, key: key) else { continue }
            let own = SyncNote.key(note.name, header.hashKey)
            try transaction.put(tables[.meta], own, SyncNote.value(note.name, note.bytes, key: own, stamp: stamp))
        }
    }

    /// Takes the ranking of the header's copy if the record is lost or older.
    private func takePriorities(_ copy: [UInt8], in transaction: inout LMDB.WriteTransaction) throws {
        guard !copy.isEmpty else { return }
        if let found = try transaction.view.get(tables[.meta], PriorityTable.key),
            StoredValue.stamp(head: found).commit >= StoredValue.stamp(head: copy.rawBytes).commit
        {
            return
        }
        try transaction.put(tables[.meta], PriorityTable.key, copy)
    }

    /// Takes the definitions of types from where they can be read: every transaction needs those that the header marks.
    private func takeDefinitions(_ header: inout StoreHeader, in transaction: inout LMDB.WriteTransaction) throws {
        // A header that was lost, or is of an older state, marks none.
        let marked = header.definitions == 0 ? nil : try? DefinitionTable.load(header, transaction.view, tables)
        let fields = DefinitionTable.fields(marked ?? DefinitionTable.found(transaction.view, tables))
        header.definitions = DefinitionTable.mark(of: fields)
        guard !fields.isEmpty else { return }
        let value = DefinitionTable.value(fields, stamp: header.stamp)
        try transaction.put(tables[.meta], DefinitionTable.key, value)
    }

    private func headerCopy(
        in transaction: inout LMDB.WriteTransaction
    ) throws -> HeaderCopy.Content? {
        guard let span = try transaction.view.get(tables[.upkeep], HeaderCopy.key) else { return nil }
        return try? HeaderCopy.read(span)
    }

    private func keys(of table: TableCode, in transaction: inout LMDB.WriteTransaction) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var cursor = try transaction.view.cursor(tables[table])
        while try cursor.next() { keys.append(cursor.key.copied()) }
        return keys
    }

    /// Writes the header for the new file, which is that of a copy, and names that only one of their tables holds.
    func finish(_ seal: Seal?) throws {
        try inTransaction { try finish(seal, in: &$0) }
        try environment.sync()
    }

    private func finish(_ seal: Seal?, in transaction: inout LMDB.WriteTransaction) throws {
        var header = try StoreHeader.read(transaction.view, tables)
        let ended = try SessionTable.read(transaction.view, tables)
        let before = header.stamp
        header.commit += 1
        header.session = CommitStamp.drawSession()
        try transaction.put(
            tables[.upkeep], SessionTable.key, SessionTable.value(adding: before, to: ended, stamp: header.stamp))
        try completeNames(header, in: &transaction)
        header.transaction = UInt64(transaction.id)
        try takeDefinitions(&header, in: &transaction)
        // Anybody can change what a header says.
        if let seal { header.storeID = seal.store }
        // The next rebuild computes it.
        header.recordSum = nil
        header.recentEntries = 0
        header.intents = UInt32(try count(.upkeep, startingWith: [UpkeepKind.intent], in: &transaction))
        try transaction.put(tables[.meta], StoreHeader.key, header.value)
        try transaction.put(tables[.meta], RestoreMark.key, RestoreMark.ofCopy.value(stamp: header.stamp))
        if let seal { try transaction.put(tables[.meta], SealRecord.key, seal.record.value(stamp: header.stamp)) }
    }

    private func count(
        _ table: TableCode, startingWith prefix: [UInt8], in transaction: inout LMDB.WriteTransaction
    ) throws -> Int {
        var count = 0
        var cursor = try transaction.view.cursor(tables[table])
        var found = try cursor.seek(prefix)
        while found, cursor.key.copied().starts(with: prefix) {
            count += 1
            found = try cursor.next()
        }
        return count
    }

    /// Each name is in two tables: what only one of them holds, the other gets.
    private func completeNames(_ header: StoreHeader, in transaction: inout LMDB.WriteTransaction) throws {
        for name in try names(in: .names, &transaction) {
            var texts = [name.bytes]
            if name.kind == .source, let source = try? NameCoding.source(name.bytes) {
                texts.insert(NameCoding.key(of: source), at: 0)
            }
            try put(
                name, under: texts.map { NameTable.reverseKey(name.kind, $0, header.hashKey) }, .namesReverse, header,
                &transaction)
        }
        for name in try names(in: .namesReverse, &transaction) {
            try put(name, under: [NameTable.key(name.kind, name.number)], .names, header, &transaction)
        }
    }

    private typealias Name = (kind: NameKind, number: UInt32, bytes: [UInt8])

    private func names(in table: TableCode, _ transaction: inout LMDB.WriteTransaction) throws -> [Name] {
        var names: [Name] = []
        var cursor = try transaction.view.cursor(tables[table])
        while try cursor.next() {
            let key = cursor.key.copied()
            guard let kind = key.first.flatMap(NameKind.init(rawValue:)),
                let (number, bytes) = try? NameTable.read(cursor.value, table, key: key)
            else { continue }
            names.append((kind, number, bytes))
        }
        return names
    }

    /// Puts a name under the first of some keys if the table has it under none of them.
    private func put(
        _ name: Name, under keys: [[UInt8]], _ table: TableCode, _ header: StoreHeader,
        _ transaction: inout LMDB.WriteTransaction
    ) throws {
        for key in keys where try transaction.view.contains(tables[table], key) { return }
        try transaction.put(
            tables[table], keys[0],
            NameTable.value(table, key: keys[0], name.number, name.bytes, stamp: header.stamp))
    }
}

extension SalvagedTables {
    /// What makes a new store a sealed one.
    struct Seal {
        /// The identity to which the values are bound.
        let store: SampleID
        let record: SealRecord
    }

    /// A span of a lane that no chunk owns any more.
    struct Gap: Hashable {
        let lane: Lane
        let lower: Point
        let upper: Point

        func holds(_ point: Point) -> Bool { lower <= point && point < upper }
    }

    /// What is left of a chunk that does not fit among the others.
    struct LooseChunk {
        var hot: [UInt8]?
        var details: [UInt8]?
        var key: ChunkKey
        var stamp: CommitStamp
        var origin: ValueOrigin
    }

    /// Makes the chunks tile their lanes again: takes out those that are not whole or overlap, and fills the gaps with
    /// empty ones. Returns the gaps, the chunks that were taken out, and the lanes that have chunks.
    ///
    /// - Parameter checksNames: whether names may be lost: a chunk whose type, source or unit has none cannot be read.
    func tile(
        _ encoder: ChunkEncoder, checksNames: Bool, _ step: () throws -> Void
    ) throws -> (gaps: [Gap], loose: [LooseChunk], lanes: Set<Lane>) {
        try inTransaction { try tile(encoder, checksNames, in: &$0, step) }
    }

    private func isNamed(
        _ chunk: borrowing HotChunk, in view: View, _ known: inout [[UInt8]: Bool]
    ) throws -> Bool {
        func has(_ kind: NameKind, _ number: UInt32) throws -> Bool {
            let key = NameTable.key(kind, number)
            if let answer = known[key] { return answer }
            let answer = try NameTable.bytes(kind, number, view, tables) != nil
            known[key] = answer
            return answer
        }
        let type = chunk.key.lane.type
        guard try SampleType(catalogNumber: type) != nil || has(.type, type) else { return false }
        for revision in try chunk.distinctRevisions() {
            guard try has(.revision, revision), let bytes = try NameTable.bytes(.revision, revision, view, tables),
                try has(.source, NameCoding.revision(bytes).source)
            else { return false }
        }
        for unit in try chunk.distinctUnits() {
            guard try HealthUnit(number: unit) != nil || has(.unit, unit) else { return false }
        }
        return true
    }

    /// Removes the chunks that cannot be read because a name is lost.
    private func removeNameless(in transaction: inout LMDB.WriteTransaction) throws {
        var (nameless, known): ([[UInt8]], [[UInt8]: Bool]) = ([], [:])
        for key in try keys(of: .chunks, in: &transaction) {
            let view = transaction.view
            guard let span = try view.get(tables[.chunks], key) else { continue }
            let chunk = try HotChunk(span, key: key.rawBytes)
            if chunk.rows > 0, try !isNamed(chunk, in: view, &known) { nameless.append(key) }
        }
        for key in nameless { try transaction.delete(tables[.chunks], key: key.rawBytes) }
    }

    private func tile(
        _ encoder: ChunkEncoder, _ checksNames: Bool, in transaction: inout LMDB.WriteTransaction,
        _ step: () throws -> Void
    ) throws -> (gaps: [Gap], loose: [LooseChunk], lanes: Set<Lane>) {
        var gaps: [Gap] = []
        var loose: [LooseChunk] = []
        var wholes: [(stored: [UInt8], key: ChunkKey, upper: Point, stamp: CommitStamp)] = []
        var partial: [[UInt8]] = []
        if checksNames { try removeNameless(in: &transaction) }
        do {
            var cursor = try transaction.view.cursor(tables[.chunks])
            while try cursor.next() {
                try step()
                let stored = cursor.key.copied()
                let chunk = try HotChunk(cursor.value, key: cursor.key)
                let keyBytes = chunk.key.bytes
                let details = try transaction.view.get(tables[.details], keyBytes)
                let isPair: Bool
                if let details {
                    isPair = (try? DetailsChunk(details, of: chunk)) != nil
                } else {
                    isPair = false
                }
                if isPair {
                    wholes.append((stored, chunk.key, chunk.upper, chunk.value.stamp))
                } else {
                    partial.append(stored)
                    loose.append(
                        LooseChunk(
                            hot: cursor.value.copied(), details: details?.copied(), key: chunk.key,
                            stamp: chunk.value.stamp, origin: .tree))
                }
            }
        }
        for stored in partial { try transaction.delete(tables[.chunks], key: stored.rawBytes) }
        // Where spans overlap, the chunk that was written last owns them.
        var kept: [(key: ChunkKey, upper: Point, stamp: CommitStamp, stored: [UInt8])] = []
        for whole in wholes {
            var isKept = true
            while isKept, let last = kept.last, last.key.lane == whole.key.lane, last.upper > whole.key.lower {
                if last.stamp.commit >= whole.stamp.commit {
                    try loose.append(takeOut(whole.stored, whole.key, whole.stamp, in: &transaction))
                    isKept = false
                } else {
                    try loose.append(takeOut(last.stored, last.key, last.stamp, in: &transaction))
                    kept.removeLast()
                }
            }
            if isKept { kept.append((whole.key, whole.upper, whole.stamp, whole.stored)) }
        }
        let stamp = try StoreHeader.read(transaction.view, tables).stamp
        var (lane, expected): (Lane?, Point) = (nil, .greatest)
        for chunk in kept {
            if chunk.key.lane != lane {
                if let lane, expected < .greatest { gaps.append(Gap(lane: lane, lower: expected, upper: .greatest)) }
                (lane, expected) = (chunk.key.lane, .least)
            }
            if expected < chunk.key.lower {
                gaps.append(Gap(lane: chunk.key.lane, lower: expected, upper: chunk.key.lower))
            }
            expected = chunk.upper
        }
        if let lane, expected < .greatest { gaps.append(Gap(lane: lane, lower: expected, upper: .greatest)) }
        // Details without a chunk would be taken for those of the chunk that fills the gap.
        try removeStrayDetails(Set(kept.map(\.key)), &loose, in: &transaction)
        for gap in gaps {
            let key = ChunkKey(lane: gap.lane, lower: gap.lower)
            let empty = encoder.encodeEmpty(key: key, upper: gap.upper, stamp: stamp)
            try transaction.put(tables[.chunks], key.stored(commit: stamp.commit), empty.hot)
            try transaction.put(tables[.details], key.bytes, empty.details)
        }
        return (gaps, loose, Set(kept.map(\.key.lane)))
    }

    private func takeOut(
        _ stored: [UInt8], _ key: ChunkKey, _ stamp: CommitStamp, in transaction: inout LMDB.WriteTransaction
    ) throws -> LooseChunk {
        let hot = try transaction.view.get(tables[.chunks], stored)?.copied()
        let details = try transaction.view.get(tables[.details], key.bytes)?.copied()
        try transaction.delete(tables[.chunks], key: stored.rawBytes)
        return LooseChunk(hot: hot, details: details, key: key, stamp: stamp, origin: .unsure)
    }

    private func removeStrayDetails(
        _ kept: Set<ChunkKey>, _ loose: inout [LooseChunk], in transaction: inout LMDB.WriteTransaction
    ) throws {
        let known = Set(loose.map(\.key))
        var strays: [[UInt8]] = []
        do {
            var cursor = try transaction.view.cursor(tables[.details])
            while try cursor.next() {
                let key = cursor.key.copied()
                let chunk = try ChunkKey(key.rawBytes)
                if kept.contains(chunk) { continue }
                strays.append(key)
                if !known.contains(chunk) {
                    loose.append(
                        LooseChunk(
                            hot: nil, details: cursor.value.copied(), key: chunk,
                            stamp: StoredValue.stamp(head: cursor.value), origin: .tree))
                }
            }
        }
        for key in strays { try transaction.delete(tables[.details], key: key.rawBytes) }
    }
}
