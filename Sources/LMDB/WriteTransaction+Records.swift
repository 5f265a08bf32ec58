import LMDBInC

/// Access to the records of a table as raw bytes. The C calls copy keys and values, so they need not outlive a call.
extension WriteTransaction {
    /// Stores `value` under `key` and replaces any earlier value.
    @inlinable
    public mutating func put(_ table: Table, key: RawSpan, value: RawSpan) throws(LMDBError) {
        if let sealed = try environment.options.cipher?.seal(value) {
            return try putStored(table, key: key, value: sealed.rawSpan)
        }
        try putStored(table, key: key, value: value)
    }

    /// Stores bytes under `key` as they are, sealed or not, and replaces any earlier value.
    @inlinable
    public mutating func putStored(_ table: Table, key: RawSpan, value: RawSpan) throws(LMDBError) {
        try environment.check(table, key: key, "mdb_put")
        if let layer {
            try checkLongValue(table, key, "mdb_put")
            return layer.put(table, key: key, value: value)
        }
        opened?.forget()
        try release(table, key: key, for: value.byteCount, "mdb_put")
        let code = try store(table, key: key, value: value, flags: 0)
        guard code == MDB_SUCCESS else { throw environment.error(code, "mdb_put") }
    }

    /// Stores a value of `byteCount` bytes. `fill` writes it directly into the page, which saves a copy, and must write
    /// all bytes.
    @inlinable
    public mutating func put(
        _ table: Table, key: RawSpan, byteCount: Int, fill: (inout OutputRawSpan) -> Void
    ) throws(LMDBError) {
        if environment.options.cipher != nil {
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                let whole = UnsafeMutableRawBufferPointer(buffer)
                var output = unsafe OutputRawSpan(buffer: whole, initializedCount: 0)
                fill(&output)
                count = unsafe output.finalize(for: whole)
            }
            precondition(bytes.count == byteCount, "fill must write all bytes that were asked for")
            return try put(table, key: key, value: bytes.rawSpan)
        }
        try environment.check(table, key: key, "mdb_put")
        if let layer {
            try checkLongValue(table, key, "mdb_put")
            return unsafe layer.put(table, key, byteCount: byteCount) { buffer in
                var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
                fill(&output)
                let count = unsafe output.finalize(for: buffer)
                precondition(count == byteCount, "fill must write all bytes that were asked for")
            }
        }
        try release(table, key: key, for: byteCount, "mdb_put")
        var reserved = unsafe MDB_val(mv_size: byteCount, mv_data: nil)
        // unsafe: C only reads the key, and only during the call.
        let code = unsafe key.withUnsafeBytes { bytes in
            var key = unsafe MDB_val(bytes)
            return unsafe mdb_put(raw, table.dbi, &key, &reserved, UInt32(MDB_RESERVE))
        }
        guard code == MDB_SUCCESS else { throw environment.error(code, "mdb_put") }
        // unsafe: the space is ours until the next change, which cannot happen before `fill` returns: self is borrowed.
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: reserved.mv_data, count: reserved.mv_size)
        var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        fill(&output)
        let count = unsafe output.finalize(for: buffer)
        precondition(count == byteCount, "fill must write all bytes that were asked for")
    }

    /// Stores `value` under a new key. If the key exists, returns `false` and changes nothing.
    @inlinable
    public mutating func insert(_ table: Table, key: RawSpan, value: RawSpan) throws(LMDBError) -> Bool {
        if layer != nil {
            if try view.contains(table, key) { return false }
            try put(table, key: key, value: value)
            return true
        }
        let code = try storeSealed(table, key: key, value: value, flags: UInt32(MDB_NOOVERWRITE))
        if code == MDB_KEYEXIST { return false }
        guard code == MDB_SUCCESS else { throw environment.error(code, "mdb_put") }
        return true
    }

    /// Stores `value` under a key greater than all keys of the table, and fills pages completely. Throws `.keyExists`
    /// if the key is not the greatest.
    @inlinable
    public mutating func append(_ table: Table, key: RawSpan, value: RawSpan) throws(LMDBError) {
        if layer != nil {
            guard try isBehindAll(table, key) else { throw environment.error(MDB_KEYEXIST, "mdb_put") }
            return try put(table, key: key, value: value)
        }
        let code = try storeSealed(table, key: key, value: value, flags: UInt32(MDB_APPEND))
        guard code == MDB_SUCCESS else { throw environment.error(code, "mdb_put") }
    }

    /// Removes a key with its value. Returns `false` if the key does not exist.
    @inlinable
    @discardableResult
    public mutating func delete(_ table: Table, key: RawSpan) throws(LMDBError) -> Bool {
        try environment.check(table, key: key, "mdb_del")
        if let layer {
            let exists = try view.contains(table, key)
            if exists { try checkLongValue(table, key, "mdb_del") }
            if exists { layer.remove(table, key: key, isInTable: try view.getBeneath(table, key) != nil) }
            return exists
        }
        opened?.forget()
        try release(table, key: key, for: nil, "mdb_del")
        // unsafe: C only reads the key, and only during the call.
        let code = unsafe key.withUnsafeBytes { bytes in
            var key = unsafe MDB_val(bytes)
            return unsafe mdb_del(raw, table.dbi, &key, nil)
        }
        if code == MDB_NOTFOUND { return false }
        guard code == MDB_SUCCESS else { throw environment.error(code, "mdb_del") }
        return true
    }

    /// Removes all records of a table and keeps the table.
    public mutating func clear(_ table: Table) throws(LMDBError) {
        try environment.check(table, "mdb_drop")
        if layer != nil {
            var keys: [[UInt8]] = []
            var cursor = try view.cursor(table)
            while try cursor.next() { keys.append(cursor.key.array) }
            for key in keys { try delete(table, key: key.rawSpan) }
            return
        }
        opened?.forget()
        try checkLongValues(of: table, "mdb_drop")
        let code = unsafe mdb_drop(raw, table.dbi, 0)
        guard code == MDB_SUCCESS else { throw environment.error(code, "mdb_drop") }
    }

    @usableFromInline
    func isBehindAll(_ table: Table, _ key: RawSpan) throws(LMDBError) -> Bool {
        var cursor = try view.cursor(table)
        guard try cursor.last() else { return true }
        // unsafe: the bytes are only compared.
        return unsafe cursor.key.withUnsafeBytes { last in
            unsafe key.withUnsafeBytes { unsafe RecordLayer.order(last, $0) < 0 }
        }
    }

    @inlinable
    mutating func storeSealed(
        _ table: Table, key: RawSpan, value: RawSpan, flags: UInt32
    ) throws(LMDBError) -> Int32 {
        opened?.forget()
        if let sealed = try environment.options.cipher?.seal(value) {
            return try store(table, key: key, value: sealed.rawSpan, flags: flags)
        }
        return try store(table, key: key, value: value, flags: flags)
    }

    @inlinable
    mutating func store(
        _ table: Table, key: RawSpan, value: RawSpan, flags: UInt32
    ) throws(LMDBError) -> Int32 {
        try environment.check(table, key: key, "mdb_put")
        // unsafe: C only reads key and value, and only during the call.
        return unsafe key.withUnsafeBytes { keyBytes in
            unsafe value.withUnsafeBytes { valueBytes in
                var key = unsafe MDB_val(keyBytes)
                var value = unsafe MDB_val(valueBytes)
                return unsafe mdb_put(raw, table.dbi, &key, &value, flags)
            }
        }
    }
}

