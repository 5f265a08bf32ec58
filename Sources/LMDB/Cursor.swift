import LMDBInC

/// A place in a table. It cannot outlive its transaction, and while it lives the transaction cannot write.
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
/// Each move answers whether the cursor now stands on a record. Behind the last record `previous()` leads to the last
/// one; before the first, and at the start, `next()` leads to the first one.
@safe
public struct Cursor: ~Copyable, ~Escapable {
    @usableFromInline
    enum Place: UInt8 {
        case nowhere, record, beforeFirst, afterLast
    }

    // unsafe: the C cursor is closed in deinit, before its transaction can end; key and value point into the map, which
    // stays as it is while this borrows from the transaction.
    @usableFromInline let raw: OpaquePointer
    @usableFromInline unowned(unsafe) let environment: Environment
    @usableFromInline var currentKey = unsafe MDB_val()
    @usableFromInline var currentValue = unsafe MDB_val()
    @usableFromInline var place = Place.nowhere

    @_lifetime(copy view)
    init(view: View, dbi: MDB_dbi) throws(LMDBError) {
        var cursor: OpaquePointer?
        let code = unsafe mdb_cursor_open(view.raw, dbi, &cursor)
        guard code == MDB_SUCCESS, let cursor = unsafe cursor else {
            throw unsafe view.environment.error(code, "mdb_cursor_open")
        }
        unsafe raw = cursor
        unsafe environment = view.environment
    }

    /// The key of the record that the cursor stands on. It is an error of the program to ask when it stands on none.
    @inlinable
    public var key: RawSpan {
        @_lifetime(copy self)
        get {
            precondition(place == .record, "the cursor stands on no record")
            let span = unsafe RawSpan(_unsafeStart: currentKey.mv_data, byteCount: currentKey.mv_size)
            return unsafe _overrideLifetime(span, copying: self)
        }
    }

    /// The value of the record that the cursor stands on. It is an error of the program to ask when it stands on none.
    @inlinable
    public var value: RawSpan {
        @_lifetime(copy self)
        get {
            precondition(place == .record, "the cursor stands on no record")
            let span = unsafe RawSpan(_unsafeStart: currentValue.mv_data, byteCount: currentValue.mv_size)
            return unsafe _overrideLifetime(span, copying: self)
        }
    }

    /// Goes to the first record.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func first() throws(LMDBError) -> Bool { try move(MDB_FIRST, orElse: .afterLast) }

    /// Goes to the last record.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func last() throws(LMDBError) -> Bool { try move(MDB_LAST, orElse: .beforeFirst) }

    /// Goes to the next record.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() throws(LMDBError) -> Bool {
        switch place {
        case .record: try move(MDB_NEXT, orElse: .afterLast)
        case .nowhere, .beforeFirst: try first()
        case .afterLast: false
        }
    }

    /// Goes to the record before.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func previous() throws(LMDBError) -> Bool {
        switch place {
        case .record: try move(MDB_PREV, orElse: .beforeFirst)
        case .nowhere, .afterLast: try last()
        case .beforeFirst: false
        }
    }

    /// Goes to the first record whose key is `key` or greater. Every key is greater than the empty one.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func seek(_ key: RawSpan) throws(LMDBError) -> Bool {
        if key.byteCount == 0 { return try first() }
        return try move(MDB_SET_RANGE, to: key, orElse: .afterLast)
    }

    /// Goes to the record with this key. When there is none the cursor stands nowhere.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func seekExact(_ key: RawSpan) throws(LMDBError) -> Bool {
        try move(MDB_SET_KEY, to: key, orElse: .nowhere)
    }

    /// Goes to the last record whose key is `key` or less, in two calls at most.
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

// The C calls fill local values: a pointer to a member would tie the cursor's lifetime to the call.
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
        // unsafe: C reads the wanted key during the call, and on success replaces it by the one in the map.
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
