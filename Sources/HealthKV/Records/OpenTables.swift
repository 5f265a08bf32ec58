import ColumnFormat
import LMDB

/// The open tables of a store.
struct OpenTables: Sendable {
    private let tables: [Table]

    /// Opens every table, and creates those that are missing.
    init(creatingIn transaction: inout LMDB.WriteTransaction, _ environment: Environment) throws(LMDBError) {
        var tables: [Table] = []
        for code in TableCode.allCases { tables.append(try environment.openTable(named: code.name, in: &transaction)) }
        self.tables = tables
    }

    /// Opens every table; `nil` if one is missing.
    init?(in transaction: borrowing LMDB.ReadTransaction, _ environment: Environment) throws(LMDBError) {
        var tables: [Table] = []
        for code in TableCode.allCases {
            guard let table = try environment.openTable(named: code.name, in: transaction) else { return nil }
            tables.append(table)
        }
        self.tables = tables
    }

    subscript(_ code: TableCode) -> Table { tables[Int(code.rawValue) - 1] }

    /// All tables, in the order of their codes.
    var all: [Table] { tables }

    /// Returns the code of one of these tables.
    func code(of table: Table) -> TableCode { TableCode.allCases[tables.firstIndex(of: table)!] }
}
