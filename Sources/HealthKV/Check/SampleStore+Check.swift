import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Checks everything in the store and reports violations. Continues after a finding.
    ///
    /// ```swift
    /// let report = try store.check()
    /// assert(report.isClean)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: The most findings to list; the rest are counted.
    ///   - progress: Called now and then with the share that is done, 0 to 1. Return `false` to stop.
    public func check(limit: Int = 1_000, progress: (Double) -> Bool = { _ in true }) throws -> CheckReport {
        try StoreError.require(limit, 0, "limit", path: path)
        for _ in 0..<100 {
            if let report = try checkOnce(limit, progress) { return report }
        }
        throw StoreError(.storage, path: path, "Other processes write too fast for the pages to be looked at")
    }

    /// Returns `nil` if the meta page of the snapshot was overwritten before it could be read.
    private func checkOnce(_ limit: Int, _ progress: (Double) -> Bool) throws -> CheckReport? {
        try read { transaction in
            let number = UInt64(transaction.lmdb.id)
            // The pages of a private copy were walked when it was made; the folder holds another file.
            if core.file.access != .copy {
                guard let inspection = try PageInspection(folder: path, transaction: number, limit: limit) else {
                    return nil
                }
                if !inspection.isSound { return try inspection.rawReport(path, limit: limit) }
            }
            // Names that are cached from earlier say nothing about those in the file.
            transaction.context.state.names = NameBook()
            var checker = Checker(limit: limit)
            try checker.run(transaction.snapshot, number, progress)
            return checker.report
        }
    }

    /// Checks everything in the store of a folder, even if it is too damaged to be opened: then pages and values are
    /// checked by ordinary reads, and parts that cannot be checked are listed. Damage is a finding, not an error. A
    /// file that the system cannot read is an error, not damage.
    ///
    /// ```swift
    /// let report = try SampleStore.check(at: folder)
    /// for finding in report.findings { print(finding.kind.rawValue, finding.table, finding.detail) }
    /// ```
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - limit: The most findings to list; the rest are counted.
    ///   - progress: Called now and then with the share that is done, 0 to 1. Return `false` to stop.
    ///   - onNotice: Called with the notices of opening the store, such as that it is read without locks.
    public static func check(
        at folder: String, limit: Int = 1_000, progress: (Double) -> Bool = { _ in true },
        onNotice: (@Sendable (StoreNotice) -> Void)? = nil
    ) throws -> CheckReport {
        try check(at: folder, limit: limit, progress: progress, onNotice: onNotice, atWalk: {})
    }

    static func check(
        at folder: String, limit: Int, progress: (Double) -> Bool, onNotice: (@Sendable (StoreNotice) -> Void)?,
        atWalk: () throws -> Void
    ) throws -> CheckReport {
        try StoreError.require(limit, 0, "limit", path: folder)
        let inspection = try PageInspection(folder: folder, limit: limit, atWalk: atWalk)
        // A busy writer may reuse the pages of each snapshot while they are read. Opening the store protects one
        // snapshot.
        if !inspection.isSound, !inspection.hasMoved { return try inspection.rawReport(folder, limit: limit) }
        do {
            var options = Options()
            options.readOnly = true
            options.createIfMissing = false
            options.onNotice = onNotice
            let store = try open(at: folder, options: options)
            defer { try? store.close() }
            return try store.check(limit: limit, progress: progress)
        } catch let error as StoreError where error.code == .damaged || error.code == .notAStore {
            var report = try inspection.rawReport(folder, limit: limit)
            if report.isClean {
                report.findings = [Finding(kind: .header, table: TableCode.meta.name, detail: error.detail)]
            }
            return report
        }
    }
}

extension SampleStore {
    /// Counts the values of the store in a folder that cannot be read, by reading all of them with ordinary reads.
    ///
    /// - Parameter step: Called before each value; an error that it throws ends the search.
    package static func countUnreadableValues(in folder: String, _ step: () throws -> Void) throws -> Int {
        let inspection = try PageInspection(folder: folder, limit: 0)
        var checker = RawChecker(CheckReport(), limit: 0)
        try checker.run(inspection, step)
        if let failure = checker.failure { throw StoreError.unreadable(folder, failure) }
        return checker.report.omitted
    }
}

extension PageInspection {
    /// Returns the findings about the pages and about the values that they still lead to.
    fileprivate func rawReport(_ folder: String, limit: Int) throws -> CheckReport {
        var report = CheckReport()
        (report.findings, report.omitted) = (findings, omitted)
        var checker = RawChecker(report, limit: limit)
        checker.run(self) {}
        if let failure = checker.failure { throw StoreError.unreadable(folder, failure) }
        return checker.report
    }
}

/// The state of a running check.
struct Checker {
    var report = CheckReport()
    let limit: Int
    /// The keys of chunks that were reported, and their types. Findings that only follow from these are not reported.
    private(set) var damagedChunks: Set<[UInt8]> = []
    private(set) var damagedTypes: Set<UInt32> = []
    /// Types with values that are not finite.
    var oddTypes: Set<UInt32> = []
    /// The number of the current record in its table.
    private var record = 0

