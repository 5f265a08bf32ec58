import ColumnFormat
import LMDB

// The tables of the store in raw form, for dumps below the level of samples.
extension SampleReading where Self: ~Copyable {
    /// The names of the tables, sorted.
    public var tableNames: [String] { TableCode.allCases.map(\.name).sorted() }

    /// Calls `body` with each key and value of a table, in the order of the keys.
    public func forEachRecord(ofTable name: String, _ body: ([UInt8], [UInt8]) throws -> Void) throws {
        guard let code = TableCode(name: name) else { return }
        let snapshot = snapshot
        var cursor = try snapshot.view.cursor(snapshot.tables[code])
        while try cursor.next() { try body(cursor.key.copied(), cursor.value.copied()) }
    }
}
