import LMDB
import PageReader
import TestSupport
import Testing

@testable import HealthKV

@Suite("Checking damaged files")
struct CheckOfDamageTests {
    @Test("Every kind of finding about pages has a name of its own among the store's")
    func names() {
        for kind in PageFinding.Kind.allCases { #expect(Finding.Kind(rawValue: kind.rawValue) != nil, "\(kind)") }
    }

    @Test("A sound store is clean, opened or not")
    func sound() throws {
        let file = try DamagedFile()
        let report = try SampleStore.check(at: file.folder.path)
        #expect(report.findings == [] && report.samples == 3_000 && report.unexamined.isEmpty)
    }

    @Test("A sound store is clean beside a writer that uses the pages of every snapshot again while they are read")
    func busyWriter() throws {
        let folder = TemporaryFolder()
        var options = SampleStore.Options.small(mapSize: 64 << 20)
        // A journal would use few pages again.
        options.limits.journaledCommits = 0
        let store = try SampleStore.open(at: folder.path, options: options)
        var day = 0
        func write() throws {
            for _ in 0..<8 {
                try store.add(300, day: day)
                day += 1
            }
        }
        try write()
        let inspection = try PageInspection(folder: folder.path, limit: 100, atWalk: write)
        #expect(!inspection.isSound && inspection.hasMoved, "the control: pages are used again")
        let report = try SampleStore.check(
            at: folder.path, limit: 100, progress: { _ in true }, onNotice: nil, atWalk: write)
        #expect(report.findings == [] && report.samples == 300 * day)
        try store.close()
    }

    @Test("Several damages are several findings, and what they hide is listed")
    func several() throws {
        let file = try DamagedFile()
        let leaves = try file.pages(kind: 2)
        try file.change { bytes in
            for page in leaves.prefix(6) + leaves.suffix(2) { bytes[page * 4_096 + 14] ^= 0x11 }
            bytes[4_096 + 16] ^= 1
        }
        let report = try SampleStore.check(at: file.folder.path)
        #expect(Set(report.findings.map(\.kind)).count > 1, "\(report.findings)")
        #expect(!report.unexamined.isEmpty)
    }

    @Test("Cut, emptied and noisy files give findings", arguments: [0, 1, 4_095, 8_000, 50_000])
    func cut(length: Int) throws {
        let file = try DamagedFile()
        try file.change { $0.removeLast($0.count - length) }
        #expect(try !SampleStore.check(at: file.folder.path).isClean)
        try file.change { bytes in bytes = [UInt8](repeating: 0xA5, count: 60_000) }
        let report = try SampleStore.check(at: file.folder.path)
        #expect(report.findings.contains { $0.kind == .metaUnreadable })
    }

    @Test("Findings about pages and values that cannot be read are counted apart")
    func counts() throws {
        let file = try DamagedFile()
        func counted() throws -> (pages: Int, values: Int) {
            try SampleStore.countDamage(in: file.folder.path) {}
        }
        let sound = try counted()
        #expect(sound.pages == 0 && sound.values == 0)
        // The number of pages of a long value is no longer right.
        let bodies = try file.pages(kind: 4)
        try file.change { bytes in for page in bodies { bytes[page * 4_096 + 14] ^= 1 } }
        let headers = try counted()
        #expect(headers.pages > 0 && headers.values == 0, "\(headers)")
        try file.change { bytes in
            for page in bodies {
                bytes[page * 4_096 + 14] ^= 1
                bytes[page * 4_096 + 2_000] ^= 1
            }
        }
        let values = try counted()
        #expect(values.values > 0, "\(values)")
    }

    @Test("Behind a damaged page the values of all others are verified")
    func values() throws {
        let file = try DamagedFile()
        let bodies = try file.pages(kind: 4)
        try file.change { bytes in
            bytes[16] ^= 1
            for page in bodies { bytes[page * 4_096 + 2_000] ^= 1 }
        }
        let report = try SampleStore.check(at: file.folder.path)
        let kinds = Set(report.findings.map(\.kind))
        #expect(kinds.contains(.metaUnreadable))
        #expect(!kinds.isDisjoint(with: [.chunkUnreadable, .detailsMismatch]), "\(report.findings)")
    }
}
