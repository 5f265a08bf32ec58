import LMDB
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

/// A store that gives every lock and file back for a while.
@Suite struct SuspensionTests {
    @Test("A suspended store holds no file and no lock, refuses calls, and goes on after resume")
    func suspending() async throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        try store.add(10, day: 0)
        #expect(openFiles(in: folder.path) > 0)
        try store.suspend()
        #expect(openFiles(in: folder.path) == 0)
        expectError(.suspended) { try store.read { try $0.count() } }
        expectError(.suspended) { try store.add(10, day: 1) }
        await compactsElsewhere(folder.path)
        try store.resume()
        #expect(try store.blockingRead { try $0.count() } == 20)
        try store.add(10, day: 3)
        try store.expectClean()
        try store.close()
    }

    /// Another process adds ten samples and compacts the file.
    private func compactsElsewhere(_ path: String) async {
        await #expect(processExitsWith: .success) { [path = path as String] in
            let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
            try store.add(10, day: 2)
            try store.compactInPlace()
            try store.close()
        }
    }

    @Test("A store is suspended although another process has compacted its file", arguments: [true, false])
    func suspendedAfterCompaction(readOnly: Bool) async throws {
        let folder = TemporaryFolder()
        try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20)).close()
        var options = SampleStore.Options.small(mapSize: 64 << 20)
        (options.readOnly, options.maintainsWhenIdle) = (readOnly, false)
        let store = try SampleStore.open(at: folder.path, options: options)
        #expect(try store.blockingRead { try $0.count() } == 0)
        await compactsElsewhere(folder.path)
        try store.suspend()
        #expect(openFiles(in: folder.path) == 0)
        try store.resume()
        #expect(try store.blockingRead { try $0.count() } == 10)
        try store.close()
    }

    @Test("Suspending waits for readers of a file that was replaced, which holds its locks")
    func readersOfReplaced() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        try store.add(10, day: 0)
        let (begun, end) = (Gate(), Gate())
        let reader = Thread {
            _ = try? store.blockingRead { _ in
                begun.open()
                end.wait()
            }
        }
        begun.wait()
        try store.compactInPlace()
        expectError(.busy) { try store.suspend(within: .milliseconds(100)) }
        end.open()
        reader.join()
        try store.suspend()
        #expect(openFiles(in: folder.path) == 0)
        try store.resume()
        #expect(try store.blockingRead { try $0.count() } == 10)
        try store.close()
    }

    @Test("A store that is closed does not wait for another process that writes for long")
    func closingBesideWriter() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        for day in 0..<3 { try store.add(1, day: day) }
        #expect(store.core.file.journaledCommits > 0)
        let holder = WriteLock(StoreFiles.dataPath(in: folder.path))
        let start = ContinuousClock.now
        try store.close()
        #expect(start.duration(to: .now) < .seconds(60))
        holder.release()
        let again = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        #expect(try again.read { try $0.count() } == 3)
        try again.expectClean()
        try again.close()
    }

    /// The lock of writers, as another process holds it.
    private struct WriteLock {
        private let descriptor: Int32

        init(_ path: String) {
            descriptor = unsafe open(path, O_RDWR)
            #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        }

        func release() { close(descriptor) }
    }

    @Test("Suspending waits for no longer than it may: not for a write that waits, nor for an exchange of the file")
    func suspendingInTime() throws {
        let store = try SampleStore.temporary(options: .small(mapSize: 64 << 20))
        try store.add(10, day: 0)
        let core = store.core
        for holdsFile in [false, true] {
            let (begun, end) = (Gate(), Monitor(false))
            let holder = Thread {
                // Without limits to the waiting suspending would still come to its end.
                func hold() {
                    begun.open()
                    end.wait(atMost: .seconds(120)) {
                        $0
                    } then: { _ in
                    }
                }
                if holdsFile { return core.following.withLock { _ in hold() } }
                // As another process would.
                guard let transaction = try? core.environment.beginWrite() else { return }
                hold()
                _ = consume transaction
            }
            begun.wait()
            if !holdsFile {
                let waits = Gate()
                #expect(
                    core.thread().perform {
                        waits.open()
                        if let transaction = try? core.environment.beginWrite() { _ = consume transaction }
                    })
                waits.wait()
            }
            let writer = Thread { _ = try? store.add(10, day: holdsFile ? 2 : 1) }
            let start = ContinuousClock.now
            expectError(.busy) { try store.suspend(within: .milliseconds(200)) }
            #expect(start.duration(to: .now) < .seconds(60))
            #expect(try store.read { try $0.count() } >= 10, "the store is not suspended")
            end.update { $0 = true }
            holder.join()
            writer.join()
        }
        #expect(try store.read { try $0.count() } == 30)
        try store.suspend()
        expectError(.suspended) { try store.add(10, day: 3) }
        try store.resume()
        try store.add(10, day: 3)
        try store.expectClean()
        try store.close()
    }

    @Test("A store that finds an earlier state of itself after a suspension says so instead of going on with it")
    func restoredWhileSuspended() throws {
        let bench = try StoreInFolder()
        try bench.goBack {
            try bench.store.suspend()
            #expect(FileSystem.remove(bench.path + "/lock.mdb"))
        }
        expectError(.replaced) { try bench.store.resume() }
        expectError(.suspended) { try bench.store.read { try $0.count() } }
        try bench.expectAfterwards(10)
    }

    /// How many descriptors of this process lead into a folder.
    private func openFiles(in folder: String) -> Int {
        (FileSystem.names(in: "/proc/self/fd") ?? []).count { name in
            var buffer = [CChar](repeating: 0, count: 4_096)
            let length = unsafe readlink("/proc/self/fd/" + name, &buffer, buffer.count)
            let target = String(decoding: buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return target.hasPrefix(folder + "/") && target.hasSuffix(".mdb")
        }
    }
}
