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

/// A disk that fails under an open store, and the locks that a process may lose without noticing.
@Suite struct FailingDiskTests {
    @Test(
        "After the disk has failed a commit the store refuses every call; opened again it holds what was durable",
        .enabled(if: LoopDisk.isPossible, "no file system on a loop device can be mounted here"))
    func failedCommit() throws {
        let folder = TemporaryFolder()
        let disk = try #require(LoopDisk(folder.path))
        let path = disk.folder + "/store"
        let store = try SampleStore.open(at: path, options: .small())
        try store.add(100, day: 0)
        #expect(disk.fail())
        do {
            try store.add(100, day: 1)
            Issue.record("the disk takes what it cannot keep")
        } catch let error as StoreError {
            // The pages are written before the meta page, and the disk refuses the first of them.
            #expect(error.code == .poisoned, "\(error)")
        }
        expectError(.poisoned) { try store.add(1, day: 2) }
        expectError(.poisoned) { try store.read { try $0.count() } }
        try store.close()
        #expect(disk.unmount() && disk.mount())
        let again = try SampleStore.open(at: path, options: .small())
        #expect(try again.read { try $0.count() } == 100)
        try again.expectClean()
        try again.close()
        #expect(disk.unmount())
    }

    #if os(Linux)
        @Test("A commit whose last write fails has an outcome of its own: unknown until the store is opened again")
        func failedMetaWrite() throws {
            let folder = TemporaryFolder()
            let store = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
            try store.add(100, day: 0)
            // LMDB writes the meta page through a descriptor of its own. No write to this device succeeds.
            let full = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
            #expect(dup2(full, try #require(metaDescriptor(of: folder.path + "/data.mdb"))) >= 0)
            close(full)
            expectError(.outcomeUnknown) { try store.add(100, day: 1) }
            expectError(.poisoned) { try store.add(1, day: 2) }
            expectError(.poisoned) { try store.read { try $0.count() } }
            try store.close()
            let again = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
            #expect(try again.read { try $0.count() } == 100)
            try again.expectClean()
            try again.close()
        }

        /// The descriptor of a file whose writes wait for the disk.
        private func metaDescriptor(of path: String) -> Int32? {
            (FileSystem.names(in: "/proc/self/fd") ?? []).compactMap { Int32($0) }.first { descriptor in
                var buffer = [CChar](repeating: 0, count: 4_096)
                let length = unsafe readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
                let target = buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
                return target == Array(path.utf8) && fcntl(descriptor, F_GETFL) & O_DSYNC != 0
            }
        }
    #endif

    @Test("Whatever a process does with a store that it has open, it keeps LMDB's locks")
    func locks() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
        try store.add(10, day: 0)
        _ = try store.check()
        _ = try SampleStore.check(at: path)
        _ = try store.info()
        try store.backup(to: folder.path + "/backup")
        try SampleStore.open(at: path, options: .small(mapSize: 64 << 20)).close()
        try store.compactInPlace()
        try store.add(10, day: 1)
        _ = try store.check()
        #expect(try store.blockingRead { try $0.count() } == 20)
        await #expect(processExitsWith: .success) { [path = path as String] in
            let descriptor = unsafe open(path + "/lock.mdb", O_RDWR)
            var lock = flock()
            lock.l_type = Int16(F_WRLCK)
            lock.l_whence = Int16(SEEK_SET)
            lock.l_len = 1
            // unsafe: C fills the structure during the call.
            #expect(unsafe fcntl(descriptor, F_GETLK, &lock) == 0)
            #expect(lock.l_type != Int16(F_UNLCK), "a process that closes any descriptor of the file loses its locks")
        }
        try store.close()
    }
}

/// A file system in a file, which can be made to fail as a disk does that loses its power.
struct LoopDisk {
    let folder: String
    private let image: String

    static let isPossible: Bool = {
        #if os(Linux)
            guard Machine.canMount else { return false }
            let folder = TemporaryFolder()
            guard let disk = LoopDisk(folder.path) else { return false }
            let fails = disk.fail()
            return disk.unmount() && fails
        #else
            return false
        #endif
    }()

    init?(_ place: String) {
        folder = place + "/disk"
        image = place + "/image"
        guard FileSystem.makeFolder(folder), Machine.run(["truncate", "-s", "16M", image]),
            Machine.run(["mkfs.ext4", "-q", image]), mount()
        else { return nil }
    }

    func mount() -> Bool { Machine.run(["mount", "-o", "loop", image, folder]) }

    /// Ends the file system for good: while anything holds a file of it, mounting the image again would show the
    /// file system that has failed. A child that was just started may hold one for another moment.
    func unmount() -> Bool {
        for _ in 0..<1_000 {
            if Machine.run(["umount", "-q", folder]) { return true }
            usleep(20_000)
        }
        return false
    }

    /// Lets the file system refuse everything from now on, with what it has not written lost.
    func fail() -> Bool {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
        var flags: UInt32 = 2
        return unsafe ioctl(descriptor, 0x8004_587D, &flags) == 0
    }
}
