import AppleHealthExport
import Foundation
import TestSupport
import Testing

@testable import AppleHealthExport

@Suite("Zip archives")
struct ZipArchiveTests {
    private let text = Array(String(repeating: "<Record value=\"7\"/>\n", count: 500).utf8)

    private func failure(_ archive: HandmadeArchive) -> ArchiveError? {
        do throws(ArchiveError) { _ = try ZipArchive(archive) } catch { return error }
        return nil
    }

    private func failure(_ bytes: [UInt8]) -> ArchiveError? {
        do throws(ArchiveError) { _ = try ZipArchive(bytes: bytes, name: "made.zip") } catch { return error }
        return nil
    }

    @Test("The fields of an entry are those of the directory")
    func fields() throws {
        var archive = HandmadeArchive(.init("apple_health_export/", []), .init(deflated: "export.xml", text))
        archive.entries[1].comment = Array("a comment".utf8)
        let read = try ZipArchive(archive)
        try #require(read.entries.count == 2)
        #expect(read.entries[0].isFolder && !read.entries[1].isFolder)
        let entry = read.entries[1]
        #expect(entry.name == "export.xml" && entry.size == text.count && entry.method == 8)
        #expect(entry.compressedSize == archive.entries[1].data.count && entry.crc == archive.entries[1].crc)
        #expect(entry.offset == 30 + "apple_health_export/".utf8.count && !entry.isEncrypted)
    }

    @Test("Attributes of macOS are known by their names")
    func appleDouble() throws {
        let names = [
            "__MACOSX/export.xml", "a/._export.xml", "._x", "__MACOSX/", "a/._b/c", "export._xml", "x__MACOSX/y",
        ]
        var archive = HandmadeArchive()
        archive.entries = names.map { .init($0, []) }
        #expect(try ZipArchive(archive).entries.map(\.isAppleDouble) == [true, true, true, true, false, false, false])
    }

    @Test("A name in UTF-8 is read with and without its flag, and wrong bytes are replaced")
    func names() throws {
        var archive = HandmadeArchive(.init("导出.xml", text), .init("导出.xml", text), .init("x", text))
        archive.entries[1].flags = 0
        archive.entries[2].flags = 0
        archive.entries[2].name = [0x61, 0xFF, 0x62]
        let read = try ZipArchive(archive)
        #expect(read.entries.map(\.name) == ["导出.xml", "导出.xml", "a\u{FFFD}b"])
        #expect(try read.contents(2) == text)
    }

    @Test("An empty archive has no entries", arguments: [false, true])
    func empty(isWide: Bool) throws {
        var archive = HandmadeArchive()
        archive.hasWideEnd = isWide
        #expect(try ZipArchive(archive).entries.isEmpty)
        archive.comment = Array("nothing".utf8)
        archive.junk = Array("junk".utf8)
        #expect(try ZipArchive(archive).entries.isEmpty)
    }

    @Test("ZIP64 records are read, also behind bytes in front", arguments: [0, 1, 5000])
    func wide(junk: Int) throws {
        var archive = HandmadeArchive(.init("a", text), .init(deflated: "b", text))
        archive.entries[0].isWide = true
        archive.entries[1].isWide = true
        archive.hasWideEnd = true
        archive.junk = [UInt8](repeating: 0x50, count: junk)
        let read = try ZipArchive(archive)
        #expect(try read.contents(0) == text)
        #expect(try read.contents(1) == text)
    }

    @Test("Bytes in front of the archive and behind it are tolerated")
    func junk() throws {
        var archive = HandmadeArchive(.init("a", text), .init(deflated: "b", text))
        archive.junk = Array("#!/bin/sh\n".utf8)
        #expect(try ZipArchive(archive).contents(1) == text)
        let trailed = try ZipArchive(bytes: archive.bytes + [0, 0, 0], name: "made.zip")
        #expect(try trailed.contents(0) == text)
    }

    @Test("A comment may be as long as it can be, and may look like an end")
    func comments() throws {
        var archive = HandmadeArchive(.init("a", text))
        archive.comment = [UInt8](repeating: 0x20, count: 65_535)
        #expect(try ZipArchive(archive).contents(0) == text)
        // An end record whose own comment ends with the file, and which leads nowhere.
        var fake = HandmadeArchive()
        fake.entryCount = 3
        fake.directorySize = 150
        fake.directoryOffset = 7
        archive.comment = fake.bytes
        #expect(try ZipArchive(archive).contents(0) == text)
    }

    @Test("More entries than 16 bits count are read with ZIP64 and without", arguments: [false, true])
    func manyEntries(isWide: Bool) throws {
        var archive = HandmadeArchive()
        archive.entries = [HandmadeArchive.Entry](repeating: .init("x", [1]), count: 66_000)
        archive.hasWideEnd = isWide
        let read = try ZipArchive(archive)
        #expect(read.entries.count == 66_000)
        #expect(try read.contents(65_999) == [1])
    }

