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

/// Another file in the place of the store's, and what other processes commit.
@Suite struct ReplacementTests {
    @Test("After compactInPlace nothing of a deleted sample is anywhere in the file, and readers keep their snapshot")
    func canary() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        let canary = "canary-7f3a9c-of-a-sample"
        var sample = Sample(.bodyMass, 70, .kilogram, at: .day(0))
        sample.metadata["note"] = .string(canary)
        sample.timeZone = canary
        let saved = sample
        try store.write { _ = try $0.save(saved) }
        try store.add(2_000, day: 1)
        try store.write { _ = try $0.delete(id: saved.id) }
        while try store.maintain() {}
        let file = folder.path + "/data.mdb"
        let isThere = FileSystem.bytes(of: file).contains(text: canary)
        #expect(isThere, "deleting alone leaves it in free pages")
        let before = FileSystem.identity(of: file)
        try store.read { transaction in
            try store.compactInPlace()
            let count = try transaction.count()
            #expect(count == 2_000, "a snapshot goes on")
        }
        #expect(FileSystem.identity(of: file) != before)
        for name in FileSystem.names(in: folder.path) ?? [] {
            let isLeft = FileSystem.bytes(of: folder.path + "/" + name).contains(text: canary)
            #expect(!isLeft, "\(name)")
        }
        #expect(try store.read { try $0.count() } == 2_000)
        let replica = try store.info().replica
        try store.add(10, day: 9)
        try store.expectClean()
        try store.close()
        let names = FileSystem.names(in: folder.path)?.filter { $0 != StoreFiles.journal }
        #expect(names?.sorted() == ["data.mdb", "lock.mdb"])
        let again = try SampleStore.open(at: folder.path)
        #expect(try again.info().replica == replica, "the store is no copy of itself")
        #expect(try again.read { try $0.count() } == 2_010)
        try again.expectClean()
        try again.close()
    }

    @Test("While another program locks the folder, compacting and suspending are refused in time, and nothing is lost")
    func folderHeld() throws {
        let folder = TemporaryFolder()
        var options = SampleStore.Options.small(mapSize: 64 << 20)
        options.limits.folderPatience = .milliseconds(100)
        let claims = Monitor<FolderClaim?>(nil)
        options.limits.atReplacement = { step in
            if step == .retired { claims.withLock { $0 = FolderClaim(folder.path) } }
        }
        let store = try SampleStore.open(at: folder.path, options: options)
        try store.add(100, day: 0)
        let began = ContinuousClock.now
        expectError(.busy) { try store.compactInPlace() }
        // Without this limit it waits for ten seconds.
        #expect(ContinuousClock.now - began < .seconds(9))
        claims.withLock { $0?.release() }
        try store.add(100, day: 1)
        let claim = try #require(FolderClaim(folder.path))
        expectError(.busy) { try store.suspend(within: .milliseconds(100)) }
        try store.add(100, day: 2)
        #expect(try store.read { try $0.count() } == 300)
        try store.close()
        claim.release()
        let again = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        #expect(try again.read { try $0.count() } == 300)
        try again.expectClean()
        try again.close()
    }

    @Test("When another process compacts in place, writers and readers go on with the new file, and no commit is lost")
    func compactedByAnother() async throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        for round in 0..<3 {
            try store.add(100, day: round)
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
                try store.compactInPlace()
                // Two at one time would shadow each other.
                try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(50, Int.random(in: 0..<1_000_000))))
                try store.close()
            }
            if round == 1 { #expect(try store.blockingRead { try $0.count(of: .bodyMass) } == 3) }
            try store.save(Sample(.bodyMass, 71, .kilogram, at: .day(round)))
            #expect(try store.blockingRead { try $0.count(of: .bodyMass) } == 2 * (round + 1))
            #expect(try store.blockingRead { try $0.count(of: .stepCount) } == 100 * (round + 1))
        }
        #expect(try store.info().notices.contains { $0.code == .reopened })
        try store.expectClean()
        try store.close()
    }

    @Test(
        "A file that another store's takes the place of, or that is removed, is an error at the next call",
        arguments: [true, false])
    func replaced(byOther: Bool) throws {
        let bench = try StoreInFolder()
        try bench.loseFile(toOther: byOther)
        expectError(.replaced) { try bench.store.add(10, day: 1) }
        expectError(.replaced) { try bench.store.read { try $0.count() } }
        try bench.expectAfterwards(0)
    }

    @Test("Who comes to a file that was put beside the locks of another is told to close that one first")
    func besideForeignLocks() async throws {
        let bench = try StoreInFolder()
        // Far beyond the transactions of the other file.
        for day in 1..<20 { try bench.store.add(1, day: day) }
        try bench.loseFile(toOther: true)
        await #expect(processExitsWith: .success) { [path = bench.path as String] in
            do {
                try SampleStore.open(at: path, options: .small(mapSize: 64 << 20)).close()
                Issue.record("the file was opened with the locks of another")
            } catch let error as StoreError {
                #expect(error.code == .replaced && error.detail.contains("belongs to another data.mdb"), "\(error)")
            }
        }
        try bench.expectAfterwards(0)
    }

    @Test(
        "When its lock file alone is removed a store says so at the next call, and nothing is lost when all have closed it"
    )
    func lockRemoved() throws {
        let folder = TemporaryFolder()
        let options = SampleStore.Options.small(mapSize: 64 << 20)
        for writesFirst in [true, false] {
            let path = folder.path + "/store-\(writesFirst)"
            let store = try SampleStore.open(at: path, options: options)
            try store.add(10, day: 0)
            #expect(FileSystem.remove(path + "/lock.mdb"))
            if writesFirst { expectError(.replaced) { try store.add(10, day: 1) } }
            do {
                _ = try store.read { try $0.count() }
                Issue.record("a reader was not told")
            } catch let error as StoreError {
                #expect(error.code == .replaced && error.detail.contains("lock.mdb was removed"), "\(error)")
            }
            expectError(.replaced) { try store.add(10, day: 1) }
            #expect(FileSystem.size(of: path + "/lock.mdb") == nil, "no other locks beside those that are held")
            try store.close()
            let again = try SampleStore.open(at: path, options: options)
            #expect(try again.read { try $0.count() } == 10)
            try again.add(10, day: 1)
            try again.expectClean()
            try again.close()
        }
    }

    @Test("A store that is replaced by an earlier state of itself says so instead of going back in time")
    func restoredBeneath() throws {
        let bench = try StoreInFolder()
        try bench.goBack()
        expectError(.replaced) { try bench.store.add(10, day: 2) }
        try bench.expectAfterwards(10)
    }

    @Test(
        "Opening removes what a killed process was making in the folder, and leaves alone what a living one is making")
    func unfinished() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try SampleStore.open(at: path).close()
        let living = try UnfinishedFolder(in: path)
        FileSystem.write([1], to: living.path + "/data.mdb")
        let left = path + "/" + UnfinishedFolder.prefix + "of-a-killed-process"
        #expect(FileSystem.makeFolder(left))
        FileSystem.write([1], to: left + "/data.mdb")
        try SampleStore.open(at: path).close()
        #expect(!FileSystem.isFolder(left))
        #expect(FileSystem.size(of: living.path + "/data.mdb") == 1)
        living.remove()
        #expect(!FileSystem.isFolder(living.path))
    }

    @Test(
        "A process that is killed between two steps of compacting in place loses nothing, and readers keep what they see",
        arguments: ReplacementStep.allCases)
    func killedWhileReplacing(step: ReplacementStep) async throws {
        let folder = TemporaryFolder()
        let options = SampleStore.Options.small(mapSize: 64 << 20)
        let store = try SampleStore.open(at: folder.path, options: options)
        for day in 0..<20 { try store.add(50, day: day) }
        let (begun, end, seen) = (Gate(), Gate(), Monitor<Int?>(nil))
        let reader = WriterThread(name: "reader", idlePeriod: .seconds(60))
        reader.perform {
            let rows = try? store.read { transaction in
                begun.open()
                end.wait()
                var rows = 0
                try transaction.forEachSample(of: .stepCount) { _ in
                    rows += 1
                    return true
                }
                return rows
            }
            seen.withLock { $0 = rows }
        }
        begun.wait()
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = folder.path as String, step = step.rawValue as Int] in
            var options = SampleStore.Options.small(mapSize: 64 << 20)
            options.limits.atReplacement = { if $0.rawValue == step { kill(getpid(), SIGKILL) } }
            let store = try SampleStore.open(at: path, options: options)
            try store.compactInPlace()
        }
        // More than once over what the reader sees, if its pages counted as free.
        for day in 20..<60 { try store.add(50, day: day) }
        end.open()
        reader.stop()
        #expect(seen.withLock { $0 } == 1_000)
        #expect(try store.blockingRead { try $0.count() } == 3_000)
        try store.expectClean()
        try store.close()
        let again = try SampleStore.open(at: folder.path, options: options)
        #expect(try again.blockingRead { try $0.count() } == 3_000)
        #expect(FileSystem.size(of: folder.path + "/" + FileReplacement.nextName) == nil)
        try again.compactInPlace()
        try again.expectClean()
        try again.close()
    }

    @Test(
        "Opening a store whose replacement was cut short finishes it", arguments: ReplacementStep.allCases,
        [true, false])
    func openedWhileReplacing(step: ReplacementStep, readOnly: Bool) async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let store = try SampleStore.open(at: path)
        try store.add(500, day: 0)
        try store.close()
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, step = step.rawValue as Int] in
            var options = SampleStore.Options()
            options.limits.atReplacement = { if $0.rawValue == step { kill(getpid(), SIGKILL) } }
            let store = try SampleStore.open(at: path, options: options)
            try store.compactInPlace()
        }
        #expect(try SampleStore.check(at: path).isClean)
        var options = SampleStore.Options()
        options.readOnly = readOnly
        let again = try SampleStore.open(at: path, options: options)
        #expect(try again.blockingRead { try $0.count() } == 500)
        try again.close()
        try SampleStore.open(at: path).close()
        #expect(FileSystem.names(in: path)?.sorted() == ["data.mdb", "lock.mdb"])
    }

    @Test("A retired file without its successor is refused with the way out")
    func successorLost() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        try SampleStore.open(at: path).close()
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            var options = SampleStore.Options()
            options.limits.atReplacement = { if $0 == .retired { kill(getpid(), SIGKILL) } }
            let store = try SampleStore.open(at: path, options: options)
            try store.compactInPlace()
        }
        FileSystem.remove(path + "/" + FileReplacement.nextName)
        expectError(.replaced) { try SampleStore.open(at: path).close() }
    }

    @Test("A second opening shares the store after another process has replaced its file")
    func sharedAfterReplacement() async throws {
        let folder = TemporaryFolder()
        let first = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        try first.add(10, day: 0)
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
            try store.compactInPlace()
            try store.close()
        }
        let second = try SampleStore.open(at: folder.path)
        try second.add(10, day: 1)
        try first.add(10, day: 2)
        #expect(try first.blockingRead { try $0.count() } == 30)
        try first.close()
        #expect(try second.blockingRead { try $0.count() } == 30)
        try second.expectClean()
        try second.close()
    }

    @Test("Copies and compaction follow a file that another process has replaced")
    func copyingReplaced() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
        func compactElsewhere() async {
            await #expect(processExitsWith: .success) { [path = path as String] in
                let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
                try store.add(10, day: 0)
                try store.compactInPlace()
                try store.close()
            }
        }
        await compactElsewhere()
        try store.backup(to: folder.path + "/backup")
        await compactElsewhere()
        try store.compact(to: folder.path + "/compact")
        await compactElsewhere()
        try store.compactInPlace()
        #expect(try store.blockingRead { try $0.count() } == 30)
        for (name, count) in [("backup", 10), ("compact", 20)] {
            let copy = try SampleStore.open(at: folder.path + "/" + name)
            #expect(try copy.blockingRead { try $0.count() } == count)
            try copy.close()
        }
        try store.close()
    }

    @Test("changes(of:) gives what another process commits, and keeps no snapshot while it waits")
    func observing() async throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small(mapSize: 64 << 20))
        let sequence = store.changes(of: [.bodyMass])
        let observer = Task {
            var found: [Change] = []
            for await change in sequence {
                found.append(change)
                if found.count == 6 { break }
            }
            return found.count
        }
        for _ in 0..<2 {
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
                for day in 0..<3 { try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(day))) }
                // The observer reads for a moment, and then waits.
                func snapshots() throws -> Int {
                    try store.info().readers.count { $0.process != getpid() && $0.transaction != nil }
                }
                for _ in 0..<600 where try snapshots() > 0 { pause(milliseconds: 100) }
                #expect(try snapshots() == 0)
                try store.close()
            }
        }
        // An opener that is told nothing fails, and does not wait for ever.
        let patience = Task {
            try await Task.sleep(for: .seconds(900))
            observer.cancel()
        }
        #expect(await observer.value == 6)
        patience.cancel()
        try store.close()
    }
}
