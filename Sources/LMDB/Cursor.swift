import LMDBInC

/// A position in a table. A cursor cannot outlive its transaction, and the transaction cannot write while the cursor
/// lives.
///
/// ```swift
/// var cursor = try transaction.view.cursor(table)
/// var found = try cursor.seek([1, 2])
/// while found {
///     print(cursor.key.byteCount, cursor.value.byteCount)
///     found = try cursor.next()
/// }
/// ```
///
/// Each move returns `true` if the cursor is now at a record. After the last record, `previous()` moves to the last
/// record; before the first record, and on a new cursor, `next()` moves to the first record.
@safe
public struct Cursor: ~Copyable, ~Escapable {
    @usableFromInline
    enum Place: UInt8 {
        case nowhere, record, beforeFirst, afterLast
    }

    // unsafe: deinit closes the C cursor before its transaction can end. Key and value point into the map, which does
    // not change while this value borrows from the transaction.
    @usableFromInline let raw: OpaquePointer
    @usableFromInline unowned(unsafe) let environment: Environment
    /// The sealed values that were opened; `nil` for a table whose values are never sealed.
    @usableFromInline unowned(unsafe) let opened: OpenedValues?
    @usableFromInline var currentKey = unsafe MDB_val()
    @usableFromInline var currentValue = unsafe MDB_val()
    @usableFromInline var place = Place.nowhere
    /// Whether records lie over the table.
    @usableFromInline let isLayered: Bool
    /// The records that lie over the table, and where the cursor is among them.
    var merge = Merge()

    @_lifetime(copy view)
    init(view: View, dbi: MDB_dbi, opened: OpenedValues? = nil) throws(LMDBError) {
        unsafe raw = try Cursor.open(view, dbi)
        unsafe environment = view.environment
        unsafe self.opened = opened
        isLayered = false
    }

    @_lifetime(copy view)
    init(view: View, dbi: MDB_dbi, over entries: [RecordLayer.Entry], opened: OpenedValues?) throws(LMDBError) {
        unsafe raw = try Cursor.open(view, dbi)
        unsafe environment = view.environment
        unsafe self.opened = opened
        isLayered = true
        unsafe merge.entries = entries
    }

    private static func open(_ view: View, _ dbi: MDB_dbi) throws(LMDBError) -> OpaquePointer {
        var cursor: OpaquePointer?
        let code = unsafe mdb_cursor_open(view.raw, dbi, &cursor)
        guard code == MDB_SUCCESS, let cursor = unsafe cursor else {
            throw unsafe view.environment.error(code, "mdb_cursor_open")
        }
        return unsafe cursor
    }

    /// The key of the current record. Requires that the cursor is at a record.
    @inlinable
    public var key: RawSpan {
        @_lifetime(copy self)
        get {
            precondition(place == .record, "the cursor is not positioned on a record")
            let span = unsafe RawSpan(_unsafeStart: currentKey.mv_data, byteCount: currentKey.mv_size)
            return unsafe _overrideLifetime(span, copying: self)
        }
    }

    /// The value of the current record. Requires that the cursor is at a record.
    @inlinable
    public var value: RawSpan {
        @_lifetime(copy self)
        get {
            precondition(place == .record, "the cursor is not positioned on a record")
            let stored = unsafe UnsafeRawBufferPointer(start: currentValue.mv_data, count: currentValue.mv_size)
            let span = unsafe RawSpan(_unsafeBytes: opened?.open(stored) ?? stored)
            return unsafe _overrideLifetime(span, copying: self)
        }
    }

    /// The bytes that are stored as the value of the current record, sealed or not. Requires that the cursor is at a
    /// record.
    @inlinable
    public var stored: RawSpan {
        @_lifetime(copy self)
        get {
            precondition(place == .record, "the cursor is not positioned on a record")
            let span = unsafe RawSpan(_unsafeStart: currentValue.mv_data, byteCount: currentValue.mv_size)
            return unsafe _overrideLifetime(span, copying: self)
        }
    }

