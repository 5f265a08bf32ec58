import ColumnFormat
import LMDB
import Synchronization
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

/// What may be opened, and what is refused with an error that names the file.
@Suite struct OpeningRuleTests {
    private func makeStore(_ folder: String) throws {
        let store = try SampleStore.open(at: folder)
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
        try store.close()
    }

    private func refusal(_ folder: String, _ options: SampleStore.Options = .init()) -> StoreError? {
        do { try SampleStore.open(at: folder, options: options).close() } catch { return error as? StoreError }
        return nil
    }

    private static var reading: SampleStore.Options {
        var options = SampleStore.Options()
        options.readOnly = true
        return options
    }

    @Test("Symbolic links in place of the folder or its files are refused", arguments: ["", "/data.mdb", "/lock.mdb"])
    func links(name: String) throws {
        let folder = TemporaryFolder()
        let (store, other) = (folder.path + "/store", folder.path + "/other")
        try makeStore(store)
        try SampleStore.open(at: store).close()
        #expect(FileSystem.rename(store + name, to: other))
        #expect(unsafe symlink(other, store + name) == 0)
        for options in [SampleStore.Options(), Self.reading] {
            let refusal = refusal(store, options)
            #expect(refusal?.code == .unsafeFolder)
            #expect(refusal?.path == store + name)
        }
    }

    @Test("What is no store is refused: a file, a folder of other things, a folder in place of the file, other bytes")
    func noStore() throws {
        let folder = TemporaryFolder()
        FileSystem.write(Array("text".utf8), to: folder.path + "/file")
        #expect(refusal(folder.path + "/file")?.code == .notAStore)
        #expect(refusal(folder.path)?.code == .notAStore)
        #expect(FileSystem.names(in: folder.path) == ["file"], "nothing was added")
        #expect(FileSystem.makeFolder(folder.path + "/a/data.mdb"))
        #expect(refusal(folder.path + "/a")?.code == .notAStore)
        #expect(FileSystem.makeFolder(folder.path + "/b"))
        FileSystem.write([UInt8](repeating: 65, count: 20_000), to: folder.path + "/b/data.mdb")
        let code = refusal(folder.path + "/b")?.code
        #expect(code == .damaged || code == .notAStore)
        #expect(refusal(folder.path + "/none", Self.reading)?.code == .noStore)
    }

    @Test("A path that the system cannot look at is not taken for one where nothing is")
    func unseen() throws {
        let folder = TemporaryFolder()
        let long = folder.path + "/" + String(repeating: "a", count: 300)
        FileSystem.write([1], to: folder.path + "/file")
        #expect(FileSystem.lookFailure(long) == ENAMETOOLONG)
        #expect(FileSystem.lookFailure(folder.path) == nil)
        for nothing in ["/none", "/none/inner", "/file/inner"] {
            #expect(FileSystem.lookFailure(folder.path + nothing) == nil)
        }
        for options in [SampleStore.Options(), Self.reading] {
            let refusal = refusal(long, options)
            #expect(refusal?.code == .storage && refusal?.path == long, "\(String(describing: refusal))")
        }
    }

