import LMDBInC

/// What a transaction sees. It lives no longer than its transaction, and what is read through it points straight into
/// the map without a copy.
///
/// ```swift
/// if let value = try transaction.view.get(table, [1, 2]) {
///     print(value.byteCount)
/// }
/// ```
@safe
public struct View: ~Escapable {
    // unsafe: both are kept alive by the transaction from which the view is borrowed. Holding the environment unowned
    // spares two atomic operations for each view.
    @usableFromInline let raw: OpaquePointer
    @usableFromInline unowned(unsafe) let environment: Environment

    @inlinable
    @_lifetime(borrow owner)
    init<Owner: ~Copyable>(raw: OpaquePointer, environment: Environment, owner: borrowing Owner) {
        unsafe self.raw = raw
        unsafe self.environment = environment
    }

    /// The number of the transaction that this view belongs to.
    public var transactionID: Int { unsafe mdb_txn_id(raw) }

    /// The value under `key`, or nil.
    @inlinable
    @_lifetime(copy self)
    public func get(_ table: Table, _ key: RawSpan) throws(LMDBError) -> RawSpan? {
        try unsafe environment.check(table, key: key, "mdb_get")
        var value = unsafe MDB_val()
        // unsafe: C only reads the key, and only during the call.
        let code = unsafe key.withUnsafeBytes { bytes in
            var key = unsafe MDB_val(bytes)
            return unsafe mdb_get(raw, table.dbi, &key, &value)
        }
        if code == MDB_NOTFOUND { return nil }
        guard code == MDB_SUCCESS else { throw unsafe environment.error(code, "mdb_get") }
        // unsafe: the bytes stay where they are until the transaction ends or changes something, and neither is
        // possible while a span with the lifetime of this view lives.
        let span = unsafe RawSpan(_unsafeStart: value.mv_data, byteCount: value.mv_size)
        return unsafe _overrideLifetime(span, copying: self)
    }

    /// The value under `key`, or nil.
    @inlinable
    @_lifetime(copy self)
    public func get(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> RawSpan? {
        try get(table, key.rawSpan)
    }

    /// Whether the table has the key.
    @inlinable
    public func contains(_ table: Table, _ key: RawSpan) throws(LMDBError) -> Bool {
        try get(table, key) != nil
    }

    /// Whether the table has the key.
    @inlinable
    public func contains(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> Bool {
        try get(table, key.rawSpan) != nil
    }

    /// A cursor over the table. It stands nowhere at first.
    @_lifetime(copy self)
    public func cursor(_ table: Table) throws(LMDBError) -> Cursor {
        try unsafe environment.check(table, "mdb_cursor_open")
        return try Cursor(view: self, dbi: table.dbi)
    }
}

extension MDB_val {
    /// unsafe: only for calls that read the bytes and do not keep them; C has no const here.
    @inlinable
    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
