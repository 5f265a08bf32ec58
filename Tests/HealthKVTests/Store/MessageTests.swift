import LMDB
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

/// An error says what happened and what helps, and nothing that does not.
@Suite("What errors say")
struct MessageTests {
    private func error(_ body: () throws -> Void) -> StoreError? {
        do { try body() } catch { return error as? StoreError }
        return nil
    }

    @Test("A read that asks for what cannot be says so of the question, and not of a sample")
    func reads() throws {
        try withStore { store in
            try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
            let refusals = [
                error { _ = try store.read { try $0.weightTrend(unit: .second) } },
                error { _ = try store.read { try $0.dailySteps(from: "x", to: "y", source: "s") } },
            ]
            #expect(refusals.map { $0?.code } == [.unsuitableQuery, .invalidArgument])
            for refusal in refusals {
                let text = refusal.map { "\($0)" } ?? ""
                #expect(!text.contains("sample was refused") && !text.contains("stored"), "\(text)")
            }
        }
    }

    @Test(
        "A folder that may not be made is a matter of permission",
        .enabled(if: Machine.canBecomeNobody, "only the superuser becomes another user"))
    func folder() async throws {
        await #expect(processExitsWith: .success) {
            Machine.useFolderOfAll()
            let folder = TemporaryFolder()
            FileSystem.protect(folder.path, mode: 0o755)
            let open = folder.inner("open")
            FileSystem.protect(open, mode: 0o777)
            try Machine.becomeNobody()
            expectError(.accessDenied) { try SampleStore.open(at: folder.path + "/new/store").close() }
            let closed = open + "/closed"
            #expect(FileSystem.makeFolder(closed) && FileSystem.protect(closed, mode: 0o500))
            expectError(.accessDenied) { try SampleStore.open(at: closed).close() }
        }
    }

    @Test(
        "A symbolic link is not told of an option, since none tolerates it", arguments: ["", "/data.mdb", "/lock.mdb"])
    func link(name: String) throws {
        let folder = TemporaryFolder()
        let (store, other) = (folder.path + "/store", folder.path + "/other")
        try SampleStore.open(at: store).close()
        try SampleStore.open(at: store).close()
        #expect(FileSystem.rename(store + name, to: other))
        #expect(unsafe symlink(other, store + name) == 0)
        let text = error { try SampleStore.open(at: store).close() }.map { "\($0)" } ?? ""
        #expect(text.contains("symbolic link") && !text.contains("option"), "\(text)")
    }

    @Test("A full disk asks for room on the disk, and a full map for a greater size")
    func full() {
        for code in [ENOSPC, EDQUOT, EFBIG] {
            let error = StoreError.wrap(
                LMDBError(.init(rawValue: code), operation: "mdb_txn_commit", path: "/s"), path: "/s")
            let text = "\(error)"
            #expect((error as? StoreError)?.code == .full && !text.contains("map"), "\(text)")
        }
        let text = "\(StoreError.wrap(LMDBError(.mapFull, operation: "mdb_put", path: "/s"), path: "/s"))"
        #expect(text.contains("size") && !text.contains("Free space"), "\(text)")
    }

    @Test(
        "A file that LMDB never wrote is no store, and not a damaged one",
        arguments: ["", "text\n", String(repeating: "A text of many lines.\n", count: 2_000), "SQLite format 3\u{0}"])
    func otherFile(content: String) throws {
        let folder = TemporaryFolder()
        FileSystem.write(Array(content.utf8), to: folder.path + "/data.mdb")
        var reading = SampleStore.Options()
        reading.readOnly = true
        for options in [SampleStore.Options(), reading] {
            let refusal = error { try SampleStore.open(at: folder.path, options: options).close() }
            #expect(refusal?.code == (content.isEmpty ? .damaged : .notAStore), "\(String(describing: refusal))")
        }
        if !content.isEmpty { expectError(.notAStore) { try SampleStore.check(at: folder.path) } }
        let held = FileSystem.bytes(of: folder.path + "/data.mdb")
        #expect(held == Array(content.utf8), "nothing was changed")
    }

    @Test("A store whose meta pages are both gone is damaged, and no file of somebody else's")
    func withoutMetas() throws {
        let file = try DamagedFile()
        try file.fill(UInt8(ascii: "x"), 0..<2 * DamagedFile.page)
        expectError(.damaged) { try file.readAll() }
        #expect(try !SampleStore.check(at: file.folder.path).isClean)
    }
}
