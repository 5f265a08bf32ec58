import LMDB
import Testing
import TestSupport

@Suite struct ViewTests {
    @Test("Statistics describe the tree of a table")
    func statistics() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let empty = try environment.read { try $0.view.statistics(table) }
        #expect(empty.pages == 0 && empty.depth == 0 && empty.entries == 0)
        try environment.write { transaction in
            for key in UInt8.min..<100 { try transaction.put(table, [key], [UInt8](repeating: 1, count: 400)) }
            try transaction.put(table, [200], [UInt8](repeating: 1, count: 3 * environment.pageSize))
        }
        let filled = try environment.read { try $0.view.statistics(table) }
        #expect(filled.entries == 101)
        #expect(filled.depth == 2)
        #expect(filled.branchPages == 1)
        #expect(filled.leafPages > 9)
        #expect(filled.overflowPages == 4)
    }

    @Test("Deleted records leave free pages, which only a read transaction counts")
    func freePages() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { try $0.put(table, [1], [UInt8](repeating: 1, count: 1 << 20)) }
        #expect(try environment.write { try $0.delete(table, [1]) })
        let free = try environment.read { try $0.view.freeStatistics() }
        #expect(free.freePages > (1 << 20) / environment.pageSize)
        #expect(free.entries >= 1)
        try environment.write { transaction in
            #expect(code { _ = try transaction.view.freeStatistics() } == .invalidArgument)
        }
        try environment.expectIntact()
    }

    @Test("The same generic code reads through the views of read and write transactions")
    func genericReading() throws {
        func sum(_ table: Table, _ transaction: borrowing some Transaction & ~Copyable) throws -> Int {
            try transaction.view.records(of: table).reduce(0) { $0 + Int($1.1[0]) }
        }
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { transaction in
            try transaction.put(table, [1], [1])
            try transaction.put(table, [2], [2])
            #expect(try sum(table, transaction) == 3)
        }
        #expect(try environment.read { try sum(table, $0) } == 3)
    }

    @Test("Keys and values may be raw spans")
    func rawSpans() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let key: [UInt8] = [1, 2]
        try environment.write { transaction in
            try transaction.put(table, key: key.rawSpan, value: key.rawSpan)
            #expect(try !transaction.insert(table, key: key.rawSpan, value: key.rawSpan))
            try transaction.append(table, key: [2].rawSpan, value: key.rawSpan)
            #expect(try transaction.delete(table, key: [2].rawSpan))
        }
        let transaction = try environment.beginRead()
        #expect(try transaction.view.get(table, key.rawSpan)?.array == key)
        #expect(try transaction.view.contains(table, key.rawSpan))
        var cursor = try transaction.view.cursor(table)
        #expect(try cursor.seek(key.rawSpan) && cursor.seekExact(key.rawSpan) && cursor.seekAtOrBefore(key.rawSpan))
    }
}
