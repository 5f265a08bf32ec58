import LMDBInC

/// The data that a transaction sees. A view cannot outlive its transaction, and values read through it point directly
/// into the map, without a copy.
///
/// ```swift
/// if let value = try transaction.view.get(table, [1, 2]) {
///     print(value.byteCount)
/// }
/// ```
@safe
public struct View: ~Escapable {
    // unsafe: the transaction from which the view is borrowed keeps both alive. The unowned reference to the
    // environment saves two atomic operations per view.
    @usableFromInline let raw: OpaquePointer
    @usableFromInline unowned(unsafe) let environment: Environment
    /// The records that lie over the tables; the transaction keeps them alive.
    @usableFromInline unowned(unsafe) let layer: RecordLayer?
    /// The sealed values that were opened; the transaction keeps them alive.
    @usableFromInline unowned(unsafe) let opened: OpenedValues?

    @inlinable
    @_lifetime(borrow owner)
    init<Owner: ~Copyable>(
        raw: OpaquePointer, environment: Environment, layer: RecordLayer?, opened: OpenedValues?,
        owner: borrowing Owner
    ) {
        unsafe self.raw = raw
        unsafe self.environment = environment
        unsafe self.layer = layer
        unsafe self.opened = opened
    }

    /// The number of this view's transaction.
    public var transactionID: Int { unsafe mdb_txn_id(raw) }

    /// Returns the value under `key`, or `nil`.
    @inlinable
    @_lifetime(copy self)
    public func get(_ table: Table, _ key: RawSpan) throws(LMDBError) -> RawSpan? {
        guard let stored = try getStored(table, key) else { return nil }
        guard let opened = unsafe opened else { return stored }
        // unsafe: the opened bytes stay where they are until the transaction ends or changes something.
        let bytes = unsafe stored.withUnsafeBytes { unsafe opened.open($0) }
        let span = unsafe RawSpan(_unsafeBytes: bytes)
        return unsafe _overrideLifetime(span, copying: self)
    }

    /// Returns the bytes that are stored under `key`, sealed or not, or `nil`.
    @inlinable
    @_lifetime(copy self)
    public func getStored(_ table: Table, _ key: RawSpan) throws(LMDBError) -> RawSpan? {
        if let layer = unsafe layer, layer.covers(table), let entry = unsafe layer.find(table, key) {
            if unsafe entry.isRemoved { return nil }
            let span = unsafe RawSpan(_unsafeBytes: entry.valueBytes)
            return unsafe _overrideLifetime(span, copying: self)
        }
        return try getBeneath(table, key)
    }

    /// Returns the bytes that the table itself has under `key`, sealed or not, or `nil`.
    @inlinable
    @_lifetime(copy self)
    public func getBeneath(_ table: Table, _ key: RawSpan) throws(LMDBError) -> RawSpan? {
        try unsafe environment.check(table, key: key, "mdb_get")
        var value = unsafe MDB_val()
        // unsafe: C only reads the key, and only during the call.
        let code = unsafe key.withUnsafeBytes { bytes in
            var key = unsafe MDB_val(bytes)
            return unsafe mdb_get(raw, table.dbi, &key, &value)
        }
        if code == MDB_NOTFOUND { return nil }
        guard code == MDB_SUCCESS else { throw unsafe environment.error(code, "mdb_get") }
        // unsafe: the bytes do not move until the transaction ends or changes something, and neither is possible while
        // a span with the lifetime of this view lives.
        let span = unsafe RawSpan(_unsafeStart: value.mv_data, byteCount: value.mv_size)
        return unsafe _overrideLifetime(span, copying: self)
    }

    /// Returns the value under `key`, or `nil`.
    @inlinable
    @_lifetime(copy self)
    public func get(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> RawSpan? {
        try get(table, key.rawSpan)
    }

    /// Returns the bytes that the table itself has under `key`, sealed or not, or `nil`.
    @inlinable
    @_lifetime(copy self)
    public func getBeneath(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> RawSpan? {
        try getBeneath(table, key.rawSpan)
    }

    /// Returns `true` if the table has the key.
    @inlinable
    public func contains(_ table: Table, _ key: RawSpan) throws(LMDBError) -> Bool {
        try getStored(table, key) != nil
    }

    /// Returns `true` if the table has the key.
    @inlinable
    public func contains(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> Bool {
        try getStored(table, key.rawSpan) != nil
    }

    /// Returns a cursor over the table, initially without a position.
    @_lifetime(copy self)
    public func cursor(_ table: Table) throws(LMDBError) -> Cursor {
        try unsafe environment.check(table, "mdb_cursor_open")
        guard let layer = unsafe layer, layer.covers(table) else {
            return try unsafe Cursor(view: self, dbi: table.dbi, opened: opened)
        }
        return try unsafe Cursor(view: self, dbi: table.dbi, over: layer.entries(table), opened: opened)
    }
}

extension MDB_val {
    /// unsafe: only for calls that read the bytes and do not keep them; the C type has no const.
    @inlinable
    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
