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

    private func raiseFirst(_ table: TableCode, of store: SampleStore) throws {
        _ = try store.core.onWriter { [core = store.core] in
            try core.transact { txn in
                var (key, value) = try GoodStore.first(txn.snapshot, table)
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

    @Test(
        "A chunk, details or a record with a newer version byte says so to its reader, and is no damage",
        arguments: [TableCode.chunks, .details, .changes])
    func values(table: TableCode) throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        try GoodStore.fill(store)
        try raiseFirst(table, of: store)
        // The first chunk of the table.
        let type = SampleType.bodyMass
        expectError(.newerFormat) {
            try store.read { txn in
                if table == .changes { _ = try txn.changes(since: nil) } else { _ = try txn.samples(of: type) }
            }
        }
        if table == .chunks {
            expectError(.newerFormat) { try store.read { try $0.series(type).values.count } }
            expectError(.newerFormat) {
                try store.read { try $0.forEachReadableSample(SampleQuery(type)) { _ in true } }
            }
        }
        let report = try store.check()
        #expect(Set(report.findings.map(\.kind.rawValue)) == ["newerFormat"], "\(report.findings)")
        try store.close()
    }
}
