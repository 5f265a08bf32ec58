import LMDB

@testable import HealthKV

/// Changes of a store's tables that no store makes itself.
enum RawStore {
    /// Commits what `body` changes in the tables of a closed store.
    static func change(
        _ folder: String, _ body: (inout LMDB.WriteTransaction, OpenTables, inout StoreHeader) throws -> Void
    ) throws {
        var options = Environment.Options()
        options.isPrivate = true
        let environment = try Environment(folder: folder, options: options)
        defer { _ = environment.close() }
        var transaction = try environment.beginWrite()
        let tables = try OpenTables(creatingIn: &transaction, environment)
        var header = try StoreHeader.read(transaction.view, tables)
        try body(&transaction, tables, &header)
        try transaction.commit()
    }
}
