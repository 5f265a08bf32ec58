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

/// The map and its end, the limits of file and disk.
@Suite struct GrowthTests {
    @Test(
        "When another process let the file grow, readers and the writer take its size over", arguments: [true, false])
    func grownByAnother(isRead: Bool) async throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small())
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
        await expectGrowth(folder.path)
        #expect(try #require(FileSystem.size(of: folder.path + "/data.mdb")) > 1 << 20)
        if isRead { #expect(try store.blockingRead { try $0.count(of: .stepCount) } == 40_000) }
        #expect(try store.save(Sample(.bodyMass, 71, .kilogram, at: .day(1))) == .inserted)
        #expect(try store.info().mapSize == 64 << 20)
        try store.expectClean()
        try store.close()
    }

    @Test("Who opens a file while another process lets it grow catches up, and who suspends does, too")
    func grownMeanwhile() async throws {
        let folder = TemporaryFolder()
        try SampleStore.open(at: folder.path, options: .small()).close()
        var options = Environment.Options()
        options.mapSize = 1 << 20
        let environment = try Environment(folder: folder.path, options: options)
        #expect(try environment.beginRead().id > 0)
        await expectGrowth(folder.path)
        let error = #expect(throws: LMDBError.self) { _ = try environment.beginRead().id }
        #expect(error?.code == .mapResized, "the control")
        #expect(try FileOpener.catchingUp(environment) { try environment.beginRead().id } > 1)
        environment.close()
    }

    @Test("A store that another process let grow is suspended and resumed")
    func suspendingGrown() async throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small())
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
        await expectGrowth(folder.path)
        try store.suspend()
        try store.resume()
        #expect(try store.blockingRead { try $0.count(of: .stepCount) } == 40_000)
        try store.expectClean()
        try store.close()
    }

    private func expectGrowth(_ path: String) async {
        await #expect(processExitsWith: .success) { [path = path as String] in
            let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
            try store.fill(thousands: 40)
            try store.close()
        }
    }

    @Test("D: The map grows beside readers that come and go, and no closure runs twice")
    func growing() throws {
        let store = try SampleStore.temporary(options: .small(sizeLimit: 64 << 20))
        let runs = Atomic<Int>(0)
        let isDone = Atomic<Bool>(false)
        let reader = Thread {
            while !isDone.load(ordering: .acquiring) { _ = try? store.read { try $0.count() } }
        }
        for batch in 0..<60 {
            try store.write { txn in
                runs.add(1, ordering: .relaxed)
                try txn.importBatch(SampleStore.batch(1_000, day: 0, second: batch * 1_000))
            }
        }
        isDone.store(true, ordering: .releasing)
        reader.join()
        #expect(runs.load(ordering: .relaxed) == 60)
        let info = try store.info()
        #expect(info.mapSize > 1 << 20)
        #expect(info.notices.contains { $0.code == .grown })
        try store.expectClean()
        try store.close()
    }

    @Test("Growth waits for a reader so long and no longer, says so, and succeeds when the reader has ended")
    func blockedGrowth() throws {
        var options = SampleStore.Options.small(sizeLimit: 64 << 20)
        options.growthTimeout = .milliseconds(50)
        let store = try SampleStore.temporary(options: options)
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
        let (began, ends) = (Gate(), Gate())
        let reader = Thread {
            _ = try? store.read { _ in
                began.open()
                ends.wait()
            }
        }
        began.wait()
        var (_, error) = try store.fillUp()
        // The first transaction that does not fit makes the next one ask for a larger map.
        if error?.code == .full { (_, error) = try store.fillUp() }
        #expect(error?.code == .growthBlocked, "\(String(describing: error))")
        let found = try store.read { try $0.samples(of: .stepCount, limit: 1) }
        #expect(try store.write { try $0.delete(id: found[0].id) }, "deleting goes on")
        ends.open()
        reader.join()
        try store.fill(thousands: 5, day: 20)
        #expect(try store.info().mapSize > 1 << 20)
        try store.expectClean()
        try store.close()
    }

    @Test("D: At the greatest size saving stops, everything can still be deleted, and then saving goes on")
    func deletingWhenFull() throws {
        let store = try SampleStore.temporary(options: .small(mapSize: 4 << 20))
        for _ in 0..<2 {
            let (count, error) = try store.fillUp()
            #expect(error?.code == .full, "\(String(describing: error))")
            #expect(count > 1_000)
            let ids = try store.read { try $0.samples(of: .stepCount, limit: 50).map(\.id) }
            for id in ids { #expect(try store.write { try $0.delete(id: id) }) }
            #expect(try store.read { try $0.count() } == count - ids.count)
            let source = store.ownSource.identity
            try store.write { _ = try $0.purge(.source(source)) }
            while try store.maintain() {}
            #expect(try store.read { try $0.count() } == 0)
        }
        try store.expectClean()
        try store.close()
    }

    @Test("One large transaction cannot take the room that deleting needs")
    func largeTransaction() throws {
        let store = try SampleStore.temporary(options: .small(mapSize: 2 << 20))
        try store.fill(thousands: 10)
        for rows in [80_000, 40_000, 20_000, 10_000, 5_000] {
            do { try store.add(rows, day: 40) } catch {
                #expect((error as? StoreError)?.code == .full, "\(error)")
            }
        }
        let info = try store.info()
        #expect(info.liveBytes <= info.mapSize * 15 / 16, "a sixteenth is left")
        let id = try store.read { try #require(try $0.samples(of: .stepCount, limit: 1).first).id }
        #expect(try store.write { try $0.delete(id: id) })
        try store.expectClean()
        try store.close()
    }

    @Test("A limit of the process on file sizes is an error, not the end of the process; deleting goes on")
    func fileSizeLimit() async throws {
        await #expect(processExitsWith: .success) {
            try #require(limitFiles(to: 2 << 20))
            let store = try SampleStore.temporary(options: .small(mapSize: 64 << 20))
            let (count, error) = try store.fillUp()
            #expect(error?.code == .full, "\(String(describing: error))")
            #expect(count > 1_000)
            let ids = try store.read { try $0.samples(of: .stepCount, limit: 20).map(\.id) }
            for id in ids { #expect(try store.write { try $0.delete(id: id) }) }
            // Copies, which are written on threads of their own.
            let folder = TemporaryFolder()
            let (data, copies) = (store.path + "/data.mdb", folder.path)
            #expect(limitFiles(to: 256 << 10))
            #expect(throws: StoreError.self) { try store.backup(to: copies + "/backup") }
            #expect(throws: StoreError.self) { try store.compact(to: copies + "/compact") }
            let copied: DataFile.CopyOutcome? =
                WriterThread.apart { DataFile(data)?.copySnapshot(to: copies + "/copy", attempts: 1) } ?? nil
            #expect(copied == DataFile.CopyOutcome.failed(EFBIG))
            #expect(FileSystem.names(in: copies) == ["copy"])
            #expect(limitFiles(to: 2 << 20))
            try store.backup(to: copies + "/backup")
            try store.expectClean()
            try store.close()
        }
    }

    @Test(
        "On a full disk saving is an error that stores nothing; reading and deleting go on; room that comes back is used",
        .enabled(if: Machine.canMount, "file systems cannot be mounted here"))
    func fullDisk() throws {
        let folder = TemporaryFolder()
        try #require(Machine.mount("tmpfs", folder.path, size: "4m"))
        defer { Machine.unmount(folder.path) }
        var options = SampleStore.Options.small(mapSize: 64 << 20)
        options.limits.chunksPerStep = 4
        let store = try SampleStore.open(at: folder.path + "/store", options: options)
        for _ in 0..<(Machine.isLong ? 500 : 2) {
            let (_, error) = try store.fillUp()
            #expect(error?.code == .full, "\(String(describing: error))")
            // Somebody else takes the rest.
            FileSystem.write([UInt8](repeating: 1, count: 2 << 20), to: folder.path + "/ballast")
            #expect(FileSystem.freeBytes(at: folder.path) == 0)
            #expect(throws: StoreError.self) { try store.add(20_000, day: 300) }
            let samples = try store.read { try $0.samples(of: .stepCount, limit: 20) }
            for sample in samples { #expect(try store.write { try $0.delete(id: sample.id) }) }
            #expect(samples.count == 20)
            FileSystem.remove(folder.path + "/ballast")
            let own = store.ownSource.identity
            try store.write { _ = try $0.purge(.source(own)) }
            while try store.maintain() {}
        }
        try store.expectClean()
        try store.close()
    }

    @Test(
        "On a full disk a store without its lock file is refused for writing and read without locks, and no process ends",
        .enabled(if: Machine.canMount, "mounting needs privileges"))
    func openingWhenFull() async throws {
        let folder = TemporaryFolder()
        try #require(Machine.mount("tmpfs", folder.path, size: "4m"))
        defer { Machine.unmount(folder.path) }
        let path = folder.path + "/store"
        let store = try SampleStore.open(at: path)
        try store.add(10, day: 0)
        try store.close()
        FileSystem.remove(path + "/lock.mdb")
        FileSystem.write([UInt8](repeating: 1, count: 8 << 20), to: folder.path + "/ballast")
        #expect(FileSystem.freeBytes(at: folder.path) == 0)
        await #expect(processExitsWith: .success) { [path = path as String] in
            do {
                try SampleStore.open(at: path).close()
                throw Refusal()
            } catch let error as StoreError where error.code == .full {}
            var options = SampleStore.Options()
            options.readOnly = true
            let store = try SampleStore.open(at: path, options: options)
            guard try store.read({ try $0.count() }) == 10 else { throw Refusal() }
            try store.close()
        }
        FileSystem.remove(folder.path + "/ballast")
        let again = try SampleStore.open(at: path)
        try again.add(10, day: 1)
        try again.expectClean()
        try again.close()
    }
}

/// Sets how large this process may let a file grow.
private func limitFiles(to bytes: Int) -> Bool {
    var limit = rlimit()
    #if canImport(Glibc)
        let which = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    #else
        let which = RLIMIT_FSIZE
    #endif
    guard unsafe getrlimit(which, &limit) == 0 else { return false }
    limit.rlim_cur = rlim_t(bytes)
    return unsafe setrlimit(which, &limit) == 0
}
