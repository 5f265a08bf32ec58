import Foundation
import LMDB
import Synchronization
import Testing
import TestSupport

@testable import HealthKV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Reading where the lock file cannot be used.
@Suite struct ReadOnlyTests {
    private func reading(_ notices: Notices) -> SampleStore.Options {
        var options = SampleStore.Options.small(mapSize: 64 << 20)
        options.readOnly = true
        options.onNotice = { notices.note($0) }
        return options
    }

    @Test(
        "A store on a medium for reading only is read, without locks, and says so",
        .enabled(if: Machine.canMount, "file systems cannot be mounted here"))
    func medium() throws {
        let folder = TemporaryFolder()
        try #require(Machine.mount("tmpfs", folder.path, size: "16m"))
        defer { Machine.unmount(folder.path) }
        let path = folder.path + "/store"
        let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
        try store.add(1_000, day: 0)
        try store.close()
        FileSystem.remove(path + "/lock.mdb")
        // A child of another test may hold a file open for a moment.
        var tries = 0
        while !Machine.run(["mount", "-o", "remount,ro", folder.path]), tries < 100 {
            tries += 1
            pause(milliseconds: 100)
        }
        try #require(tries < 100, "the file system stays busy")
        let notices = Notices()
        let read = try SampleStore.open(at: path, options: reading(notices))
        #expect(read.core.file.access == .immutable)
        #expect(try read.read { try $0.count() } == 1_000)
        #expect(try !read.info().usesLocks)
        #expect(notices.codes.contains(.withoutLocks))
        try read.expectClean()
        try read.close()
        expectError(.accessDenied) { try SampleStore.open(at: path) }
    }

    @Test(
        "Beside a live writer a view of the store that cannot be written to is read from whole copies, and says so",
        .enabled(if: Machine.canMount, "file systems cannot be mounted here"))
    func besideWriter() throws {
        let folder = TemporaryFolder()
        let (path, view) = (folder.path + "/store", folder.path + "/view")
        let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
        try store.add(1_000, day: 0)
        #expect(FileSystem.makeFolder(view))
        try #require(Machine.run(["mount", "--bind", path, view]))
        defer { Machine.unmount(view) }
        try #require(Machine.run(["mount", "-o", "remount,bind,ro", view]))
        #expect(!FileSystem.isImmutable(view + "/data.mdb"), "the same files can be written to by another name")
        let isDone = Atomic<Bool>(false)
        let writer = Thread {
            var day = 1
            while !isDone.load(ordering: .acquiring) {
                _ = try? store.add(50, day: day)
                day += 1
                pause(milliseconds: 2)
            }
        }
        var (read, busy) = (0, 0)
        let notices = Notices()
        while read + busy < 20 || (read == 0 && busy < 500) {
            do {
                let copy = try openAlone(view, reading(notices))
                #expect(copy.access == .copy)
                let count = try copy.count()
                #expect(count >= 1_000 && count % 50 == 0)
                read += 1
            } catch let error as StoreError where error.code == .busy {
                busy += 1
            }
        }
        isDone.store(true, ordering: .releasing)
        writer.join()
        #expect(read > 0, "busy \(busy) times")
        #expect(notices.codes.contains(.withoutLocks))
        try store.expectClean()
        try store.close()
    }

    /// Opens a file as another process would: in this one it is open already, and would be shared.
    private func openAlone(_ folder: String, _ options: SampleStore.Options) throws -> AloneFile {
        let file = try FileOpener(folder: folder, options: options, notices: NoticeBoard(options.onNotice)).open()
        return AloneFile(file: file)
    }

    private struct AloneFile {
        let file: OpenFile
        var access: OpenFile.Access { file.access }

        func count() throws -> Int {
            let header = try file.header()
            let journal = try journal()
            let context = ReadContext(
                tables: file.tables, path: "", journal: journal, header: header, names: NameBook(), verified: nil,
                feedIndex: nil)
            let read = ReadTransaction(try file.beginRead(), context: context)
            return try read.samples(of: .stepCount).count
        }

