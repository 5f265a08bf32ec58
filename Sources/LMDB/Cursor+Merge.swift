import LMDBInC

/// Merges the records that lie over a table with those of the table, for a cursor.
///
/// Moving forward, both parts stand at their first record that is not before the current one; moving backward, at their
/// last one that is not behind it. Where both have the same key, the table's record is covered.
extension Cursor {
    @safe
    struct Merge {
        // unsafe: the entries lead into the layer, which the transaction keeps alive.
        var entries: [RecordLayer.Entry] = unsafe []
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
        merge.index = 0
        return try settleForward()
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func lastOfBoth() throws(LMDBError) -> Bool {
        try moveBase(MDB_LAST)
        merge.index = unsafe merge.entries.count - 1
        return try settleBackward()
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func seekInBoth(_ key: RawSpan) throws(LMDBError) -> Bool {
        place = .nowhere
        try unsafe environment.check(key: key, "mdb_cursor_get")
        let entries = unsafe merge.entries
        let code: (Int32, MDB_val, MDB_val, Int) = unsafe key.withUnsafeBytes { bytes in
            var (key, value) = unsafe (MDB_val(bytes), MDB_val())
            let code = unsafe mdb_cursor_get(raw, &key, &value, MDB_SET_RANGE)
            return unsafe (code, key, value, RecordLayer.lowerBound(entries, bytes))
        }
        try unsafe noteBase(code.0, code.1, code.2)
        merge.index = unsafe code.3
        return try settleForward()
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func nextOfBoth() throws(LMDBError) -> Bool {
        if merge.isForward {
            if merge.isAtBase { try moveBase(MDB_NEXT) }
            if merge.isAtEntry { merge.index += 1 }
        } else {
            let current = unsafe UnsafeRawBufferPointer(start: currentKey.mv_data, count: currentKey.mv_size)
            let index = unsafe RecordLayer.lowerBound(merge.entries, current)
            let isAtEntry = merge.isAtEntry
            try unsafe seekBase(current)
            if merge.hasBase, unsafe RecordLayer.order(merge.baseBytes, current) == 0 { try moveBase(MDB_NEXT) }
            merge.index = isAtEntry ? index + 1 : index
        }
        return try settleForward()
    }

    @usableFromInline
    @_lifetime(self: copy self)
    mutating func previousOfBoth() throws(LMDBError) -> Bool {
        if !merge.isForward {
            if merge.isAtBase { try moveBase(MDB_PREV) }
            if merge.isAtEntry { merge.index -= 1 }
        } else {
            let current = unsafe UnsafeRawBufferPointer(start: currentKey.mv_data, count: currentKey.mv_size)
            merge.index = unsafe RecordLayer.lowerBound(merge.entries, current) - 1
            try unsafe seekBase(current)
            try moveBase(merge.hasBase ? MDB_PREV : MDB_LAST)
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
        merge.hasBase = code == MDB_SUCCESS
        unsafe merge.baseKey = key
        unsafe merge.baseValue = value
        guard code == MDB_SUCCESS || code == MDB_NOTFOUND else {
            place = .nowhere
            throw unsafe environment.error(code, "mdb_cursor_get")
        }
    }

    /// Makes the lesser of both parts the current record, and passes records that are hidden.
    @_lifetime(self: copy self)
    private mutating func settleForward() throws(LMDBError) -> Bool {
        merge.isForward = true
        while merge.hasBase || merge.hasEntry {
            let order = merge.order
            if order < 0 { return takeBase() }
            guard unsafe merge.entries[merge.index].isRemoved else { return takeEntry(coversBase: order == 0) }
            merge.index += 1
            if order == 0 { try moveBase(MDB_NEXT) }
        }
        place = .afterLast
        return false
    }

    @_lifetime(self: copy self)
    private mutating func settleBackward() throws(LMDBError) -> Bool {
        merge.isForward = false
        while merge.hasBase || merge.hasEntry {
            let order = merge.hasBase && merge.hasEntry ? -merge.order : merge.order
            if order < 0 { return takeBase() }
            guard unsafe merge.entries[merge.index].isRemoved else { return takeEntry(coversBase: order == 0) }
            merge.index -= 1
            if order == 0 { try moveBase(MDB_PREV) }
        }
        place = .beforeFirst
        return false
    }

    @_lifetime(self: copy self)
    private mutating func takeBase() -> Bool {
        unsafe currentKey = merge.baseKey
        unsafe currentValue = merge.baseValue
        (merge.isAtBase, merge.isAtEntry) = (true, false)
        place = .record
        return true
    }

    @_lifetime(self: copy self)
    private mutating func takeEntry(coversBase: Bool) -> Bool {
        let entry = unsafe merge.entries[merge.index]
        unsafe currentKey = MDB_val(entry.keyBytes)
        unsafe currentValue = MDB_val(entry.valueBytes)
        (merge.isAtBase, merge.isAtEntry) = (coversBase, true)
        place = .record
        return true
    }
}

extension Cursor.Merge {
    var baseBytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: baseKey.mv_data, count: baseKey.mv_size)
    }

    /// Negative if the table's record is before the entry, or if there is no entry; positive the other way round; zero
    /// if both have the same key.
    var order: Int {
        guard hasBase else { return 1 }
        guard hasEntry else { return -1 }
        return unsafe -RecordLayer.order(entries[index], baseBytes, RecordLayer.prefix(baseBytes))
    }
}
