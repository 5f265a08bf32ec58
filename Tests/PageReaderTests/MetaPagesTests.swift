import Foundation
import PageReader
import TestSupport
import Testing

@Suite("Meta pages")
struct MetaPagesTests {
    /// The offset of the newest meta page.
    private func newest(_ sample: SampleFile) -> Int { sample.transaction % 2 * SampleFile.pageSize }

    @Test("A ruined meta page is reported, and the other one still leads to a sound snapshot", arguments: [0, 1])
    func oneRuined(index: Int) throws {
        let sample = try SampleFile(removing: false)
        var bytes = sample.bytes
        bytes.replaceSubrange(index * 4_096..<(index + 1) * 4_096, with: [UInt8](repeating: 0, count: 4_096))
        let metas = MetaPages(PageFile(bytes: bytes))
        #expect(metas.findings.map(\.kind) == [.metaUnreadable] && metas.findings.first?.page == UInt64(index))
        #expect(metas.newest?.index == 1 - index && metas.pageSize == 4_096)
    }

    @Test(
        "Meta fields that are out of bounds are found",
        arguments: [
            (40, PageFinding.Kind.metaInvalid), (44, .metaInvalid), (92, .metaInvalid), (143, .metaInvalid),
            (135, .metaInvalid), (151, .metaInvalid), (144, .metaInvalid), (145, .metaOrder), (20, .metaVersion),
            (16, .metaUnreadable), (10, .metaUnreadable), (0, .metaUnreadable),
        ])
    func bounds(offset: Int, kind: PageFinding.Kind) throws {
        let sample = try SampleFile(rounds: 6)
        var bytes = sample.bytes
        bytes[newest(sample) + offset] ^= 0x41
        #expect(MetaPages(PageFile(bytes: bytes)).findings.map(\.kind) == [kind])
    }

    @Test(
        "Roots behind the last page are allowed in the older meta page, where a failed write leaves them")
    func takenBack() throws {
        let sample = try SampleFile(rounds: 6)
        for index in 0..<2 {
            var bytes = sample.bytes
            bytes[index * SampleFile.pageSize + 128 + 4] ^= 0x41
            let metas = MetaPages(PageFile(bytes: bytes))
            let isNewest = index == sample.transaction % 2
            #expect(metas.findings.map(\.kind) == (isNewest ? [.metaInvalid] : []))
            #expect(metas.newest?.transaction == UInt64(sample.transaction - (isNewest ? 1 : 0)))
        }
    }

    @Test("Noise, zeros and empty files are not accepted as meta pages")
    func noise() {
        for bytes in [[], [UInt8](repeating: 0, count: 20_000), [UInt8](repeating: 0x5A, count: 20_000)] {
            let metas = MetaPages(PageFile(bytes: bytes))
            #expect(!metas.findings.isEmpty && metas.newest == nil)
        }
    }

    #if os(Linux)
        @Test("A failed read is a failure of the system, not a finding about the file")
        func unreadable() throws {
            // The first page of a process's own memory is not mapped: reading it fails as on a failing disk.
            let metas = MetaPages(try PageFile(path: "/proc/self/mem"))
            let failure = try #require(metas.failure)
            #expect(failure.isOfSystem && metas.newest == nil && "\(failure)".contains("Input/output"))
            #expect(MetaPages(PageFile(bytes: [])).failure == nil)
        }
    #endif

    @Test("A folder, a pipe or a device is refused as a file, and opening it does not block")
    func noFile() throws {
        let folder = TemporaryFolder()
        let pipe = folder.path + "/pipe"
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        for path in [folder.path, pipe, "/dev/null"] {
            #expect(throws: PageFileError.noFile) { try PageFile(path: path) }
        }
    }

    @Test("Pages of 16 KB are found where the meta page says")
    func largePages() throws {
        let sample = try SampleFile(rounds: 2)
        var bytes = [UInt8](repeating: 0, count: 2 * 16_384)
        for index in 0..<2 {
            bytes.replaceSubrange(
                index * 16_384..<index * 16_384 + 152, with: sample.bytes[index * 4_096..<index * 4_096 + 152])
            bytes[index * 16_384 + 41] = 0x40
        }
        let metas = MetaPages(PageFile(bytes: bytes))
        #expect(metas.findings.isEmpty && metas.pageSize == 16_384 && metas.newest != nil)
    }
}
