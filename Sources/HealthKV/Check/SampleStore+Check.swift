import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Looks at everything in the store and reports what is not as it must be. It goes on after a finding.
    ///
    /// ```swift
    /// let report = try store.check()
    /// assert(report.isClean)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the most findings to list; the rest is counted.
    ///   - progress: called now and then with the share that is done, 0 to 1. Answer false to stop.
    public func check(limit: Int = 1_000, progress: (Double) -> Bool = { _ in true }) throws -> CheckReport {
        try read { transaction in
            var checker = Checker(limit: limit)
            try checker.run(transaction.snapshot, UInt64(transaction.lmdb.id), progress)
            return checker.report
        }
    }
}

/// The state of a check under way.
struct Checker {
    var report = CheckReport()
    let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func add(_ kind: Finding.Kind, _ table: TableCode, _ detail: String) {
        if report.findings.count < limit {
            report.findings.append(Finding(kind: kind, table: table.name, detail: detail))
        } else {
            report.omitted += 1
        }
    }

    mutating func run(_ snapshot: borrowing Snapshot, _ transaction: UInt64, _ progress: (Double) -> Bool) throws {
        if snapshot.header.transaction != transaction {
            add(.header, .meta, "the header belongs to transaction \(snapshot.header.transaction), not \(transaction)")
        }
        checkNames(snapshot)
        checkRecords(snapshot)
        guard progress(0.1) else { return }
        try checkChunks(snapshot, progress)
        guard progress(0.6) else { return }
        checkIdentity(snapshot, progress)
        _ = progress(1)
    }

    /// Every record of the small tables is read; the two copies of each name are compared.
    private mutating func checkRecords(_ snapshot: borrowing Snapshot) {
        for table in [TableCode.tombstones, .changes, .peers, .anchors, .links, .pending, .totals, .audit, .upkeep] {
            forEachValue(snapshot, table) { checker, value, key in
                switch table {
                case .tombstones:
                    let tombstone = try Tombstone(value, key: key)
                    if key.first == 1, let found = try snapshot.find(tombstone.id), !found.isHidden {
                        checker.add(.tombstoneOfLiveSample, table, "id \(tombstone.id)")
                    }
                case .changes: _ = try ChangeRecord(value, key: key)
                case .upkeep where key.first == Intent.upkeepKind: _ = try Intent(value, key: key)
                case .upkeep where key.first == StaleRange.upkeepKind: _ = try StaleRange.read(value, key: key)
                default: _ = try RecordReader(value, table: table, key: key)
                }
            }
        }
        forEachValue(snapshot, .meta) { _, value, key in _ = try RecordReader(value, table: .meta, key: key) }
    }

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

    /// Calls `body` with each value of a table; what it throws becomes a finding.
    mutating func forEachValue(
        _ snapshot: borrowing Snapshot, _ table: TableCode, as kind: Finding.Kind = .recordUnreadable,
        _ body: (inout Checker, RawSpan, [UInt8]) throws -> Void
    ) {
        do {
            var cursor = try snapshot.view.cursor(snapshot.tables[table])
            while try cursor.next() {
                report.records += 1
                let key = cursor.key.copied()
                do {
                    try body(&self, cursor.value, key)
                } catch {
                    add(kind, table, "key \(Checker.hex(key)): \(error)")
                }
            }
        } catch {
            add(kind, table, "\(error)")
        }
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }
}
