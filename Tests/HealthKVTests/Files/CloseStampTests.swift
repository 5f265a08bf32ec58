import Foundation
import LMDB
import Testing

@testable import HealthKV

@Suite("The stamp of a clean close")
struct CloseStampTests {
    private var limits: EngineLimits {
        var limits = EngineLimits()
        limits.stampedBytes = 0
        return limits
    }

    private func stamp(_ file: DamagedFile) -> String { file.folder.path + "/closed.stamp" }

    @Test("A clean close stamps the file, and opening for writing takes the stamp away")
    func lifecycle() throws {
        let file = try DamagedFile(limits: limits)
        #expect(CloseStamp.isMatching(folder: file.folder.path, limits))
        var options = SampleStore.Options()
        options.limits = limits
        let store = try SampleStore.open(at: file.folder.path, options: options)
        #expect(FileSystem.size(of: stamp(file)) == nil)
        try store.close()
        #expect(CloseStamp.isMatching(folder: file.folder.path, limits))
    }

    @Test("A reader neither writes nor removes a stamp")
    func reader() throws {
        let file = try DamagedFile(limits: limits)
        let before = FileSystem.smallFile(stamp(file))
        #expect(try file.readAll(readOnly: true, limits: limits) == 3_000)
        #expect(FileSystem.smallFile(stamp(file)) == before && before != nil)
    }

    @Test("A file that was changed after its stamp is walked again")
    func changed() throws {
        let file = try DamagedFile(limits: limits)
        let leaf = try #require(try file.pages(kind: 2).last)
        let sound = try file.bytes
        for page in try file.pages(kind: 2).prefix(20) {
            try file.change { bytes in
                bytes = sound
                for index in page * 4_096..<(page + 1) * 4_096 { bytes[index] = 0 }
            }
            #expect(!CloseStamp.isMatching(folder: file.folder.path, limits), "page \(leaf)")
        }
    }

    /// A store that does nothing, long enough that a change to its file shows in the file's times.
    private func openIdle() throws -> (file: DamagedFile, store: SampleStore) {
        let file = try DamagedFile(limits: limits)
        var options = SampleStore.Options()
        options.limits = limits
        options.maintainsWhenIdle = false
        let store = try SampleStore.open(at: file.folder.path, options: options)
        pause(milliseconds: 50)
        return (file, store)
    }

    @Test("What another program writes into an open store is not vouched for", arguments: [false, true])
    func changedWhileOpen(writes: Bool) throws {
        let (file, store) = try openIdle()
        let first = try #require(try file.bytes.first)
        try file.fill(first, 0..<1)
        pause(milliseconds: 50)
        if writes { try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(1))) }
        try store.close()
        #expect(FileSystem.size(of: stamp(file)) == nil)
        #expect(try file.readAll(limits: limits) == 3_000)
        #expect(CloseStamp.isMatching(folder: file.folder.path, limits), "the next opening has walked it")
    }

    @Test("A copy over an open store that keeps the time of the copied file is not vouched for")
    func copiedOver() throws {
        let (file, store) = try openIdle()
        let path = StoreFiles.dataPath(in: file.folder.path)
        let first = try #require(try file.bytes.first)
        try file.fill(first, 0..<1)
        var times = [timespec(tv_sec: 1_600_000_000, tv_nsec: 0), timespec(tv_sec: 1_600_000_000, tv_nsec: 0)]
        #expect(unsafe utimensat(AT_FDCWD, path, &times, 0) == 0)
        pause(milliseconds: 50)
        try store.close()
        #expect(FileSystem.size(of: stamp(file)) == nil)
    }

    @Test("Pages that were damaged under an idle store are found at the next opening")
    func damagedWhileOpen() throws {
        let (file, store) = try openIdle()
        let leaves = try file.pages(kind: 2)
        try file.change { bytes in
            for page in leaves { for index in page * 4_096..<(page + 1) * 4_096 { bytes[index] = 0 } }
        }
        try store.close()
        expectError(.damaged) { try file.readAll(limits: limits) }
    }

    @Test("A session that has found damage leaves no stamp")
    func damageFound() throws {
        let file = try DamagedFile(limits: limits)
        let pages = try file.pages(kind: 4)
        try file.change { bytes in
            for page in pages { for index in page * 4_096 + 16..<(page + 1) * 4_096 { bytes[index] = 0 } }
        }
        // Bodies are not walked: opening goes well.
        expectError(.damaged) { try file.readAll(limits: limits) }
        #expect(FileSystem.size(of: stamp(file)) == nil)
    }

    @Test("A stamp with a wrong byte is none")
    func torn() throws {
        let file = try DamagedFile(limits: limits)
        let bytes = try #require(FileSystem.smallFile(stamp(file)))
        for index in stride(from: 0, to: bytes.count, by: 7) {
            var torn = bytes
            torn[index] ^= 1
            FileSystem.remove(stamp(file))
            #expect(FileSystem.writeSmallFile(stamp(file), torn))
            #expect(!CloseStamp.isMatching(folder: file.folder.path, limits))
        }
    }

    @Test("Small files have no stamp")
    func small() throws {
        let file = try DamagedFile()
        #expect(FileSystem.size(of: stamp(file)) == nil)
    }
}