    @Test("A cut archive is called cut off, at every length")
    func cut() throws {
        let bytes = HandmadeArchive(.init("a", Array(text.prefix(200))), .init(deflated: "b", text)).bytes
        for length in 4..<bytes.count {
            let error = try #require(failure(Array(bytes.prefix(length))))
            #expect(
                error.code == .cutOff && error.description == "made.zip: is cut off. Copy or export the archive again.")
        }
    }

    @Test("What is no archive is called so")
    func otherFiles() throws {
        #expect(failure([])?.code == .notAnArchive)
        #expect(failure([0x50])?.code == .notAnArchive)
        let error = try #require(failure(text))
        #expect(error.code == .notAnArchive && error.description.contains("is not a zip archive"))
    }

    @Test("An archive without its start is called cut off")
    func withoutStart() {
        let bytes = HandmadeArchive(.init("a", text), .init("b", text)).bytes
        #expect(failure(Array(bytes.dropFirst(20)))?.code == .cutOff)
    }

    @Test("Counts, sizes and offsets that contradict the directory are refused")
    func contradictions() {
        var archive = HandmadeArchive(.init("a", text))
        archive.entryCount = 2
        #expect(failure(archive)?.code == .damaged)
        archive.hasWideEnd = true
        archive.entryCount = .max
        #expect(failure(archive)?.code == .damaged)
        archive.entryCount = 1 + 65_536
        #expect(failure(archive)?.code == .damaged)
        archive.entryCount = nil
        for value in [UInt64.max, 1 << 63, 1 << 62, 1 << 40, 1 << 20] {
            archive.directorySize = value
            #expect(failure(archive) != nil)
        }
        archive.directorySize = nil
        for value in [UInt64.max, 1 << 63, 1 << 62, 1 << 40] {
            archive.directoryOffset = value
            #expect(failure(archive) != nil)
        }
        archive.directoryOffset = nil
        archive.entries[0].isWide = true
        archive.entries[0].size = .max
        #expect(failure(archive)?.entry == "a")
    }

    @Test("A part of several is refused")
    func parts() {
        var archive = HandmadeArchive(.init("a", text))
        archive.disk = 1
        #expect(failure(archive)?.code == .multipart)
        archive.hasWideEnd = true
        #expect(failure(archive)?.code == .multipart)
    }

    @Test("A directory that is too large is refused before it is read")
    func largeDirectory() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/large.zip"
        var end = HandmadeArchive()
        end.entryCount = 1
        end.directorySize = 300 << 20
        end.directoryOffset = 0
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        var signature: [UInt8] = []
        signature.append(number: ZipFormat.entrySignature)
        try handle.write(contentsOf: signature)
        try handle.seek(toOffset: 300 << 20)
        try handle.write(contentsOf: end.bytes)
        try handle.close()
        #expect(throws: ArchiveError.self) { try ZipArchive(path: path) }
        do throws(ArchiveError) { _ = try ZipArchive(path: path) } catch { #expect(error.code == .tooLarge) }
    }

    @Test("More entries than the limit are refused, whatever their count says", arguments: [5, 0])
    func tooManyEntries(claim: UInt64) throws {
        #expect(ZipDirectory.entriesMax == 1_000_000)
        var archive = HandmadeArchive()
        archive.entries = [HandmadeArchive.Entry](repeating: .init("x", text), count: 5)
        #expect(try ZipDirectory.entries(of: ArchiveFile(bytes: archive.bytes, name: "made.zip"), atMost: 5).count == 5)
        archive.entryCount = claim
        do throws(ArchiveError) {
            _ = try ZipDirectory.entries(of: ArchiveFile(bytes: archive.bytes, name: "made.zip"), atMost: 4)
            Issue.record("five entries are read")
        } catch {
            #expect(error.code == .tooLarge && error.file == "made.zip")
        }
    }

    @Test("A zip archive is known by its first bytes")
    func signatures() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/file"
        func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
        try write(HandmadeArchive(.init("a", text)).bytes)
        #expect(try ZipArchive.isZip(path: path))
        try write(HandmadeArchive().bytes)
        #expect(try ZipArchive.isZip(path: path))
        for other in [[], [0x50], [0x50, 0x4B], Array("PK\u{7}\u{8}".utf8), text] as [[UInt8]] {
            try write(other)
            #expect(try !ZipArchive.isZip(path: path))
        }
        #expect(throws: ArchiveError.self) { try ZipArchive.isZip(path: folder.path) }
        #expect(throws: ArchiveError.self) { try ZipArchive.isZip(path: folder.path + "/none") }
    }

    @Test("Errors name the file and print no control characters")
    func messages() throws {
        let folder = TemporaryFolder()
        do throws(ArchiveError) {
            _ = try ZipArchive(path: folder.path + "/none.zip")
        } catch {
            #expect(error.description == folder.path + "/none.zip: does not exist. Check the path.")
            #expect(error.localizedDescription == error.description)
        }
        let error = ArchiveError(.damaged, file: "a", entry: "\u{1B}[31mred\n", "is damaged.")
        #expect(error.description == "a: entry \"?[31mred?\": is damaged.")
        #expect(ArchiveError(.damaged, file: "a", entry: String(repeating: "x", count: 999), "").entry?.count == 201)
    }
}
