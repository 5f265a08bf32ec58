import HealthModel
import LMDB

/// A store that an opened LMDB file holds.
struct ExistingStore {
    let tables: OpenTables
    let storeID: SampleID
    /// What a sealed store says of its key; `nil` for any other.
    let seal: SealRecord?
    /// The number of the transaction that looked, and the one that the header names.
    private let number: UInt64
    private let header: UInt64

    /// Returns the tables of an existing store; `nil` for an LMDB file without any tables, which another process may
    /// have created.
    static func find(_ environment: Environment, _ path: String, readOnly: Bool) throws -> ExistingStore? {
        var last: ExistingStore?
        while let found = try look(environment, path, readOnly: readOnly) {
            if found.header == found.number { return found }
            // LMDB reads the number of a snapshot first and its meta page second. If two commits happened in between,
            // the meta page is that of the later one. In a damaged file, a second look finds the same mismatch.
            if let last, last.number == found.number, last.header == found.header {
                throw StoreError(
                    .damaged, path: path,
                    "The store's header belongs to another transaction than the file's meta page, as in a file that "
                        + "mdb_load made")
            }
            last = found
        }
        return nil
    }

    private static func look(
        _ environment: Environment, _ path: String, readOnly: Bool
    ) throws -> ExistingStore? {
        let transaction = try environment.beginRead()
        let names = try transaction.view.tableNames()
        if names.isEmpty {
            guard readOnly else { return nil }
            throw StoreError(.notAStore, path: path, "The file holds no store yet")
        }
        guard let tables = try OpenTables(in: transaction, environment) else {
            throw StoreError(.notAStore, path: path, "The file is an LMDB file, but no store")
        }
        guard try !StoreHeader.isRetired(transaction.view, tables) else {
            throw RetiredFile(file: try environment.dataFile())
        }
        let header = try StoreHeader.read(transaction.view, tables)
        return ExistingStore(
            tables: tables, storeID: header.storeID, seal: try SealRecord.read(transaction.view, tables),
            number: UInt64(transaction.id), header: header.transaction)
    }
}
