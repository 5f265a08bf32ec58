import LMDB
import Testing
import TestSupport

@Suite struct EnvironmentTableTests {
    @Test("A missing table is nil for a reader, and a writer creates it")
    func missingTable() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        #expect(try environment.read { try environment.openTable(named: "a", in: $0) } == nil)
        let table = try environment.makeTable("a")
        #expect(try environment.read { try environment.openTable(named: "a", in: $0) } == table)
        #expect(try environment.makeTable("a") == table)
        #expect(try environment.read { try $0.view.tableNames() } == ["a"])
    }

    @Test("A reader opens tables that another environment created, and they stay open")
    func openingByReader() throws {
        let folder = TemporaryFolder()
        do {
            let environment = try Environment.small(folder)
            for name in ["a", "b"] {
                let table = try environment.makeTable(name)
                try environment.write { try $0.put(table, [1], Array(name.utf8)) }
            }
            environment.close()
        }
        let environment = try Environment.small(folder)
        let tables = try environment.read { transaction in
            let tables = try ["a", "b"].map { try #require(try environment.openTable(named: $0, in: transaction)) }
            #expect(try transaction.view.get(tables[1], [1])?.array == Array("b".utf8))
            return tables
        }
        #expect(try environment.value(tables[0], [1]) == Array("a".utf8))
        #expect(try environment.value(tables[1], [1]) == Array("b".utf8))
        #expect(try environment.makeTable("b") == tables[1])
    }

    @Test("A table of an aborted transaction does not exist, and its handle never refers to another table")
    func abandonedTable() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let lost: Table
        do {
            var transaction = try environment.beginWrite()
            lost = try environment.openTable(named: "lost", in: &transaction)
            try transaction.put(lost, [1], [1])
        }
        let kept = try environment.makeTable("kept")
        try environment.write { transaction in
            #expect(code { try transaction.put(lost, [1], [1]) } == .badTable)
            try transaction.put(kept, [2], [2])
        }
        #expect(code { _ = try environment.value(lost, [2]) } == .badTable)
        #expect(try environment.read { try $0.view.tableNames() } == ["kept"])
    }

    @Test("A handle of another environment is an error")
    func foreignTable() throws {
        let folder = TemporaryFolder()
        let other = TemporaryFolder()
        let environment = try Environment.small(folder)
        _ = try environment.makeTable()
        let foreign = try Environment.small(other).makeTable()
        try environment.write { transaction in
            #expect(code { try transaction.put(foreign, [1], [1]) } == .badTable)
            #expect(code { try transaction.delete(foreign, [1]) } == .badTable)
            #expect(code { try transaction.clear(foreign) } == .badTable)
            #expect(code { _ = try transaction.view.get(foreign, [1]) } == .badTable)
            #expect(code { _ = try transaction.view.statistics(foreign) } == .badTable)
            #expect(code { _ = try transaction.view.cursor(foreign) } == .badTable)
        }
    }

    @Test("Only one transaction at a time opens new tables")
    func openingTogether() throws {
        let folder = TemporaryFolder()
        #expect(try Environment.small(folder).makeTable("old").name == "old")
        let environment = try Environment.small(folder)
        let reader = try environment.beginRead()
        try environment.write { transaction in
            _ = try environment.openTable(named: "new", in: &transaction)
            #expect(code { _ = try environment.openTable(named: "old", in: reader) } == .busy)
            _ = try environment.openTable(named: "old", in: &transaction)
        }
        // The reader began before the environment opened the tables.
        #expect(code { _ = try environment.openTable(named: "old", in: reader) } == .busy)
        #expect(try environment.read { try environment.openTable(named: "old", in: $0) }?.name == "old")
    }

    @Test("A writer that began before a reader opened a table cannot reuse that table's handle")
    func overtakenWriter() throws {
        let folder = TemporaryFolder()
        #expect(try Environment.small(folder).makeTable("old").name == "old")
        let environment = try Environment.small(folder)
        var writer = try environment.beginWrite()
        let old = try #require(try environment.read { try environment.openTable(named: "old", in: $0) })
        #expect(code { _ = try environment.openTable(named: "new", in: &writer) } == .busy)
        try writer.commit()
        let new = try environment.makeTable("new")
        try environment.write { transaction in
            try transaction.put(old, [1], [1])
            try transaction.put(new, [1], [2])
        }
        #expect(try environment.value(old, [1]) == [1])
        #expect(try environment.value(new, [1]) == [2])
    }

    @Test("Opening more tables than the limit is an error")
    func tooManyTables() throws {
        let folder = TemporaryFolder()
        let environment = try Environment(folder: folder.path, options: .init(mapSize: 1 << 26, maxTables: 2))
        _ = try environment.makeTable("a")
        _ = try environment.makeTable("b")
        #expect(code { _ = try environment.makeTable("c") } == .tablesFull)
    }
}
