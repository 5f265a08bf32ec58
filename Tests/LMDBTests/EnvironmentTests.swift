import Foundation
import Testing
import TestSupport

@testable import LMDB

@Suite struct EnvironmentTests {
    @Test("A new environment creates two files that only the owner can read")
    func filesArePrivate() throws {
        let folder = TemporaryFolder()
        let environment = try Environment(folder: folder.path)
        _ = try environment.makeTable()
        #expect(FileSystem.names(in: folder.path)?.sorted() == ["data.mdb", "lock.mdb"])
        #expect(fileStatus(folder.path + "/data.mdb")?.mode == 0o600)
        #expect(environment.path == folder.path)
        #expect(environment.maxKeySize == 511)
        #expect(environment.pageSize >= 4096)
    }

    @Test("A map of 32 GiB takes no more disk space than its data")
    func mapIsSparse() throws {
        let folder = TemporaryFolder()
        let environment = try Environment(folder: folder.path)
        _ = try environment.makeTable()
        #expect(try environment.info().mapSize <= 32 << 30)
        #expect(try environment.info().mapSize >= 1 << 26)
        #expect(try #require(fileStatus(folder.path + "/data.mdb")).size < 1 << 20)
    }

    @Test("A map larger than the address space is halved until it fits")
    func mapIsHalved() throws {
        let folder = TemporaryFolder()
        let environment = try Environment(folder: folder.path, options: .init(mapSize: 1 << 60))
        let mapSize = try environment.info().mapSize
        #expect(mapSize < 1 << 60)
        #expect(mapSize >= 1 << 26)
        let table = try environment.makeTable()
        try environment.write { try $0.put(table, [1], [2]) }
        #expect(try environment.value(table, [1]) == [2])
    }

