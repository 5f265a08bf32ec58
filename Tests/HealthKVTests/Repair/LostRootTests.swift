import Foundation
import PageReader
import TestSupport
import Testing

@testable import HealthKV

/// What leads to all tables is wrong or lost: the root on the meta page, the page of table names, or both.
@Suite("Repair without a root")
struct LostRootTests {
    private let folder = TemporaryFolder()
    private var place: String { folder.path + "/store" }
    private var data: URL { URL(fileURLWithPath: place + "/data.mdb") }

    private static var options: SampleStore.Options {
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        // Each commit is a transaction of the data file.
        options.limits.journaledCommits = 0
        return options
    }

    private func batch(_ count: Int, day: Int) -> SampleBatch {
        var batch = SampleBatch()
        let kind = batch.kind(.stepCount, .count, source: Source(bundle: "a", name: "A"))
        for row in 0..<count {
            let start = Instant.day(day) + Int64(row) * 60_000_000_000
            batch.append(kind: kind, start: start, end: start + 1, value: Double(row + 1), id: SampleID())
        }
        return batch
    }

    /// Fills a store, calls `last` and takes the files as they are then, before the store is closed.
    private func filled(_ last: (SampleStore) throws -> Void = { _ in }) throws -> Data {
        let live = folder.path + "/live"
        let store = try SampleStore.open(at: live, options: LostRootTests.options)
        for day in 1...4 { try store.importBatch(batch(600, day: day)) }
        try last(store)
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: live + "/data.mdb"))
        try bytes.write(to: data)
        try store.close()
        return bytes
    }

    private func samples(_ folder: String) throws -> [SampleID: Double] {
        var options = LostRootTests.options
        (options.readOnly, options.createIfMissing) = (true, false)
        let store = try SampleStore.open(at: folder, options: options)
        defer { try? store.close() }
        return try Dictionary(
            uniqueKeysWithValues: store.read { try $0.samples(of: .stepCount).map { ($0.id, $0.quantity.value) } })
    }

    private func newestMeta() throws -> Meta { try #require(MetaPages(PageFile(path: data.path)).newest) }

    /// Repairs the store with some bytes changed.
    private func repaired(_ whole: Data, _ change: (inout [UInt8]) -> Void) throws -> (
        report: RepairReport, samples: [SampleID: Double]
    ) {
        var bytes = [UInt8](whole)
        change(&bytes)
        try Data(bytes).write(to: data)
        let new = folder.path + "/new"
        defer { try? FileManager.default.removeItem(atPath: new) }
        let report = try SampleStore.repair(at: place, to: new)
        return (report, try samples(new))
    }

    @Test("Any wrong bit in the root of a meta page loses nothing, and is no loss") func roots() throws {
        try withEachBit(wrongAt: 128) { bit, report in #expect(!report.isSound, "bit \(bit): \(report)") }
    }

    /// Repairs the store with each bit of a number on the newest meta page wrong in turn: nothing may be lost.
    private func withEachBit(wrongAt place: Int, _ body: (Int, RepairReport) throws -> Void) throws {
        let whole = try filled()
        let known = try samples(self.place)
        let offset = try newestMeta().index * DataPages.size + place
        for bit in 0..<64 {
            let (report, found) = try repaired(whole) { $0[offset + bit / 8] ^= 1 << UInt8(bit % 8) }
            #expect(found == known, "bit \(bit): \(report.findings)")
            #expect(!report.isLossy && report.check.isClean, "bit \(bit): \(report)")
            try body(bit, report)
        }
    }

    @Test("A store that check finds damaged is not called sound: any wrong bit in the number of the last page")
    func lastPages() throws {
        try withEachBit(wrongAt: 136) { bit, report in
            let isClean = try SampleStore.check(at: place).isClean
            #expect(report.isSound == isClean, "bit \(bit): \(report.findings)")
        }
    }

    @Test("Without the page of table names everything is back, and nothing is called lost") func names() throws {
        let whole = try filled()
        let known = try samples(place)
        let root = Int(try newestMeta().main.root)
        let (report, found) = try repaired(whole) { bytes in DataPages.zero(&bytes) { $0 == root } }
        #expect(found == known && report.check.isClean)
        #expect(!report.isLossy && !report.isSound, "\(report)")
    }

    @Test("Of a file that is cut before the page of table names, what is lost is told") func cut() throws {
        let whole = try filled()
        let known = try samples(place)
        let root = Int(try newestMeta().main.root)
        for pages in stride(from: 4, through: root, by: 2) {
            do {
                let (report, found) = try repaired(whole) { $0.removeLast($0.count - pages * DataPages.size) }
                #expect(found.count == known.count || report.isLossy, "\(pages) pages: \(report)")
            } catch let error as StoreError { #expect(error.code == .damaged, "\(pages) pages: \(error)") }
        }
    }

    @Test("Without the page of table names and one more, what is lost is told") func namesAndAnother() throws {
        let whole = try filled()
        let known = try samples(place)
        let root = Int(try newestMeta().main.root)
        for page in 2..<whole.count / DataPages.size where page != root {
            let (report, found) = try repaired(whole) { bytes in DataPages.zero(&bytes) { $0 == root || $0 == page } }
            let nameless = report.identitiesLost.reduce(0) { $0 + ($1.samples ?? 0) }
            let renamed = report.keepsNameless ? nameless : 0
            #expect(found.count { known[$0.key] != $0.value } == renamed, "page \(page)")
            #expect(found.count == known.count || report.isLossy, "page \(page): \(report)")
        }
    }

    @Test("A transaction that brought most samples is found without its meta page and its root")
    func newestTransaction() throws {
        let whole = try filled { try $0.importBatch(batch(5_000, day: 40)) }
        let known = try samples(place)
        let meta = try newestMeta()
        let (report, found) = try repaired(whole) { bytes in
            DataPages.zero(&bytes) { $0 == meta.index || $0 == Int(meta.main.root) }
        }
        #expect(known.count == 7_400)
        #expect(found == known, "\(found.count) of \(known.count): \(report.findings)")
        #expect(report.check.isClean && report.mayHoldDeleted)
    }

    @Test("Where neither meta page nor the newest root is left, an older state is not called whole")
    func bothMetas() throws {
        let whole = try filled()
        let known = try samples(place)
        let root = Int(try newestMeta().main.root)
        let (report, found) = try repaired(whole) { bytes in DataPages.zero(&bytes) { $0 < 2 || $0 == root } }
        #expect(found == known || report.isLossy, "\(found.count) of \(known.count): \(report)")
        #expect(found.count >= known.count - 600, "\(found.count) of \(known.count): \(report.findings)")
    }

    @Test("A small transaction that is lost with its meta page and its root is told") func smallTransaction() throws {
        let whole = try filled { store in
            let first = try #require(try store.read { try $0.first(of: .stepCount) })
            try store.write { _ = try $0.delete(id: first.id) }
        }
        let known = try samples(place)
        let meta = try newestMeta()
        let (report, found) = try repaired(whole) { bytes in
            DataPages.zero(&bytes) { $0 == meta.index || $0 == Int(meta.main.root) }
        }
        #expect(known.count == 2_399)
        // The state before it, and nothing else.
        #expect(found.count == 2_400 && report.transactionsLost == 1 && report.isLossy, "\(found.count): \(report)")
        #expect(report.check.isClean && report.lost.isEmpty && !report.mayHoldDeleted)
    }

    @Test("Any number in the other meta page's transaction is withstood") func forgedTransaction() throws {
        let whole = try filled()
        let known = try samples(place)
        let other = (1 - (try newestMeta().index)) * DataPages.size + 144
        for value: UInt8 in [0xFF, 0x7F, 0] {
            let (report, found) = try repaired(whole) { bytes in
                for offset in other..<other + 8 { bytes[offset] = value }
            }
            #expect(found == known && report.check.isClean, "\(value): \(report)")
        }
    }
}
