import LMDB
import Testing
import TestSupport

extension Environment {
    /// Opens a small environment for a test.
    static func small(
        _ folder: TemporaryFolder, mapSize: Int = 64 << 20, scratch: Bool = true
    ) throws -> Environment {
        try Environment(folder: folder.path, options: Options(mapSize: mapSize, scratch: scratch))
    }

    func makeTable(_ name: String = "table") throws -> Table {
        try write { try openTable(named: name, in: &$0) }
    }

    func write<Result>(_ body: (inout WriteTransaction) throws -> Result) throws -> Result {
        var transaction = try beginWrite()
        let result = try body(&transaction)
        try transaction.commit()
        return result
    }

    func read<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
        try body(try beginRead())
    }

    func value(_ table: Table, _ key: [UInt8]) throws -> [UInt8]? {
        try read { try $0.view.get(table, key)?.array }
    }

    /// Checks that every page is used once: by a tree, by the free list or as one of the two meta pages.
    func expectIntact(_ sourceLocation: SourceLocation = #_sourceLocation) throws {
        let (names, used) = try read { transaction in
            let free = try transaction.view.freeStatistics()
            let pages = try 2 + free.freePages + free.tree.pages + transaction.view.catalogStatistics().pages
            return (try transaction.view.tableNames(), pages)
        }
        var total = used
        for name in names {
            total += try read { transaction in
                let table = try #require(try openTable(named: name, in: transaction))
                let records = try transaction.view.records(of: table)
                let statistics = try transaction.view.statistics(table)
                #expect(records.count == statistics.entries, sourceLocation: sourceLocation)
                #expect(isAscending(records.map(\.0)), sourceLocation: sourceLocation)
                return statistics.pages
            }
        }
        #expect(total == (try info().lastPage) + 1, "each page has one owner", sourceLocation: sourceLocation)
    }
}

extension TableStatistics {
    var pages: Int { branchPages + leafPages + overflowPages }
}

extension View {
    func records(of table: Table) throws -> [([UInt8], [UInt8])] {
        var records: [([UInt8], [UInt8])] = []
        var cursor = try cursor(table)
        while try cursor.next() {
            records.append((cursor.key.array, cursor.value.array))
        }
        return records
    }
}

func isAscending(_ keys: [[UInt8]]) -> Bool {
    zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
}

/// The code of the error that `body` throws, or nil.
func code(_ body: () throws -> Void) -> LMDBError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? LMDBError)?.code
    }
}

extension Environment.Options {
    /// Waits a short time for the folder's lock.
    static var impatient: Environment.Options {
        var options = Environment.Options(mapSize: 64 << 20)
        options.patience = .milliseconds(50)
        return options
    }
}
