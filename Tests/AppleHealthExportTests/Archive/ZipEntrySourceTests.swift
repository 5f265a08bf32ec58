import AppleHealthExport
import TestSupport
import Testing

@testable import AppleHealthExport

@Suite("Contents of zip entries")
struct ZipEntrySourceTests {
    private let text = Array(String(repeating: "<Record value=\"7\"/>\n", count: 500).utf8)

    /// The error of reading an entry, from opening it to its end, and how many bytes came before it.
    private func failure(_ archive: HandmadeArchive, _ index: Int = 0) throws -> (error: ArchiveError?, delivered: Int)
    {
        var delivered = 0
        do throws(ArchiveError) {
            let read = try ZipArchive(archive)
            let source = try read.source(of: read.entries[index])
            guard case .failure(let error) = source.all(piece: 999, delivered: &delivered) else {
                return (nil, delivered)
            }
            // The error is repeated.
            var more: [UInt8] = []
            #expect(throws: ArchiveError.self) { _ = try source.read(into: &more, atMost: 1) }
            return (error as? ArchiveError, delivered)
        } catch {
            return (error, delivered)
        }
    }

    @Test("A stored entry is read as it is", arguments: [1, 7, 1000, 5_000_000])
    func stored(piece: Int) throws {
        #expect(try ZipArchive(HandmadeArchive(.init("a", text))).contents(0, piece: piece) == text)
    }

    @Test("A deflated entry is decompressed", arguments: [1, 7, 1000, 5_000_000])
    func deflated(piece: Int) throws {
        #expect(try ZipArchive(HandmadeArchive(.init(deflated: "a", text))).contents(0, piece: piece) == text)
    }

    @Test("Deflated bytes of another compressor are decompressed")
    func foreign() throws {
        let contents = Array(("<HealthData>" + String(repeating: " <Record/>", count: 20) + "</HealthData>").utf8)
        var entry = HandmadeArchive.Entry("a", contents)
        entry.method = 8
        entry.data = [
            179, 241, 72, 77, 204, 41, 201, 112, 73, 44, 73, 180, 83, 176, 9, 74, 77, 206, 47, 74, 209, 31, 226, 44, 27,
            125, 36, 79, 1, 0,
        ]
        entry.compressedSize = 30
        #expect(entry.crc == 276_463_750)
        #expect(try ZipArchive(HandmadeArchive(entry)).contents(0) == contents)
    }

    @Test("An empty entry is empty, stored and deflated")
    func empty() throws {
        let archive = try ZipArchive(HandmadeArchive(.init("a", []), .init(deflated: "b", [])))
        #expect(try archive.contents(0).isEmpty)
        #expect(try archive.contents(1).isEmpty)
    }

