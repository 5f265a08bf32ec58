import ColumnFormat
import Foundation
import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// The golden file was written by the release that introduced its format. It must be read for ever.
///
/// `HEALTHKV_MAKE_GOLDEN=1` writes it again: only for a version that was never released.
@Suite("Golden files")
struct GoldenTests {
    private static let current = "v2"

    private static func folder(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
    }

    private func options() -> SampleStore.Options {
        var options = SampleStore.Options()
        options.clock = GoldenHistory.clock
        options.maintainsWhenIdle = false
        return options
    }

    /// All samples as canonical bytes: content, identity, version; without clocks' replica, which differs between
    /// stores.
    private func digest(_ store: SampleStore) throws -> [UInt8] {
        var hash = SHA256()
        try store.read { transaction in
            for type in try transaction.types() {
                try transaction.forEachSample(SampleQuery(type.type, includeShadowed: true)) { sample in
                    var sample = sample
                    sample.modified = sample.modified.map { ChangeClock(time: $0.time, replica: 0) }
                    var encoder = CanonicalEncoder()
                    encoder.encode(sample)
                    hash.update(encoder.bytes)
                    return true
                }
            }
        }
        return hash.finalize()
    }

    /// Opening may touch lock.mdb.
    private func copied(_ golden: String) -> TemporaryFolder {
        let copy = TemporaryFolder()
        for name in FileSystem.names(in: Self.folder(golden)) ?? [] {
            FileSystem.write(FileSystem.bytes(of: Self.folder(golden) + "/" + name), to: copy.path + "/" + name)
        }
        return copy
    }

    @Test("A store of format 2 is read, is clean, and holds what was written")
    func readsVersion2() throws {
        let fresh = try SampleStore.temporary(options: options())
        try GoldenHistory.fill(fresh)
        if ProcessInfo.processInfo.environment["HEALTHKV_MAKE_GOLDEN"] == "1" {
            try? FileManager.default.removeItem(atPath: Self.folder(Self.current))
            try fresh.compact(to: Self.folder(Self.current))
        }
        let copy = copied(Self.current)
        var readOnly = options()
        readOnly.readOnly = true
        let golden = try SampleStore.open(at: copy.path, options: readOnly)
        #expect(try golden.info().formatVersion == 2)
        #expect(try golden.check().findings == [])
        #expect(try digest(golden) == digest(fresh))
        #expect(try golden.read { try $0.count() } == fresh.read { try $0.count() })
        #expect(try golden.read { try $0.pending() }.count == 1)
        #expect(try golden.read { try $0.anchors() }.first?.token == [1, 2, 3])
        for number in Array(GoldenHistory.links) + [GoldenHistory.links.upperBound] {
            let link = GoldenHistory.link(number)
            #expect(try golden.read { try $0.link(peer: "peer", sample: link.sample) } == link)
            #expect(try golden.read { try $0.link(peer: "peer", idAtPeer: link.idAtPeer) } == link)
        }
        #expect(try golden.read { try $0.deletedSample(id: GoldenHistory.id(50)) }?.isHidden == true)
        #expect(try fresh.check().findings == [])
        try golden.read { transaction in
            #expect(transaction.snapshot.header.session != 0)
            let tables = transaction.snapshot.tables
            guard let value = try transaction.snapshot.view.get(tables[.upkeep], HeaderCopy.key) else {
                Issue.record("The header has no second copy")
                return
            }
            let copy = try HeaderCopy.read(value).header
            #expect(copy.storeID == transaction.snapshot.header.storeID)
        }
        try golden.close()
        try fresh.close()
    }

    @Test("A store of format 2 can be written to")
    func writesVersion2() throws {
        let copy = copied(Self.current)
        let golden = try SampleStore.open(at: copy.path, options: options())
        let before = try golden.read { try $0.count() }
        try golden.write { try $0.save(Sample(.stepCount, 1, .count, at: Instant(nanoseconds: 5))) }
        #expect(try golden.read { try $0.count() } == before + 1)
        for number in [1, 20, 40] as [UInt64] {
            guard var sample = try golden.read({ try $0.sample(id: GoldenHistory.id(number)) }) else { continue }
            sample.version = 0
            let changed = sample
            try golden.write { _ = try $0.save(changed) }
        }
        // What was imported without ids is known again.
        #expect(try golden.importBatch(GoldenHistory.derived).unchanged == GoldenHistory.derived.count)
        #expect(try golden.check().findings == [])
        try golden.close()
    }

    @Test("A store of format 1, of before the first release, is refused by name and stays as it is")
    func refusesVersion1() throws {
        let copy = copied("v1")
        let bytes = FileSystem.bytes(of: copy.path + "/data.mdb")
        var readOnly = options()
        readOnly.readOnly = true
        for options in [options(), readOnly] {
            expectError(.olderFormat) { try SampleStore.open(at: copy.path, options: options) }
        }
        expectError(.olderFormat) { try SampleStore.check(at: copy.path) }
        expectError(.olderFormat) {
            _ = try SampleStore.repair(at: copy.path, to: copy.path + "-new")
        }
        #expect(!FileManager.default.fileExists(atPath: copy.path + "-new"))
        // A page of it that is damaged changes nothing.
        let damaged = copied("v1")
        var broken = bytes
        for offset in stride(from: 6 * 4_096, to: broken.count, by: 20 * 4_096) { broken[offset + 12] ^= 0xFF }
        FileSystem.write(broken, to: damaged.path + "/data.mdb")
        expectError(.olderFormat) { try SampleStore.check(at: damaged.path) }
        #expect(FileSystem.bytes(of: copy.path + "/data.mdb") == bytes)
    }
}
