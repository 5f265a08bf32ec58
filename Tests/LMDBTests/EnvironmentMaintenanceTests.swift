import LMDB
import Testing
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct EnvironmentMaintenanceTests {
    private func fill(_ environment: Environment, _ table: Table) throws {
        try environment.write { transaction in
            for number in UInt8.min...UInt8.max {
                try transaction.put(table, [number], [UInt8](repeating: number, count: 5000))
            }
        }
        try environment.write { transaction in
            for number in UInt8.min..<200 { try transaction.delete(table, [number]) }
        }
    }

    @Test("A compacted copy holds no deleted bytes, not even in pages that other records use") func unused() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        // Short deleted entries lie between entries that stay; shorter values reuse the pages of long deleted ones.
        try environment.write { transaction in
            for number in UInt8.min...UInt8.max {
                try transaction.put(table, [number], [UInt8](repeating: number % 3 == 0 ? 0xC5 : 0, count: 200))
                try transaction.put(table, [number, 1], [UInt8](repeating: number % 2 == 0 ? 0xC5 : 0, count: 7_900))
            }
        }
        for _ in 0..<3 {
            try environment.write { transaction in
                for number in UInt8.min...UInt8.max {
                    if number % 3 == 0 { try transaction.delete(table, [number]) }
                    if number % 2 == 0 { try transaction.delete(table, [number, 1]) }
                    try transaction.put(table, [number, 2], [UInt8](repeating: 1, count: 4_500))
                }
            }
        }
        let target = folder.inner("copy")
        try environment.copy(toFolder: target, compacting: true)
        let bytes = try #require(fileBytes(target + "/data.mdb"))
        // A single byte of that value may be part of a key, a length or a page number.
        let leftovers = bytes.split { $0 != 0xC5 }.count { $0.count >= 8 }
        #expect(leftovers == 0)
        let copy = try Environment(folder: target, options: .init(mapSize: 64 << 20))
        try copy.expectIntact()
        copy.close()
    }

    private func fileBytes(_ path: String) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0, let size = fileStatus(path)?.size else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count == bytes.count ? bytes : nil
    }

    @Test("A copy holds the same records, compacted or not, and only the owner can read it", arguments: [true, false])
    func copying(compacting: Bool) throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try fill(environment, table)
        let target = folder.inner("copy")
        try environment.copy(toFolder: target, compacting: compacting)
        let file = target + "/data.mdb"
        #expect(fileStatus(file)?.mode == 0o600)
        let original = try #require(fileStatus(folder.path + "/data.mdb")).size
        let copied = try #require(fileStatus(file)).size
        #expect(compacting ? copied < original / 2 : copied >= original / 2)

        let copy = try Environment(folder: target, options: .init(mapSize: 64 << 20))
        let same = try #require(try copy.read { try copy.openTable(named: "table", in: $0) })
        let records = try copy.read { try $0.view.records(of: same) }
        #expect(records.map(\.0) == (200...255).map { [UInt8($0)] })
        #expect(records.allSatisfy { $0.1 == [UInt8](repeating: $0.0[0], count: 5000) })
        #expect(try copy.read { try $0.view.freeStatistics().freePages == 0 } == compacting)
        try copy.expectIntact()
    }

    @Test("A copy never replaces a file, and a failed one leaves nothing")
    func refusedCopy() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        _ = try environment.makeTable()
        let target = folder.inner("copy")
        try environment.copy(toFolder: target, compacting: true)
        #expect(code { try environment.copy(toFolder: target, compacting: true) } == .fileExists)
        #expect(code { try environment.copy(toFolder: folder.path + "/none", compacting: true) } == .noSuchFile)
        #expect(fileStatus(folder.path + "/none/data.mdb") == nil)
    }

    @Test("A copy that is stopped before it begins or while it waits leaves nothing, and the store keeps working")
    func stoppedCopy() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try fill(environment, table)
        let target = folder.inner("copy")
        for compacting in [true, false] {
            let stopped = code { try environment.copy(toFolder: target, compacting: compacting) { _ in false } }
            #expect(stopped == .cancelled && fileStatus(target + "/data.mdb") == nil)
        }
        // A plain copy waits for the writer; meanwhile it asks whether to continue.
        let isAsked = Monitor(false)
        let outcome = Monitor<LMDBError.Code?>(nil)
        let copier = WriterThread(name: "copier")
        var transaction = try environment.beginWrite()
        copier.perform {
            var calls = 0
            do throws(LMDBError) {
                try environment.copy(toFolder: target, compacting: false) { _ in
                    calls += 1
                    if calls > 1 { isAsked.update { $0 = true } }
                    return calls == 1
                }
                outcome.update { $0 = .busy }
            } catch {
                outcome.update { $0 = error.code }
            }
        }
        isAsked.wait { $0 }
        try transaction.put(table, [0], [0])
        try transaction.commit()
        outcome.wait { $0 != nil }
        copier.stop()
        #expect(outcome.withLock { $0 } == .cancelled && fileStatus(target + "/data.mdb") == nil)
        var sizes: [Int] = []
        try environment.copy(toFolder: target, compacting: false) { bytes in
            sizes.append(bytes)
            return true
        }
        #expect(sizes.first == 0 && fileStatus(target + "/data.mdb") != nil)
        try environment.expectIntact()
    }

    @Test("A plain copy inside this thread's write transaction is an error, a compacting one is not")
    func copyWhileWriting() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { transaction in
            try transaction.put(table, [1], [1])
            let target = folder.inner("copy")
            #expect(code { try environment.copy(toFolder: target, compacting: false) } == .wouldDeadlock)
            try environment.copy(toFolder: target, compacting: true)
            let copy = try Environment(folder: target, options: .init(mapSize: 64 << 20))
            let same = try #require(try copy.read { try copy.openTable(named: "table", in: $0) })
            #expect(try copy.value(same, [1]) == nil, "the copy holds what was committed")
        }
    }

    @Test("A full map refuses records, still deletes, and takes more once it has grown")
    func resizing() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder, mapSize: 1 << 20)
        let table = try environment.makeTable()
        var stored: UInt8 = 0
        let value = [UInt8](repeating: 7, count: 8000)
        let full = code {
            while true {
                try environment.write { try $0.put(table, [stored], value) }
                stored += 1
            }
        }
        #expect(full == .mapFull)
        #expect(stored > 50)
        #expect(try environment.write { try $0.delete(table, [0]) })
        try environment.read { _ in #expect(code { try environment.resize(to: 4 << 20) } == .busy) }
        try environment.resize(to: 4 << 20 + 1)
        #expect(try environment.info().mapSize == 4 << 20 + environment.pageSize)
        try environment.write { transaction in
            for key in 1...UInt8.max { try transaction.put(table, [key], value) }
        }
        #expect(try environment.value(table, [UInt8.max]) == value)
        try environment.expectIntact()
    }

    @Test("A map size that cannot be allocated leaves the map unchanged")
    func refusedSize() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { try $0.put(table, [1], [2]) }
        #expect(code { try environment.resize(to: 1 << 60) } == .noMemory)
        #expect(code { try environment.resize(to: .max) } == .invalidArgument)
        #expect(code { try environment.resize(to: 0) } == .invalidArgument)
        #expect(try environment.value(table, [1]) == [2])
        try environment.resize(to: 1)
        #expect(try environment.value(table, [1]) == [2], "a map is never smaller than its data")
    }

    @Test("The environment adopts the size when another process has grown the file")
    func adoptingSize() async throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder, mapSize: 1 << 20)
        let table = try environment.makeTable()
        #expect(try environment.value(table, [1]) == nil)
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let environment = try Environment(folder: path, options: .init(mapSize: 64 << 20))
            let table = try environment.makeTable()
            try environment.write { try $0.put(table, [1], [UInt8](repeating: 1, count: 8 << 20)) }
        }
        #expect(code { _ = try environment.beginRead() } == .mapResized)
        #expect(code { _ = try environment.beginWrite() } == .mapResized)
        try environment.adoptSize()
        #expect(try environment.info().mapSize == 64 << 20)
        #expect(try environment.value(table, [1])?.count == 8 << 20)
        try environment.expectIntact()
    }

    @Test("The slot of a reader whose process was killed is found and freed")
    func staleReaders() async throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
            let environment = try Environment(folder: path)
            let transaction = try environment.beginRead()
            _ = kill(getpid(), SIGKILL)
            _ = try transaction.view.tableNames()
        }
        let readers = try environment.readers().filter { $0.pid != getpid() }
        #expect(readers.count == 1)
        #expect(readers.first?.transaction == 1)
        #expect(try environment.clearStaleReaders() == 1)
        #expect(try environment.clearStaleReaders() == 0)
        #expect(try environment.readers().allSatisfy { $0.pid == getpid() })
        try environment.write { try $0.put(table, [1], [1]) }
        try environment.expectIntact()
    }
}
