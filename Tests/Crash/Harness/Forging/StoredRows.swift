import ColumnFormat
import LMDB

/// The rows of a store as LMDB keeps them, and consistent changes to them.
struct StoredRows {
    struct Row {
        var table: TableCode
        var key: [UInt8]
        var value: [UInt8]
    }

    /// The rows, ordered by table and key.
    let rows: [Row]
    private let places: [TableCode: Range<Int>]

    /// Reads the store in a folder.
    init(folder: String) throws {
        let environment = try Environment(folder: folder, options: StoredRows.options)
        defer { environment.close() }
        let transaction = try environment.beginRead()
        var rows: [Row] = []
        var places: [TableCode: Range<Int>] = [:]
        for code in TableCode.allCases {
            guard let table = try environment.openTable(named: code.name, in: transaction) else { continue }
            let first = rows.count
            var cursor = try transaction.view.cursor(table)
            while try cursor.next() {
                rows.append(Row(table: code, key: cursor.key.array, value: cursor.value.array))
            }
            places[code] = first..<rows.count
        }
        self.rows = rows
        self.places = places
    }

    var tables: [TableCode] { places.keys.sorted { $0.rawValue < $1.rawValue } }

    /// The rows of one table.
    subscript(_ table: TableCode) -> ArraySlice<Row> { rows[places[table] ?? 0..<0] }

    private static var options: Environment.Options {
        var options = Environment.Options(mapSize: 64 << 20, scratch: true)
        options.isPrivate = true
        return options
    }

    /// The rows to put or remove; a `nil` value removes the row.
    typealias Changes = [(table: TableCode, key: [UInt8], value: [UInt8]?)]

    private static let headerKey = Array("header".utf8)

    /// Writes changes to the store in a folder in one transaction, and updates the header to match them.
    static func write(_ changes: Changes, to folder: String) throws {
        let environment = try Environment(folder: folder, options: options)
        defer { environment.close() }
        var transaction = try environment.beginWrite()
        let meta = try environment.openTable(named: TableCode.meta.name, in: &transaction)
        var sum: UInt64 = 0
        for change in changes where !change.key.isEmpty && change.key.count <= environment.maxKeySize {
            let table = try environment.openTable(named: change.table.name, in: &transaction)
            if covers(change.table, change.key) {
                if let old = try transaction.view.get(table, change.key) { sum &-= term(change, old.array) }
                if let value = change.value { sum &+= term(change, value) }
            }
            if let value = change.value {
                try transaction.put(table, change.key, value)
            } else {
                try transaction.delete(table, change.key)
            }
        }
        if let header = try transaction.view.get(meta, headerKey)?.array {
            try transaction.put(meta, headerKey, fitting(header, UInt64(transaction.id), sum))
        }
        try transaction.commit()
    }

    /// Returns the header with this transaction number and with a difference added to its sum.
    private static func fitting(_ header: [UInt8], _ transaction: UInt64, _ difference: UInt64) -> [UInt8] {
        guard var value = SealedValue(header), !value.columns.isEmpty, value.columns[0].bytes.count >= 96 else {
            return header
        }
        var fields = value.columns[0].bytes
        fields.replaceSubrange(36..<44, with: SealedValue.bytes(transaction))
        let sum = 96 + 5 * fields.number(92)
        if sum + 8 <= fields.count {
            let old = (0..<8).reduce(UInt64(0)) { $0 | UInt64(fields[sum + $1]) << UInt64(8 * $1) }
            fields.replaceSubrange(sum..<sum + 8, with: SealedValue.bytes(old &+ difference))
        }
        value.columns[0].bytes = fields
        return value.sealed
    }

    private static func covers(_ table: TableCode, _ key: [UInt8]) -> Bool {
        switch table {
        case .chunks, .details, .meta: false
        case .identity: key.first != 3
        default: true
        }
    }

    private static func term(_ change: Changes.Element, _ value: [UInt8]) -> UInt64 {
        let commit = value.count < 16 ? [UInt8](repeating: 0, count: 8) : Array(value[8..<16])
        let bytes = [change.table.rawValue] + change.key + commit
        return Checksum.hash(bytes, 0..<bytes.count)
    }
}
