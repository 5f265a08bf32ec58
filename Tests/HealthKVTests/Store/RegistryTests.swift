import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// One data file and one lock file are open once in a process, whatever happens to their names.
@Suite struct RegistryTests {
    @Test(
        "Beside a handle whose file was replaced or removed the folder is not opened, and when that is closed it is",
        arguments: [true, false])
    func openedBesideReplaced(byOther: Bool) throws {
        let bench = try StoreInFolder()
        let (path, store) = (bench.path, bench.store)
        try bench.loseFile(toOther: byOther)
        // The lock file is the one that the handle holds.
        expectError(.replaced) { try SampleStore.open(at: path).close() }
        if !byOther { #expect(FileSystem.size(of: path + "/data.mdb") == nil, "nothing was made") }
        expectError(.replaced) { try store.add(10, day: 1) }
        expectError(.replaced) { try SampleStore.open(at: path).close() }
        try bench.expectAfterwards(0)
    }

    @Test("A handle that has lost its file is not shared when the file is back, and loses nothing when it is closed")
    func fileIsBack() throws {
        let bench = try StoreInFolder()
        let (path, away, store) = (bench.path, bench.folder.path + "/away.mdb", bench.store)
        #expect(FileSystem.rename(path + "/data.mdb", to: away))
        expectError(.replaced) { try store.add(10, day: 1) }
        #expect(FileSystem.rename(away, to: path + "/data.mdb"))
        expectError(.replaced) { try SampleStore.open(at: path).close() }
        try bench.expectAfterwards(10)
    }

    @Test("A suspended store stands for its folder, and not for the file that has the number of its file meanwhile")
    func numberUsedAgain() throws {
        let folder = TemporaryFolder()
        let (path, other, copy) = (folder.path + "/store", folder.path + "/other", folder.path + "/copy")
        let options = SampleStore.Options.small(mapSize: 64 << 20)
        let store = try SampleStore.open(at: path, options: options)
        try store.add(10, day: 0)
        try store.backup(to: copy)
        try store.suspend()
        let same = try SampleStore.open(at: path, options: options)
        #expect(same.core === store.core, "it waits for the same file")
        try same.close()
        // As a system does that gives the number of a removed file to a new one.
        #expect(FileSystem.makeFolder(other))
        #expect(FileSystem.rename(path + "/data.mdb", to: other + "/data.mdb"))
        #expect(FileSystem.remove(path + "/lock.mdb"))
        #expect(FileSystem.rename(copy + "/data.mdb", to: path + "/data.mdb"))
        let stranger = try SampleStore.open(at: other, options: options)
        #expect(stranger.core !== store.core)
        try stranger.add(5, day: 1)
        try store.resume()
        try store.add(7, day: 2)
        for (handle, folder) in [(stranger, other), (store, path)] {
            let shared = try SampleStore.open(at: folder, options: options)
            #expect(shared.core === handle.core, "each is still known by its file")
            try shared.close()
        }
        #expect(try stranger.read { try $0.count() } == 15)
        #expect(try store.read { try $0.count() } == 17)
        try stranger.close()
        try store.close()
    }
}
