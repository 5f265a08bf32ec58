/// A key that encodes to bytes in the order of the keys.
public protocol KeyCodec {
    /// 1 to 511 bytes. Their byte order is the order of the keys.
    var keyBytes: [UInt8] { get }
    init(keyBytes: RawSpan) throws
}

/// A record that encodes to bytes.
public protocol RecordCodec {
    var recordBytes: [UInt8] { get }
    init(recordBytes: RawSpan) throws
}

/// A table with typed keys and values.
///
/// ```swift
/// let people = TypedTable<PersonID, Person>(table)
/// try people.put(person, under: id, in: &transaction)
/// let same = try people.get(id, in: transaction.view)
/// ```
public struct TypedTable<Key: KeyCodec, Record: RecordCodec>: Sendable {
    public let table: Table

    public init(_ table: Table) {
        self.table = table
    }

    /// Returns the record under `key`, or `nil`. Throws the errors of LMDB and of the record's decoder.
    public func get(_ key: Key, in view: View) throws -> Record? {
        guard let bytes = try view.get(table, key.keyBytes) else { return nil }
        return try Record(recordBytes: bytes)
    }

    public func contains(_ key: Key, in view: View) throws(LMDBError) -> Bool {
        try view.contains(table, key.keyBytes)
    }

    /// Stores the record and replaces any earlier record.
    public func put(_ record: Record, under key: Key, in transaction: inout WriteTransaction) throws(LMDBError) {
        try transaction.put(table, key.keyBytes, record.recordBytes)
    }

    /// Removes the record. Returns `false` if there is none.
    @discardableResult
    public func delete(_ key: Key, in transaction: inout WriteTransaction) throws(LMDBError) -> Bool {
        try transaction.delete(table, key.keyBytes)
    }

    /// Calls `body` with each record in key order, beginning at `start`, until it returns `false`.
    public func forEach(
        from start: Key? = nil, in view: View, _ body: (Key, Record) throws -> Bool
    ) throws {
        var cursor = try view.cursor(table)
        var found = try start.map { try cursor.seek($0.keyBytes) } ?? cursor.first()
        while found {
            guard try body(Key(keyBytes: cursor.key), Record(recordBytes: cursor.value)) else { return }
            found = try cursor.next()
        }
    }
}
