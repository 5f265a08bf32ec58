import LMDBInC

/// When a long value, which has pages of its own, is replaced or removed, LMDB gives back as many pages as the first of them
/// says, beginning with the number that it says, and believes both. A damaged number would give away pages of others, which
/// later commits would overwrite. So they are compared with the length of the value and with its place first.
///
/// The length tells the pages, unless LMDB puts a shorter value into pages that the same transaction wrote and lets it keep
/// them all. So a value that needs fewer pages than the one before is put anew.
extension WriteTransaction {
    /// Looks at the long value under a key before it gives way to one of `byteCount` bytes, or to none.
    @usableFromInline
    mutating func release(
        _ table: Table, key: RawSpan, for byteCount: Int?, _ operation: StaticString
    ) throws(LMDBError) {
        // Most tables have none.
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

    /// The same for all values of a table.
    func checkLongValues(of table: Table, _ operation: StaticString) throws(LMDBError) {
        var cursor = try view.cursor(table)
        while try cursor.next() {
            let pages = environment.longPages(keyBytes: cursor.key.byteCount, valueBytes: cursor.value.byteCount)
            guard unsafe isSound(cursor.currentValue, pages) else { throw environment.error(MDB_CORRUPTED, operation) }
        }
    }

    /// Whether the first page of a value that should have so many says so. Pages that this transaction wrote are in memory,
    /// where nothing damages them.
    private func isSound(_ value: MDB_val, _ pages: Int) -> Bool {
        guard let data = unsafe value.mv_data, mapped.contains(UInt(bitPattern: data)) else { return true }
        let place = UInt(bitPattern: data) - mapped.lowerBound
        let (own, rest) = place.quotientAndRemainder(dividingBy: UInt(environment.pageSize))
        // Directly behind the header of a page no value begins that stands in a leaf. One that became shorter in place
        // keeps its page.
        guard rest == Environment.pageHeader else { return pages == 0 }
        // unsafe: the header of the page is in the map, as the value is.
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

    /// How many pages of its own a value has; none when it fits into a leaf, half of which a record may fill.
    func longPages(keyBytes: Int, valueBytes: Int) -> Int {
        let nodeLimit = ((pageSize - Environment.pageHeader) / 2 & -2) - 2
        guard 8 + keyBytes + valueBytes > nodeLimit else { return 0 }
        return (Environment.pageHeader + valueBytes - 1) / pageSize + 1
    }

    /// Where the file is mapped, which LMDB does not tell. The tree of the tables' names does, by the number of a leaf page
    /// in the map, as long as the transaction has changed nothing. Empty while there is no table.
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
        // unsafe: the page that holds the record is in the map, and begins where a multiple of its size does.
        let place = UInt(bitPattern: data) / UInt(pageSize) * UInt(pageSize)
        let number = unsafe UnsafeRawPointer(bitPattern: place)?.loadUnaligned(as: UInt.self) ?? 0
        let (offset, overflows) = number.multipliedReportingOverflow(by: UInt(pageSize))
        guard !overflows, offset <= place else { return 0..<0 }
        return unsafe place - offset..<place - offset + UInt(info.me_mapsize)
    }
}