    /// Moves to the first record.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func first() throws(LMDBError) -> Bool {
        try isLayered ? firstOfBoth() : move(MDB_FIRST, orElse: .afterLast)
    }

    /// Moves to the last record.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func last() throws(LMDBError) -> Bool {
        try isLayered ? lastOfBoth() : move(MDB_LAST, orElse: .beforeFirst)
    }

    /// Moves to the next record.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() throws(LMDBError) -> Bool {
        switch place {
        case .record: try isLayered ? nextOfBoth() : move(MDB_NEXT, orElse: .afterLast)
        case .nowhere, .beforeFirst: try first()
        case .afterLast: false
        }
    }

    /// Moves to the previous record.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func previous() throws(LMDBError) -> Bool {
        switch place {
        case .record: try isLayered ? previousOfBoth() : move(MDB_PREV, orElse: .beforeFirst)
        case .nowhere, .afterLast: try last()
        case .beforeFirst: false
        }
    }

    /// Moves to the first record with a key of at least `key`. Every key is greater than the empty key.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func seek(_ key: RawSpan) throws(LMDBError) -> Bool {
        if key.byteCount == 0 { return try first() }
        if isLayered { return try seekInBoth(key) }
        return try move(MDB_SET_RANGE, to: key, orElse: .afterLast)
    }

    /// Moves to the record with this key. If there is none, the cursor has no position.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func seekExact(_ key: RawSpan) throws(LMDBError) -> Bool {
        guard isLayered else { return try move(MDB_SET_KEY, to: key, orElse: .nowhere) }
        guard try seekInBoth(key), hasKey(key) else {
            place = .nowhere
            return false
        }
        return true
    }

    /// Moves to the last record with a key of at most `key`, in at most two C calls.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func seekAtOrBefore(_ key: RawSpan) throws(LMDBError) -> Bool {
        guard try seek(key) else { return try last() }
        return hasKey(key) ? true : try previous()
    }

    @inlinable
    @_lifetime(self: copy self)
    public mutating func seek(_ key: [UInt8]) throws(LMDBError) -> Bool { try seek(key.rawSpan) }

    @inlinable
    @_lifetime(self: copy self)
    public mutating func seekExact(_ key: [UInt8]) throws(LMDBError) -> Bool { try seekExact(key.rawSpan) }

    @inlinable
    @_lifetime(self: copy self)
    public mutating func seekAtOrBefore(_ key: [UInt8]) throws(LMDBError) -> Bool {
        try seekAtOrBefore(key.rawSpan)
    }

    deinit {
        unsafe mdb_cursor_close(raw)
    }
}

// The C calls fill local variables: a pointer to a member would tie the cursor's lifetime to the call.
extension Cursor {
    @inlinable
    @_lifetime(self: copy self)
    mutating func move(_ operation: MDB_cursor_op, orElse elsewhere: Place) throws(LMDBError) -> Bool {
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        let code = unsafe mdb_cursor_get(raw, &key, &value, operation)
        return try unsafe arrive(code, key, value, orElse: elsewhere)
    }

    @inlinable
    @_lifetime(self: copy self)
    mutating func move(
        _ operation: MDB_cursor_op, to wanted: RawSpan, orElse elsewhere: Place
    ) throws(LMDBError) -> Bool {
        place = .nowhere
        try unsafe environment.check(key: wanted, "mdb_cursor_get")
        let cursor = unsafe raw
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        // unsafe: C reads the wanted key during the call, and on success replaces it with the key in the map.
        let code = unsafe wanted.withUnsafeBytes { bytes in
            unsafe key = MDB_val(bytes)
            return unsafe mdb_cursor_get(cursor, &key, &value, operation)
        }
        return try unsafe arrive(code, key, value, orElse: elsewhere)
    }

    @inlinable
    @_lifetime(self: copy self)
    mutating func arrive(
        _ code: Int32, _ key: MDB_val, _ value: MDB_val, orElse elsewhere: Place
    ) throws(LMDBError) -> Bool {
        if code == MDB_SUCCESS {
            unsafe currentKey = key
            unsafe currentValue = value
            place = .record
            return true
        }
        place = code == MDB_NOTFOUND ? elsewhere : .nowhere
        guard code == MDB_NOTFOUND else { throw unsafe environment.error(code, "mdb_cursor_get") }
        return false
    }

    @inlinable
    func hasKey(_ wanted: RawSpan) -> Bool {
        // unsafe: both are compared inside the closure.
        let found = unsafe UnsafeRawBufferPointer(start: currentKey.mv_data, count: currentKey.mv_size)
        return unsafe wanted.withUnsafeBytes { unsafe $0.elementsEqual(found) }
    }
}
