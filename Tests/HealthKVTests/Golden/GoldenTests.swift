import ColumnFormat
import Foundation
import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// The golden file was written by the release that introduced its format. It must be read for ever.
///
/// `HEALTHKV_MAKE_GOLDEN=1` writes the last one again: only for a version that was never released.
@Suite("Golden files")
struct GoldenTests {
    /// Files of format 1, as it came to be: the second one has commits in the keys of chunks, the third one sessions in
    /// its values and a second copy of its header.
    static let names = ["v1", "v1-chunk-commits", "v1-sessions"]

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
                    if sample.id == GoldenHistory.notFinite.id { return true }
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

    @Test("A store of format 1 is read, is clean, and holds what was written", arguments: names)
    func readsVersion1(name: String) throws {
        let fresh = try SampleStore.temporary(options: options())
        try GoldenHistory.fill(fresh)
        if ProcessInfo.processInfo.environment["HEALTHKV_MAKE_GOLDEN"] == "1", name == Self.names.last {
            try? FileManager.default.removeItem(atPath: Self.folder(name))
            try fresh.compact(to: Self.folder(name))
        }
        let copy = copied(name)
        var readOnly = options()
        readOnly.readOnly = true
        let golden = try SampleStore.open(at: copy.path, options: readOnly)
        // Only the first one could still be given a number that is none.
        let isFirst = name == Self.names.first
        #expect(try golden.check().findings.map(\.kind) == (isFirst ? [.valueNotFinite] : []))
        #expect(try digest(golden) == digest(fresh))
        #expect(try golden.read { try $0.count() } == fresh.read { try $0.count() })
        let odd = try golden.read { try $0.sample(id: GoldenHistory.notFinite.id) }
        #expect(!isFirst || (odd?.quantity.value.isNaN == true && odd?.isOpenEnded == true))
        #expect(try golden.read { try $0.pending() }.count == 1)
        #expect(try golden.read { try $0.anchors() }.first?.token == [1, 2, 3])
        for number in Array(GoldenHistory.links) + [GoldenHistory.links.upperBound] {
            let link = GoldenHistory.link(number)
            #expect(try golden.read { try $0.link(peer: "peer", sample: link.sample) } == link)
            #expect(try golden.read { try $0.link(peer: "peer", idAtPeer: link.idAtPeer) } == link)
        }
        #expect(try golden.read { try $0.deletedSample(id: GoldenHistory.id(50)) }?.isHidden == true)
        #expect(try fresh.check().findings == [])
        if name == "v1-sessions" {
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
        }
        try golden.close()
        try fresh.close()
    }

    @Test("A store of format 1 can be written to", arguments: names)
    func writesVersion1(name: String) throws {
        let copy = copied(name)
        let golden = try SampleStore.open(at: copy.path, options: options())
        let before = try golden.read { try $0.count() }
        try golden.write { try $0.save(Sample(.stepCount, 1, .count, at: Instant(nanoseconds: 5))) }
        #expect(try golden.read { try $0.count() } == before + 1)
        // Chunks of both forms of keys are written again.
        for number in [1, 20, 40] as [UInt64] {
            guard var sample = try golden.read({ try $0.sample(id: GoldenHistory.id(number)) }) else { continue }
            sample.version = 0
            let changed = sample
            try golden.write { _ = try $0.save(changed) }
        }
        #expect(try golden.check().findings.map(\.kind) == (name == Self.names.first ? [.valueNotFinite] : []))
        try golden.close()
    }
}
