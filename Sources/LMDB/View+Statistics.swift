import LMDBInC

/// The pages that the environment could reuse.
public struct FreeStatistics: Sendable, Hashable {
    /// Pages that hold nothing. Those that an older reader still sees are among them.
    public var freePages: Int
    /// Transactions whose freed pages are listed.
    public var entries: Int
    /// The size and shape of the free list's own tree.
    public var tree: TableStatistics
}

extension View {
    /// LMDB's own two tables, which every transaction knows.
    static var freeTable: MDB_dbi { 0 }
    static var mainTable: MDB_dbi { 1 }

    /// The size and shape of a table's tree.
    public func statistics(_ table: Table) throws(LMDBError) -> TableStatistics {
        try unsafe environment.check(table, "mdb_stat")
        return try statistics(table.dbi)
    }

    /// The size and shape of the tree that holds the other trees' roots.
    public func catalogStatistics() throws(LMDBError) -> TableStatistics { try statistics(Self.mainTable) }

    /// Counts free pages by walking the free list. LMDB allows it in reading transactions only: in a writing one it
    /// throws `.invalidArgument`.
    public func freeStatistics() throws(LMDBError) -> FreeStatistics {
        var result = FreeStatistics(freePages: 0, entries: 0, tree: try statistics(Self.freeTable))
        var cursor = try Cursor(view: self, dbi: Self.freeTable)
        while try cursor.next() {
            result.entries += 1
            let pages = cursor.value
            guard pages.byteCount >= MemoryLayout<UInt>.size else {
                throw unsafe environment.error(MDB_CORRUPTED, "mdb_cursor_get")
            }
            // unsafe: any bytes are an integer. A list begins with its length.
            result.freePages += unsafe Int(truncatingIfNeeded: pages.unsafeLoadUnaligned(as: UInt.self))
        }
        return result
    }

    /// The names of all tables.
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
