import LMDBInC

/// Checks of long values, which have pages of their own. When LMDB replaces or removes a long value, it trusts the page
/// number and the page count in the value's first page, and frees that many pages from that number on. Damaged numbers
/// would free pages of other values, which later commits would overwrite. These checks compare both numbers with the
/// value's length and position first.
///
/// The length determines the page count, with one exception: LMDB stores a shorter value in pages that the same
/// transaction wrote, and keeps all of them. So a value that needs fewer pages than its predecessor is removed and
/// inserted.
extension WriteTransaction {
    /// Checks the long value under a key before it is replaced by a value of `byteCount` bytes, or removed.
    @usableFromInline
    mutating func release(
        _ table: Table, key: RawSpan, for byteCount: Int?, _ operation: StaticString
    ) throws(LMDBError) {
        // Most tables have no long values.
        guard try view.statistics(table).overflowPages > 0 else { return }
        // unsafe: C only reads the key, and only during the calls.
        let code: Int32 = unsafe key.withUnsafeBytes { bytes in
            var key = unsafe MDB_val(bytes)
            var value = unsafe MDB_val()
            let found = unsafe mdb_get(raw, table.dbi, &key, &value)
            guard found == MDB_SUCCESS else { return found }
            let pages = environment.longPages(keyBytes: bytes.count, valueBytes: unsafe value.mv_size)
            guard unsafe isSound(value, pages) else { return MDB_CORRUPTED }
            guard let byteCount, environment.longPages(keyBytes: bytes.count, valueBytes: byteCount) < pages else {
                return MDB_SUCCESS
            }
            return unsafe mdb_del(raw, table.dbi, &key, nil)
        }
        guard code == MDB_SUCCESS || code == MDB_NOTFOUND else { throw environment.error(code, operation) }
    }

    /// Checks the long value that the table itself has under a key before a record is laid over it, so that what is
    /// collected can be moved into the tables.
    @usableFromInline
    func checkLongValue(_ table: Table, _ key: RawSpan, _ operation: StaticString) throws(LMDBError) {
        guard try view.statistics(table).overflowPages > 0 else { return }
        // unsafe: C only reads the key, and only during the call.
        let isFine = unsafe key.withUnsafeBytes { bytes in
            var (key, value) = unsafe (MDB_val(bytes), MDB_val())
            guard unsafe mdb_get(raw, table.dbi, &key, &value) == MDB_SUCCESS else { return true }
            return unsafe isSound(
                value, environment.longPages(keyBytes: bytes.count, valueBytes: unsafe value.mv_size))
        }
        if !isFine { throw environment.error(MDB_CORRUPTED, operation) }
    }

    /// Checks all long values of a table in the same way.
    func checkLongValues(of table: Table, _ operation: StaticString) throws(LMDBError) {
        var cursor = try view.cursor(table)
        while try cursor.next() {
            let pages = environment.longPages(keyBytes: cursor.key.byteCount, valueBytes: cursor.stored.byteCount)
            guard unsafe isSound(cursor.currentValue, pages) else { throw environment.error(MDB_CORRUPTED, operation) }
        }
    }

    /// Returns `true` if the first page of a value with the given page count has the right header. The pages that this
    /// transaction wrote are in memory, where they cannot be damaged.
    private func isSound(_ value: MDB_val, _ pages: Int) -> Bool {
        guard let data = unsafe value.mv_data, mapped.contains(UInt(bitPattern: data)) else { return true }
        let place = UInt(bitPattern: data) - mapped.lowerBound
        let (own, rest) = place.quotientAndRemainder(dividingBy: UInt(environment.pageSize))
        // A value inside a leaf page never begins directly after a page header. A value that became shorter in place
        // keeps its page.
        guard rest == Environment.pageHeader else { return pages == 0 }
        // unsafe: the header of the page is in the map, like the value.
        let page = unsafe UnsafeRawPointer(data) - Environment.pageHeader
        let number = unsafe page.loadUnaligned(as: UInt.self)
        let kind = unsafe page.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
        let count = unsafe page.loadUnaligned(fromByteOffset: 12, as: UInt32.self)
        return number == own && kind & Environment.longKind != 0 && count == max(pages, 1)
    }
}

extension Environment {
    static let pageHeader = 16
    static let longKind: UInt16 = 4

    /// Returns the number of pages of a long value; 0 for a value that fits into a leaf, where a record may fill half a
    /// page.
    func longPages(keyBytes: Int, valueBytes: Int) -> Int {
        let nodeLimit = ((pageSize - Environment.pageHeader) / 2 & -2) - 2
        guard 8 + keyBytes + valueBytes > nodeLimit else { return 0 }
        return (Environment.pageHeader + valueBytes - 1) / pageSize + 1
    }

    /// Returns the address range of the map, which LMDB does not report. It is derived from the page number in a leaf
    /// page of the tree of table names, which works while the transaction has changed nothing. Empty if there is no
    /// table.
    func mapped(_ transaction: OpaquePointer) -> Range<UInt> {
        var cursor: OpaquePointer?
        var info = unsafe MDB_envinfo()
        guard unsafe mdb_env_info(raw, &info) == MDB_SUCCESS,
            unsafe mdb_cursor_open(transaction, View.mainTable, &cursor) == MDB_SUCCESS
        else { return 0..<0 }
        defer { unsafe mdb_cursor_close(cursor) }
        var (key, value) = unsafe (MDB_val(), MDB_val())
        guard unsafe mdb_cursor_get(cursor, &key, &value, MDB_FIRST) == MDB_SUCCESS, let data = unsafe value.mv_data
        else { return 0..<0 }
        // unsafe: the page with the record is in the map, and begins at a multiple of its size.
        let place = UInt(bitPattern: data) / UInt(pageSize) * UInt(pageSize)
        let number = unsafe UnsafeRawPointer(bitPattern: place)?.loadUnaligned(as: UInt.self) ?? 0
        let (offset, overflows) = number.multipliedReportingOverflow(by: UInt(pageSize))
        guard !overflows, offset <= place else { return 0..<0 }
        return unsafe place - offset..<place - offset + UInt(info.me_mapsize)
    }
}
