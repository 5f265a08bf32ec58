import AppleHealthExport
import Foundation
import TestSupport
import Testing

@Suite("Bytes of files")
struct FileSourceTests {
    @Test("A file is read whole, in pieces of any size", arguments: [1, 1000, 10_000_000])
    func file(piece: Int) throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/file"
        let bytes = (0..<(piece == 1 ? 3000 : 3_000_000)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let source = try FileSource(path: path)
        #expect(source.size == bytes.count && source.name == path)
        #expect(try source.all(piece: piece).get() == bytes)
        var more: [UInt8] = []
        #expect(try source.read(into: &more, atMost: 1) == 0)
    }

    @Test("A link is followed to a file")
    func link() throws {
        let folder = TemporaryFolder()
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: folder.path + "/file"))
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "file")
        #expect(try FileSource(path: folder.path + "/link").all().get() == [1, 2, 3])
    }

    @Test("A pipe is read to its end")
    func pipe() throws {
        let pipe = Pipe()
        let source = try FileSource(path: "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
        try pipe.fileHandleForWriting.write(contentsOf: [4, 5, 6])
        try pipe.fileHandleForWriting.close()
        #expect(source.size == nil)
        #expect(try source.all().get() == [4, 5, 6])
    }

    @Test("Folders, devices and missing files are refused")
    func others() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "/dev/zero")
        let codes: [(String, ArchiveError.Code)] = [
            (folder.path, .unreadable), ("/dev/zero", .unreadable), (folder.path + "/link", .unreadable),
            (folder.path + "/none", .missing),
        ]
        for (path, code) in codes {
            do throws(ArchiveError) {
                _ = try FileSource(path: path)
                Issue.record("\(path) is opened")
            } catch {
                #expect(error.code == code && error.file == path && error.description.hasPrefix(path))
            }
        }
    }

    @Test("An archive in a pipe is refused, and the pipe keeps its bytes when it is only looked at")
    func archiveInPipe() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: [0x50, 0x4B, 3, 4])
        try pipe.fileHandleForWriting.close()
        let path = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        #expect(try !ZipArchive.isZip(path: path))
        #expect(throws: ArchiveError.self) { try ZipArchive(path: path) }
        #expect(try FileSource(path: path).all().get() == [0x50, 0x4B, 3, 4])
    }
}
