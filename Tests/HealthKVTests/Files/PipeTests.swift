import LMDB
import PageReader
import TestSupport
import Testing

@testable import HealthKV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Opening a pipe waits for a writer, so a store opens nothing but regular files.
@Suite("Pipes in place of files", .timeLimit(.minutes(30)))
struct PipeTests {
    private func makeStore(_ folder: String) throws {
        let store = try SampleStore.open(at: folder)
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
        try store.close()
    }

    @Test("A pipe as the stamp of a clean close delays no opening, and is taken away by a writer")
    func stamp() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try makeStore(path)
        FileSystem.remove(path + "/closed.stamp")
        for name in ["closed.stamp", "closed.stamp.partial"] { #expect(unsafe mkfifo(path + "/" + name, 0o600) == 0) }
        var options = SampleStore.Options()
        options.readOnly = true
        options.limits.stampedBytes = 0
        let reader = try SampleStore.open(at: path, options: options)
        #expect(try reader.read { try $0.count() } == 1)
        try reader.close()
        #expect(try SampleStore.check(at: path).isClean)
        options.readOnly = false
        try SampleStore.open(at: path, options: options).close()
    }

    @Test("A pipe in place of the data file or the lock file is refused", arguments: ["data.mdb", "lock.mdb"])
    func files(name: String) throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try makeStore(path)
        FileSystem.remove(path + "/" + name)
        #expect(unsafe mkfifo(path + "/" + name, 0o600) == 0)
        let code = name == "data.mdb" ? StoreError.Code.notAStore : .unsafeFolder
        expectError(code) { try SampleStore.open(at: path) }
        expectError(code) { try SampleStore.check(at: path) }
    }

    @Test("A pipe with the name of a successor delays no opening, and is taken away by a writer")
    func leftover() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let next = path + "/" + FileReplacement.nextName
        try makeStore(path)
        #expect(unsafe mkfifo(next, 0o600) == 0)
        var options = SampleStore.Options()
        options.readOnly = true
        let reader = try SampleStore.open(at: path, options: options)
        #expect(try reader.read { try $0.count() } == 1)
        try reader.close()
        #expect(try SampleStore.check(at: path).isClean)
        let store = try SampleStore.open(at: path)
        #expect(FileSystem.size(of: next) == nil)
        #expect(unsafe mkfifo(next, 0o600) == 0)
        try store.compactInPlace()
        #expect(FileSystem.size(of: next) == nil)
        #expect(try store.read { try $0.count() } == 1)
        try store.expectClean()
        try store.close()
    }

    @Test("A pipe in place of the successor of a retired file is refused, and does not replace that file")
    func successor() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let next = path + "/" + FileReplacement.nextName
        try makeStore(path)
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            var options = SampleStore.Options()
            options.limits.atReplacement = { if $0 == .retired { kill(getpid(), SIGKILL) } }
            let store = try SampleStore.open(at: path, options: options)
            try store.compactInPlace()
        }
        let kept = folder.path + "/kept"
        #expect(FileSystem.rename(next, to: kept))
        #expect(unsafe mkfifo(next, 0o600) == 0)
        expectError(.replaced) { try SampleStore.open(at: path).close() }
        expectError(.replaced) { try SampleStore.check(at: path) }
        // With its successor put back, the store is whole.
        #expect(FileSystem.remove(next) && FileSystem.rename(kept, to: next))
        let store = try SampleStore.open(at: path)
        #expect(try store.blockingRead { try $0.count() } == 1)
        try store.expectClean()
        try store.close()
    }

    @Test("Small files, data files and lists of mounts are read from regular files only")
    func reads() throws {
        let folder = TemporaryFolder()
        let pipe = folder.path + "/pipe"
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        #expect(FileSystem.smallFile(pipe) == nil)
        let opens = DataFile(pipe) != nil
        #expect(!opens)
        #expect(throws: PageFileError.noFile) { try PageFile(path: pipe) }
    }

    @Test("A copy is not written into a pipe that stands at its place")
    func copies() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try makeStore(path)
        let store = try SampleStore.open(at: path)
        for (number, name) in ["data.mdb", "data.mdb.partial"].enumerated() {
            let target = folder.inner("copy\(number)")
            #expect(unsafe mkfifo(target + "/" + name, 0o600) == 0)
            #expect(throws: StoreError.self) { try store.backup(to: target) }
            #expect(throws: StoreError.self) { try store.compact(to: target) }
        }
        try store.close()
    }
    @Test("A program that locks the folder delays an opening for a while, and then is named")
    func lockedFolder() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try makeStore(path)
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(descriptor, LOCK_EX) == 0)
        var options = SampleStore.Options()
        options.limits.folderPatience = .milliseconds(50)
        expectError(.busy) { try SampleStore.open(at: path, options: options) }
        #expect(flock(descriptor, LOCK_UN) == 0)
        try SampleStore.open(at: path, options: options).close()
        close(descriptor)
    }
}
