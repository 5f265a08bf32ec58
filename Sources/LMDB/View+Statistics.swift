import LMDBInC

/// The pages that the environment can reuse.
public struct FreeStatistics: Sendable, Hashable {
    /// The free pages, including those that an older reader still sees.
    public var freePages: Int
    /// The number of transactions in the free list.
    public var entries: Int
    /// The size and shape of the free list's own tree.
    public var tree: TableStatistics
}

extension View {
    /// LMDB's own two tables, which exist in every transaction.
    static var freeTable: MDB_dbi { 0 }
    static var mainTable: MDB_dbi { 1 }

    /// Returns the size and shape of a table's tree, without the records that lie over it.
    public func statistics(_ table: Table) throws(LMDBError) -> TableStatistics {
        try unsafe environment.check(table, "mdb_stat")
        return try statistics(table.dbi)
    }

    /// Returns the number of records of a table, with those that lie over it.
    public func count(_ table: Table) throws(LMDBError) -> Int {
        var count = try statistics(table).entries
        guard let layer = unsafe layer, layer.covers(table) else { return count }
        try layer.forEach(table) { key, value throws(LMDBError) in
            let isInTable = try getBeneath(table, key) != nil
            if value != nil, !isInTable { count += 1 }
            if value == nil, isInTable { count -= 1 }
        }
        return count
    }

    /// Returns the size and shape of the tree that holds the roots of all tables.
    public func catalogStatistics() throws(LMDBError) -> TableStatistics { try statistics(Self.mainTable) }

    /// Counts free pages by walking the free list. LMDB allows this in read transactions only: in a write transaction
    /// it throws `.invalidArgument`.
    public func freeStatistics() throws(LMDBError) -> FreeStatistics {
        var result = FreeStatistics(freePages: 0, entries: 0, tree: try statistics(Self.freeTable))
        var cursor = try Cursor(view: self, dbi: Self.freeTable)
        while try cursor.next() {
            result.entries += 1
            let pages = cursor.value
            guard pages.byteCount >= MemoryLayout<UInt>.size else {
                throw unsafe environment.error(MDB_CORRUPTED, "mdb_cursor_get")
            }
            // unsafe: any bytes form a valid integer. A list begins with its length.
            result.freePages += unsafe Int(truncatingIfNeeded: pages.unsafeLoadUnaligned(as: UInt.self))
        }
        return result
    }

    /// Returns the names of all tables.
    public func tableNames() throws(LMDBError) -> [String] {
        var names: [String] = []
        var cursor = try Cursor(view: self, dbi: Self.mainTable)
        while try cursor.next() {
            // unsafe: the bytes are only read inside the closure.
            names.append(unsafe cursor.key.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) })
        }
        return names
    }

    private func statistics(_ dbi: MDB_dbi) throws(LMDBError) -> TableStatistics {
        var statistics = MDB_stat()
        let code = unsafe mdb_stat(raw, dbi, &statistics)
        guard code == MDB_SUCCESS else { throw unsafe environment.error(code, "mdb_stat") }
        return TableStatistics(
            depth: Int(statistics.ms_depth), branchPages: Int(statistics.ms_branch_pages),
            leafPages: Int(statistics.ms_leaf_pages), overflowPages: Int(statistics.ms_overflow_pages),
            entries: Int(statistics.ms_entries))
    }
}
