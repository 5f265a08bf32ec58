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

/// Gathers the notices of a store.
final class Notices: Sendable {
    private let all = Monitor<[StoreNotice]>([])
    private let tellsOfOverlay: Bool

    /// In a container the folder of the tests may lie on an overlay, which each opening tells of.
    init(tellsOfOverlay: Bool = false) { self.tellsOfOverlay = tellsOfOverlay }

    static func withoutOverlay(_ notices: [StoreNotice]) -> [StoreNotice] { notices.filter { $0.code != .fileSystem } }

    var codes: [StoreNotice.Code] {
        all.withLock { (tellsOfOverlay ? $0 : Notices.withoutOverlay($0)).map(\.code) }
    }

    func note(_ notice: StoreNotice) { all.withLock { $0.append(notice) } }
}

extension SampleStore.Options {
    /// Small sizes, so that a few hundred samples fill a store.
    static func small(mapSize: Int = 1 << 20, sizeLimit: Int? = nil) -> SampleStore.Options {
        var options = SampleStore.Options()
        options.mapSize = mapSize
        options.sizeLimit = sizeLimit
        options.maintainsWhenIdle = false
        return options
    }
}

extension SampleStore {
    /// Imports rows with ids of their own, a thousand in a commit.
    func fill(thousands: Int, day: Int = 0) throws {
        for number in 0..<thousands { try add(1_000, day: day, second: number * 1_000) }
    }

    @discardableResult
    func add(_ rows: Int, day: Int, second: Int = 0) throws -> ImportReport {
        let batch = SampleStore.batch(rows, day: day, second: second)
        return try write { try $0.importBatch(batch) }
    }

    static func batch(_ rows: Int, day: Int, second: Int = 0) -> SampleBatch {
        var batch = SampleBatch()
        for row in 0..<rows {
            batch.append(Sample(.stepCount, Double(row % 500), .count, at: .day(day, second + row)))
        }
        return batch
    }

    /// Imports until the store refuses; answers how many samples were added, and the error.
    func fillUp(limit: Int = 400_000) throws -> (count: Int, error: StoreError?) {
        var count = 0
        while count < limit {
            do {
                try add(1_000, day: 1, second: count)
                count += 1_000
            } catch let error as StoreError {
                return (count, error)
            }
        }
        return (count, nil)
    }
}

/// An open store of ten samples whose data file can be lost under it.
struct StoreInFolder {
    let folder = TemporaryFolder()
    let store: SampleStore
    var path: String { folder.path + "/store" }

    init() throws {
        store = try SampleStore.open(at: folder.path + "/store", options: .small(mapSize: 64 << 20))
        try store.add(10, day: 0)
    }

    /// Puts a new store's data file in the place of this one's, or removes it.
    func loseFile(toOther: Bool) throws {
        guard toOther else { return #expect(FileSystem.remove(path + "/data.mdb")) }
        try SampleStore.open(at: folder.path + "/other").close()
        #expect(FileSystem.rename(folder.path + "/other/data.mdb", to: path + "/data.mdb"))
    }

    /// Writes ten more, and puts a backup from before in the place of the data file.
    func goBack(_ whileGone: () throws -> Void = {}) throws {
        try store.backup(to: folder.path + "/backup")
        try store.add(10, day: 1)
        try whileGone()
        #expect(FileSystem.rename(folder.path + "/backup/data.mdb", to: path + "/data.mdb"))
    }

    /// Closes it and opens what stands in its folder now.
    func expectAfterwards(_ count: Int) throws {
        try store.close()
        let again = try SampleStore.open(at: path)
        #expect(try again.read { try $0.count() } == count)
        try again.close()
    }
}

/// What a test needs of the system and not every machine gives.
enum Machine {
    static var isLong: Bool { unsafe getenv("HEALTHKV_LONG") != nil }

    static var isRoot: Bool { geteuid() == 0 }

    /// The first folder for temporary files that every user may write into; the usual one may be its owner's alone.
    private static let folderOfAll: String? = [FileSystem.temporaryFolder, "/tmp", "/var/tmp"].first { folder in
        guard FileSystem.statusOfLink(folder)?.mode == 0o777 else { return false }
        var (way, isOpen) = (folder, true)
        while isOpen, let slash = way.lastIndex(of: "/"), slash > way.startIndex {
            way = String(way[..<slash])
            isOpen = FileSystem.statusOfLink(way).map { $0.mode & 0o001 != 0 } ?? false
        }
        return isOpen
    }

    static var canBecomeNobody: Bool { isRoot && folderOfAll != nil }

    /// Puts the temporary files of this process, which must be a test's own, where every user may.
    static func useFolderOfAll() { if let folderOfAll { _ = unsafe setenv("TMPDIR", folderOfAll, 1) } }

    /// Makes a folder for temporary files that everyone may use and no other test does: another process that opens a
    /// store with a private copy removes what it takes for left behind.
    static func makeFolderOfAll() throws -> String {
        let own = try #require(folderOfAll) + "/healthkv-tests-own-\(UInt64.random(in: 0 ... .max))"
        try #require(FileSystem.makeFolder(own) && FileSystem.protect(own, mode: 0o777))
        return own
    }

    /// Puts the temporary files of this process, which must be a test's own, into a folder.
    static func useFolder(_ folder: String) { _ = unsafe setenv("TMPDIR", folder, 1) }

    /// Makes this process, which must be a test's own, one of a user who owns nothing.
    static func becomeNobody() throws { try #require(setgid(65_534) == 0 && setuid(65_534) == 0) }

    /// Whether file systems can be mounted: by the superuser, outside most containers.
    static let canMount: Bool = {
        #if os(Linux)
            guard isRoot else { return false }
            let folder = TemporaryFolder()
            guard mount("tmpfs", folder.path, size: "64k") else { return false }
            return unmount(folder.path)
        #else
            return false
        #endif
    }()

    static func mount(_ kind: String, _ folder: String, size: String) -> Bool {
        run(["mount", "-t", kind, "-o", "size=\(size)", "none", folder])
    }

    /// At once, also where a child of another test holds a file open for a moment.
    @discardableResult
    static func unmount(_ folder: String) -> Bool { run(["umount", "-l", folder]) }

    /// Runs a program of the system; answers whether it succeeded.
    @discardableResult
    static func run(_ words: [String]) -> Bool {
        // unsafe: the strings live until the child has started with copies of them.
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var child: pid_t = 0
        guard unsafe posix_spawnp(&child, words[0], nil, nil, arguments, environ) == 0 else { return false }
        var status: Int32 = -1
        guard unsafe waitpid(child, &status, 0) == child else { return false }
        return status == 0
    }
}

extension FileSystem {
    /// All bytes of a file.
    static func bytes(of path: String) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0, let size = size(of: path) else { return [] }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: size)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, size, 0) }
        return Array(bytes.prefix(max(0, count)))
    }

    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
        _ = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        close(descriptor)
    }
}

extension [UInt8] {
    func contains(text: String) -> Bool {
        let wanted = Array(text.utf8)
        guard count >= wanted.count else { return false }
        var from = startIndex
        while let found = self[from...].firstIndex(of: wanted[0]) {
            if self[found...].starts(with: wanted) { return true }
            from = found + 1
        }
        return false
    }
}

/// A thread that a test waits for.
final class Thread: Sendable {
    private let writer = WriterThread(name: "test", idlePeriod: .zero)

    init(_ body: @escaping @Sendable () -> Void) { writer.perform(body) }

    func join() { writer.stop() }
}