    @Test(
        "A folder that this process may not look into is refused as that, and is not one without a store",
        .enabled(if: Machine.canBecomeNobody, "only the superuser becomes another user"))
    func hidden() async throws {
        await #expect(processExitsWith: .success) {
            Machine.useFolderOfAll()
            let folder = TemporaryFolder()
            let path = folder.path + "/store"
            try SampleStore.open(at: path).close()
            FileSystem.protect(folder.path, mode: 0o755)
            try Machine.becomeNobody()
            expectError(.accessDenied) { try SampleStore.open(at: path, options: OpeningRuleTests.reading).close() }
            expectError(.accessDenied) {
                try SampleStore.open(at: path + "/inner", options: OpeningRuleTests.reading).close()
            }
            expectError(.accessDenied) { try SampleStore.open(at: path + "/inner").close() }
            expectError(.accessDenied) { try SampleStore.check(at: path) }
        }
    }

    @Test(
        "A store of another user is refused for writing unless tolerated, and may be read",
        .enabled(if: Machine.isRoot, "only the superuser gives files away"))
    func foreignOwner() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try makeStore(path)
        for name in ["", "/data.mdb", "/lock.mdb"] { #expect(unsafe chown(path + name, 65_534, 65_534) == 0) }
        #expect(refusal(path)?.code == .unsafeFolder)
        var tolerant = SampleStore.Options()
        tolerant.tolerated = .foreignOwner
        let notices = Notices()
        tolerant.onNotice = { notices.note($0) }
        #expect(refusal(path, tolerant) == nil)
        #expect(notices.codes.contains(.foreignOwner))
        #expect(refusal(path, Self.reading) == nil)
        FileSystem.remove(path + "/lock.mdb")
        #expect(refusal(path, Self.reading) == nil)
        #expect(FileSystem.size(of: path + "/lock.mdb") == nil, "a lock file of ours would lock the owner out")
    }

    @Test("Folders are made for their owner alone, and what others may read is reported")
    func permissions() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try makeStore(path)
        #expect(FileSystem.statusOfLink(path)?.mode == 0o700)
        for name in ["/data.mdb", "/lock.mdb"] { #expect(FileSystem.statusOfLink(path + name)?.mode == 0o600) }
        let notices = Notices()
        var options = SampleStore.Options()
        options.onNotice = { notices.note($0) }
        #expect(refusal(path, options) == nil)
        #expect(notices.codes.isEmpty)
        FileSystem.protect(path, mode: 0o755)
        FileSystem.protect(path + "/data.mdb", mode: 0o644)
        #expect(refusal(path, options) == nil)
        #expect(notices.codes == [.permissions, .permissions])
    }

    @Test("Network file systems are refused unless tolerated, an overlay is reported")
    func fileSystems() throws {
        let kinds: [UInt32: String] = [
            0x6969: "NFS", 0x517B: "SMB", 0xFE53_4D42: "SMB", 0xFF53_4D42: "SMB", 0x0102_1997: "9p",
            0x6573_5546: "FUSE",
        ]
        for (magic, name) in kinds { #expect(FileSystemKind(magic: magic) == .remote(name)) }
        for magic: UInt32 in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994] {
            #expect(FileSystemKind(magic: magic) == .local)
        }
        #expect(FileSystemKind(magic: 0x794C_7630) == .overlay)
        let folder = TemporaryFolder()
        let notices = Notices(tellsOfOverlay: true)
        var options = SampleStore.Options()
        options.onNotice = { notices.note($0) }
        options.limits.fileSystem = .remote("NFS")
        #expect(refusal(folder.path + "/store", options)?.code == .unsafeFileSystem)
        #expect(FileSystem.names(in: folder.path) == [])
        options.tolerated = .remoteFileSystem
        #expect(refusal(folder.path + "/store", options) == nil)
        options.limits.fileSystem = .overlay
        #expect(refusal(folder.path + "/store", options) == nil)
        #expect(notices.codes == [.fileSystem, .fileSystem])
    }

    @Test("A store of a newer format is refused as such")
    func newerFormat() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path + "/store")
        let tables = store.core.file.tables
        try store.core.onWriter { [core = store.core] in
            var transaction = try core.environment.beginWrite()
            var record = RecordWriter()
            record.append(StoreHeader.formatVersion + 1)
            try transaction.put(
                tables[.meta], StoreHeader.key,
                record.value(table: .meta, key: StoreHeader.key, stamp: CommitStamp(commit: 9, session: 5)))
            try transaction.commit()
        }
        try store.close()
        #expect(refusal(folder.path + "/store")?.code == .newerFormat)
        #expect(refusal(folder.path + "/store", Self.reading)?.code == .newerFormat)
    }

    @Test("Two copies of one file never take one epoch, so that no token of the one is taken for the other's")
    func twoCopies() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path + "/store")
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
        var epochs: Set<UInt32> = [try store.info().epoch]
        for name in ["one", "other"] {
            try store.backup(to: folder.path + "/" + name)
            let copy = try SampleStore.open(at: folder.path + "/" + name)
            epochs.insert(try copy.info().epoch)
            try copy.close()
        }
        #expect(epochs.count == 3)
        try store.close()
    }

    @Test("A copied store becomes another replica with a new epoch and without anchors; one that is moved stays itself")
    func clones() throws {
        let folder = TemporaryFolder()
        let (path, moved, copied) = (folder.path + "/store", folder.path + "/moved", folder.path + "/copied")
        let store = try SampleStore.open(at: path)
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
        try store.write {
            try $0.setAnchor(Anchor(peer: "peer", type: .bodyMass, token: [1], time: .day(1), outcome: ""))
        }
        let (before, token) = try (store.info(), store.read { $0.currentToken })
        try store.backup(to: copied)
        try store.close()
        #expect(FileSystem.rename(path, to: moved))
        let same = try SampleStore.open(at: moved)
        #expect(try same.info().replica == before.replica)
        #expect(try same.info().epoch == before.epoch)
        try same.close()

        let notices = Notices()
        var options = SampleStore.Options()
        options.onNotice = { notices.note($0) }
        #expect(
            try SampleStore.open(at: copied, options: Self.reading).info().replica == before.replica,
            "reading changes nothing")
        for _ in 0..<2 {
            let copy = try SampleStore.open(at: copied, options: options)
            let info = try copy.info()
            #expect(info.storeID == before.storeID)
            #expect(info.replica != before.replica)
            #expect(info.epoch > before.epoch)
            #expect(try copy.read { try $0.anchor(peer: "peer", type: .bodyMass) } == nil)
            #expect(try copy.read { try $0.count() } == 1)
            expectError(.tokenExpired) { try copy.read { try $0.changes(since: token, limit: 1) } }
            try copy.expectClean()
            try copy.close()
        }
        #expect(notices.codes == [.restored], "once")
    }

    @Test(
        "A backup that is written over the closed store's own file is known as a copy, and no token from after it is taken"
    )
    func restoredInPlace() throws {
        let folder = TemporaryFolder()
        let (path, saved) = (folder.path + "/store", folder.path + "/saved")
        for compacts in [false, true] {
            let copied = saved + "-\(compacts)"
            let store = try SampleStore.open(at: path)
            try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
            if compacts { try store.compact(to: copied) } else { try store.backup(to: copied) }
            for day in 1..<4 { try store.save(Sample(.bodyMass, 71, .kilogram, at: .day(day))) }
            let (before, token) = try (store.info(), store.read { $0.currentToken })
            try store.close()
            let file = FileSystem.identity(of: path + "/data.mdb")
            FileSystem.write(FileSystem.bytes(of: copied + "/data.mdb"), to: path + "/data.mdb")
            #expect(FileSystem.identity(of: path + "/data.mdb") == file, "as cp does it")

            let notices = Notices()
            var options = SampleStore.Options()
            options.onNotice = { notices.note($0) }
            let restored = try SampleStore.open(at: path, options: options)
            let info = try restored.info()
            #expect(info.samples == 1)
            #expect(info.storeID == before.storeID)
            #expect(info.replica != before.replica)
            #expect(info.epoch > before.epoch)
            expectError(.tokenExpired) { try restored.read { try $0.changes(since: token, limit: 1) } }
            try restored.expectClean()
            // Once: the next opening knows the file.
            try restored.close()
            let again = try SampleStore.open(at: path, options: options)
            #expect(try again.info().epoch == info.epoch)
            #expect(notices.codes == [.restored])
            try again.write { for sample in try $0.samples(of: .bodyMass) { try $0.delete(id: sample.id) } }
            try again.close()
        }
    }

    @Test("A receiver of a notice may open the store itself")
    func openingWithinNotice() throws {
        let folder = TemporaryFolder()
        let (path, copied) = (folder.path + "/store", folder.path + "/copied")
        try makeStore(path)
        let store = try SampleStore.open(at: path)
        try store.backup(to: copied)
        try store.close()
        let counts = Mutex<[Int]>([])
        var options = SampleStore.Options()
        options.onNotice = { notice in
            guard notice.code == .restored else { return }
            let count = try? SampleStore.reading(copied)
            counts.withLock { $0.append(count ?? -1) }
        }
        try SampleStore.open(at: copied, options: options).close()
        #expect(counts.withLock { $0 } == [1])
    }
}

extension SampleStore {
    fileprivate static func reading(_ folder: String) throws -> Int {
        let store = try SampleStore.open(at: folder)
        defer { try? store.close() }
        return try store.read { try $0.count() }
    }
}
