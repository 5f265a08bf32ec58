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

/// Copies hold the same content, whatever their layout.
@Suite struct CopyTests {
    private static let app = Source(bundle: "org.example.app", name: "App", version: "1")

    /// A store with edits, deletions, shadows, sync state and an unfinished mass operation.
    private func fill(_ store: SampleStore) throws {
        let starts = (0..<3_000).map { Instant.day(0, $0 * 60) }
        try store.importBatch(
            SampleBatch(
                .stepCount, .count, source: Self.app, starts: starts, values: (0..<3_000).map { Double($0 % 100) },
                ids: (0..<3_000).map { _ in SampleID() }))
        try store.importBatch(
            SampleBatch(
                .activeEnergyBurned, .kilocalorie, source: Source(name: "Export"), starts: Array(starts[..<500]),
                values: (0..<500).map { Double($0) / 8 }))
        try store.write { txn in
            for number in 0..<20 {
                try txn.save(
                    Sample(
                        .bodyMass, 70 + Double(number), .kilogram, at: .day(number / 3), source: Self.app,
                        syncIdentifier: "weight-\(number)", metadata: ["note": .string("n\(number)")], group: "g"))
            }
            let gone = try txn.samples(of: .stepCount, limit: 50).map(\.id)
            for id in gone { try txn.delete(id: id) }
            try txn.setPeer(RegisteredPeer(id: "peer", registered: .day(0), lastSeen: .day(0)))
            try txn.setAnchor(Anchor(peer: "peer", type: .stepCount, token: [7], time: .day(0)))
        }
        #expect(
            try store.write { try $0.delete(.range(of: .stepCount, from: .day(0, 6_000), to: .day(0, 60_000))) } == 900)
    }

    /// The names in the folder of a store, but for the journal, which only small commits make.
    private static func names(in folder: String) -> [String]? {
        FileSystem.names(in: folder)?.filter { $0 != StoreFiles.journal }.sorted()
    }

    @Test("A copy that is stopped leaves nothing, under no name") func stopped() throws {
        let folder = TemporaryFolder()
        try withStore { store throws in
            try fill(store)
            for copy in [store.backup(to:progress:), store.compact(to:progress:)] {
                let error = #expect(throws: StoreError.self) {
                    try copy(folder.inner("parent") + "/copy") { _ in false }
                }
                #expect(error?.code == .cancelled)
                #expect(FileSystem.names(in: folder.path + "/parent") == [])
            }
        }
    }

    /// Where the first leaf page begins: it carries its kind and its number.
    private static func firstLeaf(_ bytes: [UInt8]) -> Int {
        var page = 2
        while true {
            let at = page * 4_096
            let number = Int(bytes[at]) + Int(bytes[at + 1]) * 256
            if number == page, bytes[at + 10] == 2 { return at }
            page += 1
        }
    }

    @Test(
        "A copy that is damaged on its way gets no name, and a file is not replaced by one", arguments: [false, true])
    func damaged(cuts: Bool) throws {
        let folder = TemporaryFolder()
        var options = tightOptions()
        options.limits.atCopy = { copy in
            var bytes = FileSystem.bytes(of: copy + "/data.mdb")
            if cuts {
                bytes.removeLast(bytes.count - 3 * 4_096)
            } else {
                // In a compacted copy every page is in use.
                let leaf = CopyTests.firstLeaf(bytes)
                for index in leaf..<leaf + 4_096 { bytes[index] = 0 }
            }
            FileSystem.write(bytes, to: copy + "/data.mdb")
        }
        let store = try SampleStore.open(at: folder.path + "/store", options: options)
        try fill(store)
        let before = try store.digest()
        expectError(.damaged) { try store.compact(to: folder.path + "/copy") }
        if cuts { expectError(.damaged) { try store.backup(to: folder.path + "/copy") } }
        let error = #expect(throws: StoreError.self) { try store.compactInPlace() }
        #expect(error?.code == .damaged && error?.path == store.path)
        let text = String(describing: error)
        #expect(!text.contains(UnfinishedFolder.prefix), "the folder is gone when somebody reads of it: \(text)")
        #expect(FileSystem.names(in: folder.path) == ["store"])
        #expect(Self.names(in: folder.path + "/store") == ["data.mdb", "lock.mdb"])
        #expect(try store.digest() == before)
        try store.expectClean()
        try store.close()
    }

    @Test("Backup and compaction hold the same content, changes, tombstones and sync state") func copies() throws {
        let folder = TemporaryFolder()
        try withStore(options: tightOptions()) { store throws in
            try fill(store)
            let before = try store.digest()
            let feed = try store.feed()
            try store.backup(to: folder.path + "/backup")
            try store.compact(to: folder.path + "/compact")
            #expect(try store.digest() == before, "the store itself stays as it is")
            // As it lies there: opened for use, a copy knows that it is one, begins an epoch and drops anchors.
            var options = tightOptions()
            options.limits.ignoresPlace = true
            for name in ["backup", "compact"] {
                let copy = try SampleStore.open(at: folder.path + "/" + name, options: options)
                #expect(try copy.digest() == before)
                #expect(try copy.feed() == feed)
                #expect(try copy.info().unfinished == 1)
                #expect(try copy.read { try $0.anchors() }.map(\.token) == [[7]])
                try copy.expectClean()
                while try copy.maintain() {}
                #expect(try copy.digest() == before)
                try copy.save(Sample(.stepCount, 1, .count, at: .day(99)))
                #expect(try copy.counts() == copy.countedSamples())
                try copy.expectClean()
                try copy.close()
            }
            #expect(FileSystem.names(in: folder.path)?.sorted() == ["backup", "compact"])
        }
    }

    @Test("Rebuilding every derived table changes no content and no feed") func rebuild() throws {
        try withStore(options: tightOptions()) { store throws in
            try fill(store)
            let (before, feed) = (try store.digest(), try store.feed())
            for _ in 0..<2 {
                try store.rebuild()
                #expect(try store.digest() == before)
                // Its tokens only tell that the store stands further on.
                #expect(try store.feed().map(\.kind) == feed.map(\.kind))
                #expect(try store.counts() == store.countedSamples())
                try store.expectClean()
                while try store.maintain() {}
            }
            let known = try store.read { try $0.samples(of: .activeEnergyBurned, limit: 1)[0] }
            #expect(try store.save(known) == .unchanged)
            #expect(try store.read { try $0.samples(syncIdentifier: "weight-7") }.count == 1)
            #expect(try store.read { try $0.samples(group: "g") }.count == 20)
        }
    }

    @Test("All samples of a store, loaded into another, give the same content") func load() throws {
        try withStore(options: tightOptions()) { store throws in
            try fill(store)
            try withStore { copy throws in
                var batch = SampleBatch()
                // Sources in the order in which they were first seen, which ranks them.
                for source in try store.read({ try $0.sources() }) {
                    _ = batch.kind(.stepCount, .count, source: source.revisions[0])
                }
                try store.read { txn in
                    for type in try txn.types().map(\.type) {
                        try txn.forEachSample(SampleQuery(type, includeShadowed: true)) { sample in
                            batch.append(sample)
                            return true
                        }
                    }
                }
                #expect(try copy.importBatch(batch).inserted == batch.count)
                #expect(try copy.digest() == store.digest())
                #expect(try copy.importBatch(batch).unchanged == batch.count)
                #expect(try copy.counts() == store.counts())
            }
        }
    }

    @Test("A copy is refused where something is, inside write, and inside the store's own folder") func refused() throws
    {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path + "/store")
        try store.save(Sample(.stepCount, 1, .count, at: .day(1)))
        let (target, full) = (folder.path + "/copy", folder.path + "/full")
        #expect(FileSystem.makeFolder(full + "/inner"))
        expectError(.exists) { try store.backup(to: full) }
        expectError(.exists) { try store.backup(to: folder.path + "/store") }
        expectError(.nested) { try store.write { _ in try store.backup(to: target) } }
        for inside in ["/store/copy", "/store/deeper/copy", "/store/../store/copy", "/full/../store/copy/"] {
            expectError(.insideStore) { try store.backup(to: folder.path + inside) }
            expectError(.insideStore) { try store.compact(to: folder.path + inside) }
        }
        #expect(Self.names(in: folder.path + "/store") == ["data.mdb", "lock.mdb"])
        // A name that merely begins alike is another folder.
        try store.backup(to: folder.path + "/store-copy")
        try store.backup(to: target)
        expectError(.exists) { try store.backup(to: target) }
        #expect(FileSystem.names(in: folder.path)?.sorted() == ["copy", "full", "store", "store-copy"])
        try store.expectClean()
        try store.close()
    }

    @Test(
        "A copy whose name cannot be made durable is an error that says so, and stays",
        .enabled(if: !Machine.isRoot || Machine.canBecomeNobody, "the superuser may read every folder"))
    func nameNotDurable() async throws {
        await #expect(processExitsWith: .success) {
            // The superuser may read every folder.
            if Machine.isRoot {
                Machine.useFolderOfAll()
                try Machine.becomeNobody()
            }
            let folder = TemporaryFolder()
            let (path, parent) = (folder.path + "/store", folder.path + "/parent")
            let store = try SampleStore.open(at: path)
            try store.save(Sample(.stepCount, 1, .count, at: .day(1)))
            #expect(FileSystem.makeFolder(parent))
            #expect(FileSystem.protect(parent, mode: 0o300))
            let error = #expect(throws: StoreError.self) { try store.backup(to: parent + "/copy") }
            #expect(error?.code == .storage && error?.path == parent + "/copy")
            #expect(FileSystem.protect(parent, mode: 0o700))
            #expect(FileSystem.names(in: parent) == ["copy"])
            #expect(try SampleStore.check(at: parent + "/copy").isClean)
            try store.close()
        }
    }

    @Test("What a killed copy left is removed by the next one to the same place; other folders are not touched")
    func leftovers() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path + "/store")
        try store.save(Sample(.stepCount, 1, .count, at: .day(1)))
        let target = folder.path + "/copy"
        let killed = target + ".partial-" + SampleID().description
        let foreign = [
            target + ".partial-notes", target + ".partial-" + SampleID().description,
            folder.path + "/other.partial-" + SampleID().description,
        ]
        #expect(FileSystem.makeFolder(killed))
        try store.core.environment.copy(toFolder: killed, compacting: false)
        for path in foreign { #expect(FileSystem.makeFolder(path)) }
        // One that holds what no copy writes is someone else's, whatever its name.
        #expect(FileSystem.makeFolder(foreign[1] + "/mine"))
        // A link leads to somebody's store.
        let living = try SampleStore.open(at: folder.path + "/living")
        let link = target + ".partial-" + SampleID().description
        #expect(unsafe symlink(living.path, link) == 0)
        let inside = folder.path + "/store/unfinished-" + SampleID().description
        #expect(unsafe symlink(living.path, inside) == 0)
        try store.compact(to: target)
        UnfinishedFolder.removeLeftovers(in: folder.path + "/store")
        #expect(Set(FileSystem.names(in: living.path) ?? []).isSuperset(of: ["data.mdb", "lock.mdb"]))
        try living.close()
        // Nor is it locked.
        var options = SampleStore.Options()
        options.limits.folderPatience = .zero
        try SampleStore.open(at: living.path, options: options).close()
        for path in [link, inside] { #expect(FileSystem.remove(path)) }
        let names = try #require(FileSystem.names(in: folder.path))
        #expect(!names.contains { killed.hasSuffix($0) })
        for path in foreign { #expect(FileSystem.isFolder(path), "\(path)") }
        #expect(names.count == 3 + foreign.count)
        try store.close()
    }
}
