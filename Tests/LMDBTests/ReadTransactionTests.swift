import LMDB
import Testing
import TestSupport

@Suite struct ReadTransactionTests {
    @Test("Each transaction sees one snapshot, and a later one sees the commits since")
    func snapshots() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { try $0.put(table, [1], [1]) }
        let first = try environment.beginRead()
        var writer = try environment.beginWrite()
        try writer.put(table, [1], [2])
        let second = try environment.beginRead()
        #expect(try first.view.get(table, [1])?.array == [1])
        #expect(try second.view.get(table, [1])?.array == [1])
        #expect(try writer.view.get(table, [1])?.array == [2])
        #expect(writer.id == first.id + 1)
        try writer.commit()
        let third = try environment.beginRead()
        #expect(try first.view.get(table, [1])?.array == [1])
        #expect(try second.view.get(table, [1])?.array == [1])
        #expect(try third.view.get(table, [1])?.array == [2])
        #expect(third.id == first.id + 1)
        #expect(third.view.transactionID == third.id)
    }

    @Test("A reused reader sees fresh data and takes no further slot")
    func pooling() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        for round in UInt8.min..<100 {
            try environment.write { try $0.put(table, [1], [round]) }
            #expect(try environment.value(table, [1]) == [round])
        }
        #expect(try environment.info().readersInUse == 1)
        #expect(try environment.readers().map(\.transaction) == [nil])
    }

    @Test("A reused reader knows tables that were opened in between")
    func poolingAndTables() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let first = try environment.makeTable("first")
        #expect(try environment.value(first, [1]) == nil)
        let second = try environment.makeTable("second")
        try environment.write { try $0.put(second, [1], [1]) }
        #expect(try environment.value(second, [1]) == [1])
    }

    @Test("An idle reader does not prevent the reuse of pages")
    func idleReadersHoldNothing() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let value = [UInt8](repeating: 1, count: 40_000)
        for _ in 0..<200 {
            try environment.write { try $0.put(table, [1], value) }
            #expect(try environment.value(table, [1]) == value)
        }
        #expect(try environment.info().lastPage < 100)
        try environment.expectIntact()
    }

    @Test("More readers than slots are an error until readers end")
    func tooManyReaders() throws {
        let folder = TemporaryFolder()
        let environment = try Environment(folder: folder.path, options: .init(mapSize: 1 << 26, maxReaders: 2))
        do {
            let first = try environment.beginRead()
            let second = try environment.beginRead()
            #expect(code { _ = try environment.beginRead() } == .readersFull)
            #expect(first.id == second.id)
        }
        #expect(try environment.read { $0.id } == 0)
        #expect(environment.close())
    }

    @Test("Many readers see whole transactions while a writer commits")
    func concurrency() async throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { transaction in
            for key in UInt8.min..<50 { try transaction.put(table, [key], [0]) }
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var mixed = 0
                    for _ in 0..<500 {
                        let values = try environment.read { try $0.view.records(of: table).map(\.1) }
                        if values.count != 50 || Set(values).count != 1 { mixed += 1 }
                    }
                    return mixed
                }
            }
            group.addTask {
                for round in 0..<500 {
                    try environment.write { transaction in
                        for key in UInt8.min..<50 { try transaction.put(table, [key], [UInt8(round % 256)]) }
                    }
                }
                return 0
            }
            for try await mixed in group { #expect(mixed == 0) }
        }
        try environment.expectIntact()
    }
}
