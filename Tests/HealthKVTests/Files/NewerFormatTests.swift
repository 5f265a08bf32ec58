import ColumnFormat
import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// A newer release wrote a value with all its checksums right: nothing is damaged, and nobody shall restore a backup.
@Suite("Values of a newer format")
struct NewerFormatTests {
    /// Gives a value the version after ours, as a newer release would write it.
    static func raise(_ bytes: inout [UInt8]) {
        func word(_ at: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) } }
        let (columns, shift) = (Int(bytes[3]), Int(bytes[26]))
        let sums = 32 + Int(bytes[24]) + Int(bytes[25]) + 8 * columns
        let blocks = (word(4) - sums - 4 + (1 << shift) + 3) / ((1 << shift) + 4)
        let body = sums + 4 * blocks + 4
        bytes[1] = FormatVersion.current + 1
        let head = Array(bytes[..<(body - 4)])
        let sum = Checksum.block(head.rawBytes)
        for index in 0..<4 { bytes[body - 4 + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * index)) }
    }

    /// A note, since each commit rewrites the header.
    private static let note = "note"

    /// Fills a store with values in every table.
    private func fill(_ store: SampleStore) throws {
        try GoodStore.fill(store)
        let total = DailyTotal(
            peer: "p", type: .stepCount, day: "2026-01-02", zone: "GMT", value: 100, unit: .count, isComplete: true,
            time: .day(5))
        try store.write { txn in
            try txn.setTotal(total)
            try txn.setPeer(RegisteredPeer(id: "p", registered: .day(1), lastSeen: .day(1)))
            try txn.appendAudit(event: "test", sample: GoodStore.lonely, displaced: [1])
            try txn.setSyncNote(NewerFormatTests.note, [1])
        }
        try store.expectClean()
    }

    private func raiseFirst(_ table: TableCode, of store: SampleStore) throws {
        _ = try store.core.onWriter { [core = store.core] in
            try core.transact { txn in
                var (key, value) = try GoodStore.first(txn.snapshot, table)
                if table == .meta {
                    key = SyncNote.key(NewerFormatTests.note, txn.state.header.hashKey)
                    value = try GoodStore.value(txn.snapshot, table, key)
                }
                Self.raise(&value)
                try txn.put(table, key, value)
            }
        }
    }

    private func raiseHeader(of store: SampleStore) throws {
        let tables = store.core.file.tables
        try store.core.onWriter { [core = store.core] in
            var transaction = try core.environment.beginWrite()
            var value = try #require(try transaction.view.get(tables[.meta], StoreHeader.key)?.copied())
            Self.raise(&value)
            try transaction.put(tables[.meta], StoreHeader.key, value)
            try transaction.commit()
        }
    }

    @Test("A store whose header has a newer version byte is refused as newer, and so is its check")
    func header() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path + "/store")
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
        try raiseHeader(of: store)
        try store.close()
        expectError(.newerFormat) { try SampleStore.open(at: folder.path + "/store") }
        expectError(.newerFormat) { try SampleStore.check(at: folder.path + "/store") }
    }

    /// Reads the first value of a table through a function that needs it. Returns `false` for a table without one: then
    /// the other copy of a name is read, or the value belongs to a part of the store that no function reads whole.
    private func read(_ table: TableCode, _ txn: borrowing HealthKV.ReadTransaction) throws -> Bool {
        switch table {
        // The first chunk of the table.
        case .chunks, .details: _ = try txn.samples(of: .bodyMass)
        case .changes: _ = try txn.changes(since: nil)
        case .meta: _ = try txn.syncNote(NewerFormatTests.note)
        case .peers: _ = try txn.peers()
        case .anchors: _ = try txn.anchors()
        case .totals: _ = try txn.totals(of: .stepCount, peer: "p")
        case .audit: _ = try txn.audit()
        case .pending: _ = try txn.pending()
        case .names, .namesReverse, .tombstones, .identity, .summaries, .links, .upkeep: return false
        }
        return true
    }

    @Test(
        "A value of any table with a newer version byte says so to its reader and to a check, and is no damage",
        arguments: TableCode.allCases)
    func values(table: TableCode) throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        try fill(store)
        let type = SampleType.bodyMass
        let isRead = try store.read { try read(table, $0) }
        try raiseFirst(table, of: store)
        if isRead { expectError(.newerFormat) { try store.read { try read(table, $0) } } }
        if table == .chunks {
            expectError(.newerFormat) { try store.read { try $0.series(type).values.count } }
            expectError(.newerFormat) {
                try store.read { try $0.forEachReadableSample(SampleQuery(type)) { _ in true } }
            }
        }
        let report = try store.check()
        #expect(Set(report.findings.map(\.kind)) == [.newerFormat], "\(report.findings)")
        #expect(report.findings.contains { $0.table == table.name } && report.isOfNewerRelease)
        try store.close()
    }
}
