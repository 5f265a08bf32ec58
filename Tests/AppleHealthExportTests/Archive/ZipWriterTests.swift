import AppleHealthExport
import Foundation
import TestSupport
import Testing

@testable import AppleHealthExport

@Suite("Writing zip archives")
struct ZipWriterTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/made.zip" }

    private func write(_ entries: [(name: String, contents: [UInt8])], piece: Int, isLarge: Bool = false) throws {
        let writer = try ZipWriter(to: path)
        for (name, contents) in entries {
            try writer.beginEntry(name: name, mayPassFourGigabytes: isLarge)
            for start in stride(from: 0, to: contents.count, by: piece) {
                try writer.write(Array(contents[start..<min(contents.count, start + piece)]))
            }
        }
        try writer.finish()
    }

    private func bytes() throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    @Test("What is written is read again", arguments: [false, true])
    func roundTrip(isLarge: Bool) throws {
        var random = SeededGenerator()
        let entries: [(name: String, contents: [UInt8])] = [
            ("apple_health_export/导出.xml", Array(String(repeating: "<Record/>\n", count: 100_000).utf8)),
            ("empty", []),
            ("random", (0..<700_000).map { _ in UInt8.random(in: 0 ... .max, using: &random) }),
            (String(repeating: "n", count: 65_535), [1]),
        ]
        try write(entries, piece: 300_000, isLarge: isLarge)
        let archive = try ZipArchive(path: path)
        #expect(archive.entries.map(\.name) == entries.map(\.name))
        for (index, entry) in entries.enumerated() {
            #expect(archive.entries[index].size == entry.contents.count && archive.entries[index].method == 8)
            #expect(try archive.contents(index, piece: 65_536) == entry.contents)
        }
    }

    @Test("The bytes depend on the contents alone, and the file is its owner's")
    func deterministic() throws {
        let entries: [(name: String, contents: [UInt8])] = [("a", Array("contents".utf8)), ("b", [])]
        try write(entries, piece: 100)
        let first = try bytes()
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
        // The second time over a longer file.
        try (Data(first) + Data(count: 1000)).write(to: URL(fileURLWithPath: path))
        try write(entries, piece: 100)
        #expect(try bytes() == first)
    }

    @Test("An archive without entries is an empty archive")
    func empty() throws {
        try write([], piece: 1)
        #expect(try bytes() == HandmadeArchive().bytes)
        #expect(try ZipArchive(path: path).entries.isEmpty)
    }

    @Test("More entries than 16 bits count are written", arguments: [65_534, 65_535])
    func manyEntries(count: Int) throws {
        let writer = try ZipWriter(to: path)
        for _ in 0..<count { try writer.beginEntry(name: "x") }
        try writer.finish()
        #expect(try ZipArchive(path: path).entries.count == count)
        let written = try bytes()
        var position = written.count - 42
        let hasLocator = written.number(at: &position, as: UInt32.self) == ZipFormat.wideLocatorSignature
        #expect(hasLocator == (count >= 65_535))
    }

    @Test("Values of 32 bits stay in place, and larger ones move to ZIP64")
    func wideValues() {
        var entry = ZipEntryRecord(name: [0x61], offset: 0xFFFF_FFFE, announcesWideSizes: false)
        entry.size = 0xFFFF_FFFE
        entry.compressedSize = 5
        #expect(entry.directoryRecord.count == 47 && entry.descriptor.count == 16)
        #expect(entry.directoryRecord[6] == 20)
        entry.size = 0xFFFF_FFFF
        #expect(entry.directoryRecord.count == 47 + 12 && entry.descriptor.count == 24)
        #expect(entry.directoryRecord[6] == 45)
        #expect(Array(entry.directoryRecord[47...]) == [1, 0, 8, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0])

        entry = ZipEntryRecord(name: [0x61], offset: 5 << 32, announcesWideSizes: false)
        #expect(entry.directoryRecord.count == 47 + 12 && entry.descriptor.count == 16)
        #expect(Array(entry.directoryRecord[47...]) == [1, 0, 8, 0, 0, 0, 0, 0, 5, 0, 0, 0])

        entry = ZipEntryRecord(name: [0x61], offset: 0, announcesWideSizes: true)
        #expect(entry.localHeader.count == 31 + 20 && entry.descriptor.count == 24 && entry.directoryRecord.count == 47)

        #expect(ZipEndRecord(entryCount: 1, offset: 0xFFFF_FFFE, size: 47).bytes.count == 22)
        #expect(ZipEndRecord(entryCount: 1, offset: 0xFFFF_FFFF, size: 47).bytes.count == 22 + 76)
    }

    @Test("A name that is too long and a folder that is missing are refused")
    func refusals() throws {
        let writer = try ZipWriter(to: path)
        #expect(throws: ArchiveError.self) { try writer.beginEntry(name: String(repeating: "n", count: 65_536)) }
        do throws(ArchiveError) {
            _ = try ZipWriter(to: folder.path + "/none/made.zip")
            Issue.record("a file in a missing folder is created")
        } catch {
            #expect(error.code == .unwritable && error.file == folder.path + "/none/made.zip")
        }
        #expect(throws: ArchiveError.self) { try ZipWriter(to: folder.path) }
    }

    @Test("A full disk is told", .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func fullDisk() throws {
        let writer = try ZipWriter(to: "/dev/full")
        do throws(ArchiveError) {
            try writer.beginEntry(name: "a")
            try writer.finish()
            Issue.record("a full disk takes bytes")
        } catch {
            #expect(error.code == .unwritable && error.file == "/dev/full")
        }
    }
}