    init(limit: Int) { self.limit = limit }

    mutating func noteDamage(ofChunk key: [UInt8]) {
        damagedChunks.insert(key)
        if let key = Checker.chunkKey(key) { noteDamage(ofType: key.lane.type) }
    }

    mutating func noteDamage(ofType type: UInt32) { damagedTypes.insert(type) }

    static func chunkKey(_ bytes: [UInt8]) -> ChunkKey? {
        let span = bytes.rawBytes
        return try? ChunkKey(span)
    }

    mutating func add(_ kind: Finding.Kind, _ table: TableCode, _ detail: String, _ reference: String? = nil) {
        if report.findings.count < limit {
            report.findings.append(Finding(kind: kind, table: table.name, detail: detail, reference: reference))
        } else {
            report.omitted += 1
        }
    }

    mutating func run(_ snapshot: borrowing Snapshot, _ transaction: UInt64, _ progress: (Double) -> Bool) throws {
        if snapshot.header.transaction != transaction {
            add(.header, .meta, "the header belongs to transaction \(snapshot.header.transaction), not \(transaction)")
        }
        if let kept = snapshot.header.recordSum, try RecordSum.count(in: snapshot) != kept {
            add(.recordsOutdated, .meta, "records are of an older commit than the header")
        }
        checkNames(snapshot)
        checkRecords(snapshot)
        guard progress(0.1) else { return }
        try checkChunks(snapshot, progress)
        guard progress(0.6) else { return }
        checkIdentity(snapshot, progress)
        checkSummaries(snapshot)
        checkSync(snapshot)
        _ = progress(1)
    }

    /// Reads every record of the small tables. No live sample may have a tombstone.
    private mutating func checkRecords(_ snapshot: borrowing Snapshot) {
        for table in [TableCode.tombstones, .changes, .upkeep] {
            forEachValue(snapshot, table) { checker, value, key in
                switch table {
                case .tombstones:
                    let tombstone = try Tombstone(value, key: key)
                    if TombstoneTable.isByID(key), let found = try? SampleLookup.find(tombstone.id, in: snapshot),
                        !found.isHidden
                    {
                        checker.add(.tombstoneOfLiveSample, table, checker.place, "id \(tombstone.id)")
                    }
                case .changes: _ = try ChangeRecord(value, key: key)
                case .upkeep where key.first == UpkeepKind.intent: _ = try Intent(value, key: key)
                case .upkeep where key.first == UpkeepKind.staleHours: _ = try StaleTable.read(value, key: key)
                case .upkeep where key.first == UpkeepKind.deletedContent: _ = try DeletedContent(value, key: key)
                default: _ = try RecordReader(value, table: table, key: key)
                }
            }
        }
        forEachValue(snapshot, .meta) { _, value, key in _ = try RecordReader(value, table: .meta, key: key) }
    }

    /// Compares the two copies of each name.
    private mutating func checkNames(_ snapshot: borrowing Snapshot) {
        var forward: [[UInt8]: UInt32] = [:]
        forEachValue(snapshot, .names) { checker, value, key in
            let name = try NameTable.read(value, .names, key: key)
            forward[[key[0]] + name.1] = name.0
        }
        forEachValue(snapshot, .namesReverse) { checker, value, key in
            let name = try NameTable.read(value, .namesReverse, key: key)
            if forward.removeValue(forKey: [key[0]] + name.1) != name.0 {
                checker.add(.nameCopiesDiffer, .namesReverse, "number \(name.0)")
            }
        }
        for number in forward.values.sorted() { add(.nameCopiesDiffer, .names, "number \(number)") }
    }

    /// Calls `body` with each value of a table. An error that it throws becomes a finding.
    mutating func forEachValue(
        _ snapshot: borrowing Snapshot, _ table: TableCode, as kind: Finding.Kind = .recordUnreadable,
        _ body: (inout Checker, RawSpan, [UInt8]) throws -> Void
    ) {
        do {
            record = 0
            var cursor = try snapshot.view.cursor(snapshot.tables[table])
            while try cursor.next() {
                report.records += 1
                record += 1
                let key = cursor.key.copied()
                do {
                    try body(&self, cursor.value, key)
                } catch {
                    add(Finding.Kind(error, else: kind), table, "\(place): \(error)", Checker.reference(key))
                }
            }
        } catch {
            add(Finding.Kind(error, else: kind), table, "\(error)")
        }
    }

    /// Describes the current record.
    var place: String { "record \(record)" }

    /// Names a type for a finding. Names that others gave are left out.
    static func name(_ type: UInt32) -> String {
        SampleType(catalogNumber: type).map { "type \($0.shortName)" } ?? "type number \(type)"
    }

    /// Formats a key for people who may see when something was measured.
    static func reference(_ key: [UInt8]) -> String {
        "key " + key.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }
}
