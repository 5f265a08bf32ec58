import LMDB
import Testing
import TestSupport

@Suite struct NestedTransactionTests {
    private struct Refusal: Error {}

    @Test("A failing member undoes only its own work")
    func undo() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { transaction in
            try transaction.put(table, [1], [1])
            let answer = try transaction.nested { inner in
                try inner.put(table, [2], [2])
                return 42
            }
            #expect(answer == 42)
            #expect(throws: Refusal.self) {
                try transaction.nested { inner in
                    try inner.put(table, [1], [9])
                    try inner.put(table, [3], [3])
                    try inner.delete(table, [2])
                    throw Refusal()
                }
            }
            #expect(try transaction.view.get(table, [1])?.array == [1])
            try transaction.put(table, [4], [4])
        }
        let records = try environment.read { try $0.view.records(of: table) }
        #expect(records.map(\.0) == [[1], [2], [4]])
        #expect(records.map(\.1) == [[1], [2], [4]])
        try environment.expectIntact()
    }

    @Test("Nesting goes deep, and an outer failure undoes inner successes")
    func depth() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { transaction in
            #expect(throws: Refusal.self) {
                try transaction.nested { middle in
                    try middle.nested { inner in try inner.put(table, [1], [1]) }
                    #expect(try middle.view.contains(table, [1]))
                    throw Refusal()
                }
            }
            try transaction.nested { middle in
                try middle.nested { inner in try inner.put(table, [2], [2]) }
            }
        }
        #expect(try environment.read { try $0.view.records(of: table).map(\.0) } == [[2]])
        try environment.expectIntact()
    }

    @Test("A full map inside a nested transaction leaves the outer one usable")
    func fullMap() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder, mapSize: 1 << 20)
        let table = try environment.makeTable()
        try environment.write { transaction in
            try transaction.put(table, [1], [1])
            let refused = code {
                try transaction.nested { try $0.put(table, [2], [UInt8](repeating: 1, count: 2 << 20)) }
            }
            #expect(refused == .mapFull)
            try transaction.put(table, [3], [3])
        }
        #expect(try environment.read { try $0.view.records(of: table).map(\.0) } == [[1], [3]])
        try environment.expectIntact()
    }

    @Test("A nested transaction that swallows an error of LMDB is undone, and the outer one continues")
    func swallowedError() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder, mapSize: 1 << 20)
        let table = try environment.makeTable()
        try environment.write { transaction in
            #expect(throws: LMDBError(.badTransaction, operation: "mdb_txn_commit", path: folder.path)) {
                try transaction.nested { inner in
                    try inner.put(table, [1], [9])
                    try? inner.put(table, [2], [UInt8](repeating: 1, count: 2 << 20))
                }
            }
            try transaction.put(table, [1], [1])
        }
        #expect(try environment.value(table, [1]) == [1])
    }

    @Test("Tables that a nested transaction opened are kept or dropped with it")
    func tables() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let (kept, lost) = try environment.write { transaction in
            let kept = try transaction.nested { try environment.openTable(named: "kept", in: &$0) }
            try transaction.put(kept, [1], [1])
            var lost: Table?
            try? transaction.nested { inner in
                lost = try environment.openTable(named: "lost", in: &inner)
                throw Refusal()
            }
            let handle = try #require(lost)
            #expect(code { try transaction.put(handle, [1], [1]) } == .badTable)
            return (kept, handle)
        }
        #expect(try environment.value(kept, [1]) == [1])
        #expect(code { _ = try environment.value(lost, [1]) } == .badTable)
        #expect(try environment.read { try $0.view.tableNames() } == ["kept"])
    }
}