        private func journal() throws -> JournaledCommits {
            let lmdb = try file.beginRead()
            return try file.journal(of: lmdb.view, transaction: lmdb.id)
        }
    }

    /// A closed store of a thousand samples, in folders that all may look into.
    private static func openToOthers() throws -> (folder: TemporaryFolder, path: String) {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
        try store.add(1_000, day: 0)
        try store.close()
        for name in [folder.path, path] { FileSystem.protect(name, mode: 0o755) }
        return (folder, path)
    }

    @Test(
        "A user who may read the files and nothing else reads the store, and changes nothing in its folder",
        .enabled(if: Machine.canBecomeNobody, "only the superuser becomes another user"))
    func otherUser() async throws {
        await #expect(processExitsWith: .success) {
            Machine.useFolderOfAll()
            let (folder, path) = try ReadOnlyTests.openToOthers()
            defer { withExtendedLifetime(folder) {} }
            FileSystem.protect(path + "/data.mdb", mode: 0o644)
            let before = FileSystem.bytes(of: path + "/data.mdb")
            try Machine.becomeNobody()
            let notices = Notices()
            var options = SampleStore.Options.small(mapSize: 64 << 20)
            options.readOnly = true
            options.onNotice = { notices.note($0) }
            for _ in 0..<2 {
                let read = try SampleStore.open(at: path, options: options)
                #expect(read.core.file.access == .copy)
                #expect(try read.read { try $0.count() } == 1_000)
                try read.expectClean()
                try read.close()
            }
            #expect(notices.codes.contains(.withoutLocks))
            #expect(FileSystem.bytes(of: path + "/data.mdb") == before)
            expectError(.unsafeFolder) { try SampleStore.open(at: path) }
            try #require(FileSystem.protect(path + "/data.mdb", mode: 0o600) == false)
        }
    }

    @Test(
        "Damage met in a private copy is told of the store, and copies that killed processes left are removed",
        .enabled(if: Machine.canBecomeNobody, "only the superuser becomes another user"))
    func privateCopies() async throws {
        let own = try Machine.makeFolderOfAll()
        defer { try? FileManager.default.removeItem(atPath: own) }
        await #expect(processExitsWith: .success) { [own = own as String] in
            Machine.useFolder(own)
            let (folder, path) = try ReadOnlyTests.openToOthers()
            defer { withExtendedLifetime(folder) {} }
            FileSystem.write(Array(FileSystem.bytes(of: path + "/data.mdb").prefix(3 * 4_096)), to: path + "/data.mdb")
            FileSystem.protect(path + "/data.mdb", mode: 0o644)
            try Machine.becomeNobody()
            // A killed process's, a living one's, one that a link leads to, and what no copy made.
            let names = (0..<3).map { _ in
                FileSystem.temporaryFolder + "/" + UnfinishedFolder.copyPrefix + SampleID().description
            }
            let other = FileSystem.temporaryFolder + "/" + UnfinishedFolder.copyPrefix + "notes-\(getpid())"
            for name in [names[0], names[1], other] {
                #expect(FileSystem.makeFolder(name))
                FileSystem.write([1], to: name + "/data.mdb")
            }
            let living = try #require(FolderClaim(names[1]))
            #expect(unsafe symlink(other, names[2]) == 0)
            var options = SampleStore.Options.small(mapSize: 64 << 20)
            options.readOnly = true
            let error = #expect(throws: StoreError.self) { try SampleStore.open(at: path, options: options) }
            #expect(error?.code == .damaged && error?.path == path)
            #expect(!String(describing: error).contains(UnfinishedFolder.copyPrefix))
            #expect(!FileSystem.isFolder(names[0]))
            for name in [names[1], other] { #expect(FileSystem.size(of: name + "/data.mdb") == 1) }
            living.release()
            FileSystem.remove(names[2])
            for name in [names[1], other] {
                FileSystem.remove(name + "/data.mdb")
                FileSystem.removeFolder(name)
            }
        }
    }
}
