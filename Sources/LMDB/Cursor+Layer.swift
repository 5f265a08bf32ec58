import LMDBInC

/// Merges the records that lie over a table with those of the table, for a cursor.
///
/// Moving forward, both parts stand at their first record that is not before the current one; moving backward, at their
/// last one that is not behind it. Where both have the same key, the table's record is covered.
extension Cursor {
    @safe
    struct Layer {
        // unsafe: the entries lead into the overlay, which the transaction keeps alive.
        var entries: [Overlay.Entry] = unsafe []
        /// The place among the entries; out of bounds at either end.
        var index = 0
        /// The record of the table; meaningless unless `hasBase` is set.
        var baseKey = unsafe MDB_val()
        var baseValue = unsafe MDB_val()
        var hasBase = false
        var isForward = true
        /// Which of both parts stand at the current record.
        var isAtBase = false
        var isAtEntry = false

        var hasEntry: Bool { unsafe index >= 0 && index < entries.count }
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func firstOfBoth() throws(LMDBError) -> Bool {
        try moveBase(MDB_FIRST)
        layer.index = 0
        return try settleForward()
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func lastOfBoth() throws(LMDBError) -> Bool {
        try moveBase(MDB_LAST)
        layer.index = unsafe layer.entries.count - 1
        return try settleBackward()
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func seekInBoth(_ key: RawSpan) throws(LMDBError) -> Bool {
        place = .nowhere
        try unsafe environment.check(key: key, "mdb_cursor_get")
        let entries = unsafe layer.entries
        let code: (Int32, MDB_val, MDB_val, Int) = unsafe key.withUnsafeBytes { bytes in
            var (key, value) = unsafe (MDB_val(bytes), MDB_val())
            let code = unsafe mdb_cursor_get(raw, &key, &value, MDB_SET_RANGE)
            return unsafe (code, key, value, Overlay.lowerBound(entries, bytes))
        }
        try unsafe noteBase(code.0, code.1, code.2)
        layer.index = unsafe code.3
        return try settleForward()
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func nextOfBoth() throws(LMDBError) -> Bool {
        if layer.isForward {
            if layer.isAtBase { try moveBase(MDB_NEXT) }
            if layer.isAtEntry { layer.index += 1 }
        } else {
            let current = unsafe UnsafeRawBufferPointer(start: currentKey.mv_data, count: currentKey.mv_size)
            let index = unsafe Overlay.lowerBound(layer.entries, current)
            let isAtEntry = layer.isAtEntry
            try unsafe seekBase(current)
            if layer.hasBase, unsafe Overlay.order(layer.baseBytes, current) == 0 { try moveBase(MDB_NEXT) }
            layer.index = isAtEntry ? index + 1 : index
        }
        return try settleForward()
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func previousOfBoth() throws(LMDBError) -> Bool {
        if !layer.isForward {
            if layer.isAtBase { try moveBase(MDB_PREV) }
            if layer.isAtEntry { layer.index -= 1 }
        } else {
            let current = unsafe UnsafeRawBufferPointer(start: currentKey.mv_data, count: currentKey.mv_size)
            layer.index = unsafe Overlay.lowerBound(layer.entries, current) - 1
            try unsafe seekBase(current)
            try moveBase(layer.hasBase ? MDB_PREV : MDB_LAST)
        }
        return try settleBackward()
    }

    @_lifetime(self: copy self)
    private mutating func moveBase(_ operation: MDB_cursor_op) throws(LMDBError) {
        var (key, value) = unsafe (MDB_val(), MDB_val())
        let code = unsafe mdb_cursor_get(raw, &key, &value, operation)
        try unsafe noteBase(code, key, value)
    }

    /// Moves the table's part to its first record that is not before a key.
    @_lifetime(self: copy self)
    private mutating func seekBase(_ wanted: UnsafeRawBufferPointer) throws(LMDBError) {
        var (key, value) = unsafe (MDB_val(wanted), MDB_val())
        let code = unsafe mdb_cursor_get(raw, &key, &value, MDB_SET_RANGE)
        try unsafe noteBase(code, key, value)
    }

    @_lifetime(self: copy self)
    private mutating func noteBase(_ code: Int32, _ key: MDB_val, _ value: MDB_val) throws(LMDBError) {
        layer.hasBase = code == MDB_SUCCESS
        unsafe layer.baseKey = key
        unsafe layer.baseValue = value
        guard code == MDB_SUCCESS || code == MDB_NOTFOUND else {
            place = .nowhere
            throw unsafe environment.error(code, "mdb_cursor_get")
        }
    }

    /// Makes the lesser of both parts the current record, and passes records that are hidden.
    @_lifetime(self: copy self)
    private mutating func settleForward() throws(LMDBError) -> Bool {
        layer.isForward = true
        while layer.hasBase || layer.hasEntry {
            let order = layer.order
            if order < 0 { return takeBase() }
            guard unsafe layer.entries[layer.index].isRemoved else { return takeEntry(coversBase: order == 0) }
            layer.index += 1
            if order == 0 { try moveBase(MDB_NEXT) }
        }
        place = .afterLast
        return false
    }

    @_lifetime(self: copy self)
    private mutating func settleBackward() throws(LMDBError) -> Bool {
        layer.isForward = false
        while layer.hasBase || layer.hasEntry {
            let order = layer.hasBase && layer.hasEntry ? -layer.order : layer.order
            if order < 0 { return takeBase() }
            guard unsafe layer.entries[layer.index].isRemoved else { return takeEntry(coversBase: order == 0) }
            layer.index -= 1
            if order == 0 { try moveBase(MDB_PREV) }
        }
        place = .beforeFirst
        return false
    }

    @_lifetime(self: copy self)
    private mutating func takeBase() -> Bool {
        unsafe currentKey = layer.baseKey
        unsafe currentValue = layer.baseValue
        (layer.isAtBase, layer.isAtEntry) = (true, false)
        place = .record
        return true
    }

    @_lifetime(self: copy self)
    private mutating func takeEntry(coversBase: Bool) -> Bool {
        let entry = unsafe layer.entries[layer.index]
        unsafe currentKey = MDB_val(entry.keyBytes)
        unsafe currentValue = MDB_val(entry.valueBytes)
        (layer.isAtBase, layer.isAtEntry) = (coversBase, true)
        place = .record
        return true
    }
}

extension Cursor.Layer {
    var baseBytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: baseKey.mv_data, count: baseKey.mv_size)
    }

    /// Negative if the table's record is before the entry, or if there is no entry; positive the other way round; zero
    /// if both have the same key.
    var order: Int {
        guard hasBase else { return 1 }
        guard hasEntry else { return -1 }
        return unsafe -Overlay.order(entries[index], baseBytes, Overlay.prefix(baseBytes))
    }
}