    @Test("Sizes come from the directory, and the local header tells only where the data begins")
    func descriptors() throws {
        var archive = HandmadeArchive(.init("a", text), .init(deflated: "b", text), .init("c", text))
        for index in archive.entries.indices {
            archive.entries[index].hasDescriptor = true
            archive.entries[index].localExtra = [1, 2, 3, 4, 5]
        }
        let read = try ZipArchive(archive)
        for index in 0..<3 { #expect(try read.contents(index) == text) }
    }

    @Test("Sources of one archive are read by turns")
    func turns() throws {
        let other = Array("other contents".utf8)
        let archive = try ZipArchive(HandmadeArchive(.init(deflated: "a", text), .init("b", other)))
        let sources = try archive.entries.map { entry in try archive.source(of: entry) }
        var bytes: [[UInt8]] = [[], []]
        for _ in 0..<text.count + 1 {
            for index in 0..<2 { _ = try sources[index].read(into: &bytes[index], atMost: 1) }
        }
        #expect(bytes == [text, other])
    }

    @Test("A read appends, of no bytes reads nothing, and goes on returning 0 at the end")
    func calls() throws {
        let archive = try ZipArchive(HandmadeArchive(.init(deflated: "a", text)))
        let source = try archive.source(of: archive.entries[0])
        var bytes: [UInt8] = [1, 2]
        #expect(try source.read(into: &bytes, atMost: 0) == 0)
        #expect(try source.read(into: &bytes, atMost: -1) == 0)
        #expect(try source.read(into: &bytes, atMost: .max) == text.count)
        #expect(bytes == [1, 2] + text)
        for _ in 0..<3 { #expect(try source.read(into: &bytes, atMost: 10) == 0) }
    }

    @Test("A wrong checksum or size is told after the last byte", arguments: [false, true])
    func mismatches(isDeflated: Bool) throws {
        var archive = HandmadeArchive(isDeflated ? .init(deflated: "a", text) : .init("a", text))
        archive.entries[0].crc ^= 1
        var (error, delivered) = try failure(archive)
        #expect(error?.code == .mismatch && delivered == text.count)
        #expect(
            error?.description.hasPrefix("made.zip: entry \"a\": has contents that differ from their checksum.") == true
        )
        archive.entries[0].crc ^= 1
        for size in [0, text.count - 1, text.count + 1, Int(UInt32.max - 1)] {
            archive.entries[0].size = UInt64(size)
            (error, delivered) = try failure(archive)
            #expect(error?.code == .mismatch && (delivered == text.count || delivered > size && delivered < text.count))
        }
    }

    @Test("An entry that goes on far behind its size is not read to its end")
    func tooLong() throws {
        var archive = HandmadeArchive(.init(deflated: "a", [UInt8](repeating: 32, count: 8 << 20)))
        archive.entries[0].size = 1_000
        let (error, delivered) = try failure(archive)
        #expect(error?.code == .mismatch && delivered > 1_000 && delivered <= 2 << 20)
        #expect(error?.description.contains("more than 1000 bytes") == true)
    }

    @Test("A size of which only the low 32 bits are written is compared by them")
    func lowBits() throws {
        var archive = HandmadeArchive(.init("a", text))
        archive.entries[0].isWide = true
        archive.entries[0].size = UInt64(text.count) + 1 << 32
        #expect(try failure(archive).error?.code == .mismatch)
    }

    @Test("Wrong and cut deflate data is told after the bytes before it")
    func damagedData() throws {
        var random = SeededGenerator()
        let contents = (0..<50_000).map { _ in UInt8.random(in: 0..<16, using: &random) }
        var archive = HandmadeArchive(.init(deflated: "a", contents))
        let whole = archive.entries[0]
        archive.entries[0].data.removeLast(1000)
        archive.entries[0].compressedSize -= 1000
        var (error, delivered) = try failure(archive)
        #expect(error?.code == .damaged && delivered > 45_000 && delivered < 50_000)

        archive.entries[0] = whole
        archive.entries[0].data += [1, 2, 3]
        archive.entries[0].compressedSize += 3
        (error, delivered) = try failure(archive)
        #expect(error?.code == .damaged && delivered == contents.count)

        // A block of an impossible kind.
        archive.entries[0].data = [7]
        archive.entries[0].compressedSize = 1
        #expect(try failure(archive).error?.code == .damaged)
        archive.entries[0].data = []
        archive.entries[0].compressedSize = 0
        #expect(try failure(archive).error?.code == .damaged)
    }

    @Test("Encrypted entries, unknown methods and other parts are refused, and the rest is read")
    func refusals() throws {
        var archive = HandmadeArchive(.init("a", text), .init("b", text), .init("c", text), .init("d", text))
        archive.entries[0].flags |= ZipFormat.encryptedFlag
        archive.entries[1].method = 12
        archive.entries[2].disk = 3
        let read = try ZipArchive(archive)
        #expect(read.entries.map(\.isEncrypted) == [true, false, false, false])
        for (index, code) in [ArchiveError.Code.encrypted, .unknownMethod, .multipart].enumerated() {
            let error = try failure(archive, index).error
            #expect(error?.code == code && error?.entry == read.entries[index].name)
        }
        #expect(try read.contents(3) == text)
    }

    @Test(
        "Names that lead outside are refused",
        arguments: [
            "../a", "a/../b", "a/..", "..", "/a", "\\a", "a\\..\\b", "..\\a", "C:/a", "C:\\a", "c:a", "//a", "a//../b",
        ])
    func unsafeNames(name: String) throws {
        let error = try failure(HandmadeArchive(.init(name, text))).error
        #expect(error?.code == .unsafeName && error?.entry == name)
    }

    @Test(
        "Names with dots that lead nowhere are read",
        arguments: ["a..b", "...", "a/.../b", ".a", "a.", "12:30.csv", ""])
    func safeNames(name: String) throws {
        #expect(try failure(HandmadeArchive(.init(name, text))).error == nil)
    }

    @Test("Entries that share bytes are refused")
    func overlaps() throws {
        // Two entries of one header.
        var archive = HandmadeArchive(.init("a", text), .init("a", text), .init("c", text))
        archive.entries[1].offset = 0
        for index in 0..<2 { #expect(try failure(archive, index).error?.code == .overlapping) }
        #expect(try failure(archive, 2).error == nil)

        // An entry whose data contains the next one.
        let inner = HandmadeArchive(.init("b", Array("inner".utf8))).bytes
        archive = HandmadeArchive(.init("a", Array("outer".utf8) + inner), .init("b", Array("inner".utf8)))
        archive.entries[1].offset = 30 + 1 + 5
        for index in 0..<2 { #expect(try failure(archive, index).error?.code == .overlapping) }

        // An entry that reaches into the next one only by the length of its local header.
        archive = HandmadeArchive(.init("a", text), .init("b", text))
        var bytes = archive.bytes
        bytes[28] = 2
        let read = try ZipArchive(bytes: bytes, name: "made.zip")
        #expect(throws: ArchiveError.self) { try read.source(of: read.entries[0]) }
        #expect(try read.contents(1) == text)
    }

    @Test("An entry in or behind the directory is refused, and the rest is read")
    func outside() throws {
        for offset in [10_000_000, UInt64(UInt32.max) - 1] {
            var archive = HandmadeArchive(.init("a", text), .init("b", text))
            archive.entries[0].offset = offset
            #expect(try failure(archive).error?.code == .damaged)
            #expect(try failure(archive, 1).error == nil)
        }
        for size in [10_500, 1 << 20, 1 << 40, UInt64(Int.max)] {
            var archive = HandmadeArchive(.init("a", text), .init("b", text))
            archive.entries[1].isWide = true
            archive.entries[1].compressedSize = size
            #expect(try failure(archive, 1).error != nil)
            #expect(try failure(archive, 0).error == nil)
        }
    }

    @Test("A directory that points beside a local header is told with the entry")
    func misplaced() throws {
        var archive = HandmadeArchive(.init("a", text))
        archive.entries[0].offset = 1
        archive.entries[0].compressedSize -= 1
        let error = try failure(archive).error
        #expect(error?.code == .damaged && error?.entry == "a")
    }
}