/// The same operations with arrays, for keys and values that are built in place.
extension WriteTransaction {
    @inlinable
    public mutating func put(_ table: Table, _ key: [UInt8], _ value: [UInt8]) throws(LMDBError) {
        try put(table, key: key.rawSpan, value: value.rawSpan)
    }

    @inlinable
    public mutating func put(_ table: Table, _ key: [UInt8], _ value: RawSpan) throws(LMDBError) {
        try put(table, key: key.rawSpan, value: value)
    }

    @inlinable
    public mutating func put(_ table: Table, _ key: [UInt8], _ value: Span<UInt8>) throws(LMDBError) {
        try put(table, key: key.rawSpan, value: value.rawSpan)
    }

    @inlinable
    public mutating func put(
        _ table: Table, _ key: [UInt8], byteCount: Int, fill: (inout OutputRawSpan) -> Void
    ) throws(LMDBError) {
        try put(table, key: key.rawSpan, byteCount: byteCount, fill: fill)
    }

    @inlinable
    public mutating func insert(_ table: Table, _ key: [UInt8], _ value: [UInt8]) throws(LMDBError) -> Bool {
        try insert(table, key: key.rawSpan, value: value.rawSpan)
    }

    @inlinable
    public mutating func insert(_ table: Table, _ key: [UInt8], _ value: RawSpan) throws(LMDBError) -> Bool {
        try insert(table, key: key.rawSpan, value: value)
    }

    @inlinable
    public mutating func append(_ table: Table, _ key: [UInt8], _ value: [UInt8]) throws(LMDBError) {
        try append(table, key: key.rawSpan, value: value.rawSpan)
    }

    @inlinable
    public mutating func append(_ table: Table, _ key: [UInt8], _ value: RawSpan) throws(LMDBError) {
        try append(table, key: key.rawSpan, value: value)
    }

    @inlinable
    @discardableResult
    public mutating func delete(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> Bool {
        try delete(table, key: key.rawSpan)
    }
}