    @Test("A folder that does not exist is an error that names it")
    func missingFolder() {
        #expect(throws: LMDBError(.noSuchFile, operation: "mdb_env_open", path: "/no/such/folder")) {
            try Environment(folder: "/no/such/folder")
        }
    }

    @Test("Data survives closing and reopening")
    func reopening() throws {
        let folder = TemporaryFolder()
        let first = try Environment.small(folder, scratch: false)
        let table = try first.makeTable()
        try first.write { try $0.put(table, [1], [2, 3]) }
        #expect(first.close())
        let second = try Environment.small(folder)
        let found = try second.read { try second.openTable(named: "table", in: $0) }
        #expect(try second.value(#require(found), [1]) == [2, 3])
        try second.expectIntact()
    }

    @Test("While another program holds the folder's lock, nothing is closed under it; the next opening closes it first")
    func closedWithoutLock() throws {
        let folder = TemporaryFolder()
        let first = try Environment(folder: folder.path, options: .impatient)
        let table = try first.makeTable()
        try first.write { try $0.put(table, [1], [2, 3]) }
        let claim = try #require(FolderClaim(folder.path))
        #expect(first.closeNow(within: .milliseconds(10)) == .folderHeld)
        #expect(try first.value(table, [1]) == [2, 3], "it is still open")
        #expect(first.close())
        #expect(throws: LMDBError.self) { _ = try first.beginRead() }
        #expect(PostponedClosing.waits(in: folder.path))
        #expect(maps(of: folder.path) ?? 1 == 1, "the file stays mapped")
        #expect(throws: LMDBError(.folderHeld, operation: "flock", path: folder.path)) {
            try Environment(folder: folder.path, options: .impatient)
        }
        claim.release()
        let second = try Environment(folder: folder.path, options: .impatient)
        #expect(!PostponedClosing.waits(in: folder.path))
        #expect(maps(of: folder.path) ?? 1 == 1)
        let found = try second.read { try second.openTable(named: "table", in: $0) }
        #expect(try second.value(#require(found), [1]) == [2, 3])
        #expect(second.closeNow(within: .zero) == .closed)
        #expect(maps(of: folder.path) ?? 0 == 0)
    }

    @Test("What could not be closed is closed with the next environment, and an abandoned one waits as well")
    func closedWithAnother() throws {
        let (folder, other) = (TemporaryFolder(), TemporaryFolder())
        let claim = try #require(FolderClaim(folder.path))
        claim.release()
        do {
            let abandoned = try Environment(folder: folder.path, options: .impatient)
            _ = try abandoned.makeTable()
            let claim = try #require(FolderClaim(folder.path))
            withExtendedLifetime(abandoned) {}
            defer { claim.release() }
            abandoned.close()
            try Environment.small(other).close()
            #expect(PostponedClosing.waits(in: folder.path))
        }
        try Environment.small(other).close()
        #expect(!PostponedClosing.waits(in: folder.path))
        #expect(maps(of: folder.path) ?? 0 == 0)
    }

    /// How often this process has mapped the data file of a folder; `nil` on systems that do not tell.
    private func maps(of folder: String) -> Int? {
        // The file has no size, so it must be read to its end.
        guard let data = try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").count { $0.hasSuffix(folder + "/data.mdb") }
    }

    @Test("Closing twice is no error, and a closed environment reports that it is closed")
    func closing() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        #expect(environment.close())
        #expect(environment.close())
        #expect(code { _ = try environment.beginRead() } == .closed)
        #expect(code { _ = try environment.beginWrite() } == .closed)
        #expect(code { _ = try environment.info() } == .closed)
        #expect(code { _ = try environment.readers() } == .closed)
        #expect(code { try environment.clearStaleReaders() } == .closed)
        #expect(code { try environment.sync() } == .closed)
        #expect(code { try environment.resize(to: 1 << 27) } == .closed)
        #expect(code { try environment.adoptSize() } == .closed)
        #expect(code { try environment.copy(toFolder: folder.inner("copy"), compacting: true) } == .closed)
    }

    @Test("An environment with open transactions does not close")
    func closingWhileInUse() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        do {
            let transaction = try environment.beginRead()
            #expect(!environment.close())
            #expect(try transaction.view.get(table, [1]) == nil)
        }
        do {
            var transaction = try environment.beginWrite()
            #expect(!environment.close())
            try transaction.put(table, [1], [1])
        }
        #expect(environment.close())
    }

    @Test("An environment opened for reading refuses to write")
    func readOnly() throws {
        let folder = TemporaryFolder()
        let writer = try Environment.small(folder)
        let table = try writer.makeTable()
        try writer.write { try $0.put(table, [1], [2]) }
        #expect(writer.close())
        for options in [Environment.Options(readOnly: true), Environment.Options(immutable: true)] {
            let reader = try Environment(folder: folder.path, options: options)
            #expect(code { _ = try reader.beginWrite() } == .accessDenied)
            let table = try #require(try reader.read { try reader.openTable(named: "table", in: $0) })
            #expect(try reader.value(table, [1]) == [2])
            #expect(reader.close())
        }
    }

    @Test("An immutable environment takes no reader slot")
    func immutable() throws {
        let folder = TemporaryFolder()
        #expect(try Environment.small(folder).makeTable().name == "table")
        let environment = try Environment(folder: folder.path, options: .init(immutable: true))
        let transaction = try environment.beginRead()
        #expect(try environment.readers() == [])
        #expect(try transaction.view.tableNames() == ["table"])
    }

    @Test("No option lets LMDB write through the map, skip the sync of the meta page, or leave old memory in pages")
    func flags() {
        let (noSync, readOnly, noLock, noThreads) = (0x1_0000, 0x2_0000, 0x40_0000, 0x20_0000)
        for bits in 0..<8 {
            let options = Environment.Options(
                readOnly: bits & 1 != 0, scratch: bits & 2 != 0, immutable: bits & 4 != 0)
            var allowed = noThreads
            if options.readOnly || options.immutable { allowed |= readOnly }
            if options.scratch { allowed |= noSync }
            if options.immutable { allowed |= noLock }
            #expect(Int(options.flags) == allowed, "\(options)")
        }
    }

    @Test("Information counts pages and transactions")
    func information() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let before = try environment.info()
        let table = try environment.makeTable()
        try environment.write { try $0.put(table, [1], [UInt8](repeating: 1, count: 100_000)) }
        let after = try environment.info()
        #expect(after.mapSize == 64 << 20)
        #expect(after.maxReaders == 510)
        #expect(after.lastTransaction == before.lastTransaction + 2)
        #expect(after.lastPage > before.lastPage + 24)
        try environment.sync()
        try environment.expectIntact()
    }
}
