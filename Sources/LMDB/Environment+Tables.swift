import LMDBInC
import Synchronization

/// The tables of an environment by name. New transactions can use `known` tables; `pending` tables become known when
/// the transaction that opened them commits.
struct TableRegistry {
    var known: [String: Table] = [:]
    var pending: [String: Table] = [:]

    var greatestKnown: MDB_dbi? { known.values.lazy.map(\.dbi).max() }
}

/// LMDB lets only one transaction at a time open tables (two would get the same number), and a transaction cannot use a
/// table that was opened after it began. Each violation is an error here.
extension Environment {
    private static let nextStamp = Atomic<UInt64>(1)

    /// Opens a table, and creates it if it does not exist. If the transaction does not commit, the table is discarded.
    /// Throws `.busy` if another transaction that has opened tables is still active, or has opened tables since this
    /// transaction began.
    public func openTable(
        named name: String, in transaction: inout WriteTransaction
    ) throws(LMDBError) -> Table {
        let owner = unsafe UInt(bitPattern: transaction.root)
        let opened = unsafe try openTable(named: name, in: transaction.raw, owner: owner, flags: UInt32(MDB_CREATE))
        if opened.isNew { transaction.openedTables.append(opened.table) }
        return opened.table
    }

    /// Opens a table, or returns `nil` if this snapshot does not have it. Throws `.busy` as above.
    public func openTable(
        named name: String, in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> Table? {
        let owner = unsafe UInt(bitPattern: transaction.raw)
        do throws(LMDBError) {
            return unsafe try openTable(named: name, in: transaction.raw, owner: owner, flags: 0).table
        } catch  where error.code == .notFound {
            return nil
        }
    }

    private func openTable(
        named name: String, in transaction: OpaquePointer, owner: UInt, flags: UInt32
    ) throws(LMDBError) -> (table: Table, isNew: Bool) {
        try tables.withLock { registry throws(LMDBError) in
            if let table = registry.known[name] {
                guard unsafe flagsOf(table.dbi, in: transaction) != nil else { throw busy }
                return (table, false)
            }
            let opener = openingTransaction.load(ordering: .relaxed)
            if opener == owner, let table = registry.pending[name] { return (table, false) }
            guard opener == owner || opener == 0 else { throw busy }
            // LMDB assigns the number after the last number that this transaction knows, even if another table has it.
            guard registry.greatestKnown.map({ unsafe flagsOf($0, in: transaction) != nil }) ?? true else {
                throw busy
            }
            var dbi: MDB_dbi = 0
            let code = unsafe mdb_dbi_open(transaction, name, flags, &dbi)
            guard code == MDB_SUCCESS else { throw error(code, "mdb_dbi_open") }
            openingTransaction.store(owner, ordering: .relaxed)
            guard unsafe flagsOf(dbi, in: transaction) == 0 else {
                throw error(MDB_INCOMPATIBLE, "mdb_dbi_open")
            }
            let stamp = Self.nextStamp.add(1, ordering: .relaxed).newValue
            let table = Table(name: name, dbi: dbi, stamp: stamp)
            unsafe stamps[Int(dbi)].store(stamp, ordering: .relaxed)
            registry.pending[name] = table
            return (table, true)
        }
    }

    /// The tables that are open.
    var allTables: [Table] { tables.withLock { Array($0.known.values) + Array($0.pending.values) } }

    private var busy: LMDBError { error(.busy, "mdb_dbi_open") }

    /// Returns the kind of a table, or `nil` if the transaction does not know the number.
    private func flagsOf(_ dbi: MDB_dbi, in transaction: OpaquePointer) -> UInt32? {
        var flags: UInt32 = 0
        return unsafe mdb_dbi_flags(transaction, dbi, &flags) == MDB_SUCCESS ? flags : nil
    }

    /// Returns `true` if the transaction has opened tables that no other transaction knows.
    func isOpening(_ transaction: OpaquePointer) -> Bool {
        openingTransaction.load(ordering: .relaxed) == UInt(bitPattern: transaction)
    }

    /// Ends a transaction that may have opened tables. A commit makes the tables known; otherwise they are discarded.
    /// The lock is held throughout, so that the next opener finds LMDB's tables and this registry consistent.
    func endOpening(_ transaction: OpaquePointer, commits: Bool, by end: () -> Int32) -> Int32 {
        guard unsafe isOpening(transaction) else { return end() }
        return tables.withLock { registry in
            let code = end()
            if commits, code == MDB_SUCCESS {
                registry.known.merge(registry.pending) { known, _ in known }
            } else {
                registry.pending.values.forEach(invalidate)
            }
            registry.pending = [:]
            openingTransaction.store(0, ordering: .relaxed)
            return code
        }
    }

    /// Removes the tables of an aborted nested transaction.
    func forget(_ opened: [Table]) {
        guard !opened.isEmpty else { return }
        tables.withLock { registry in
            for table in opened {
                registry.pending[table.name] = nil
                invalidate(table)
            }
        }
    }

    private func invalidate(_ table: Table) {
        unsafe stamps[Int(table.dbi)].store(0, ordering: .relaxed)
    }
}

/// Checks before each call, so that C never gets another environment's table or a key of invalid length.
extension Environment {
    @inlinable
    func check(_ table: Table, _ operation: StaticString) throws(LMDBError) {
        let slot = Int(table.dbi)
        guard slot < stampCount, unsafe stamps[slot].load(ordering: .relaxed) == table.stamp else {
            throw error(MDB_BAD_DBI, operation)
        }
    }

    @inlinable
    func check(key: RawSpan, _ operation: StaticString) throws(LMDBError) {
        guard key.byteCount >= 1, key.byteCount <= maxKeySize else {
            throw keyError(key.byteCount, operation)
        }
    }

    @inlinable
    func check(_ table: Table, key: RawSpan, _ operation: StaticString) throws(LMDBError) {
        try check(table, operation)
        try check(key: key, operation)
    }

    @usableFromInline
    func keyError(_ byteCount: Int, _ operation: StaticString) -> LMDBError {
        error(byteCount == 0 ? .badValueSize : .keyTooLong, operation)
    }
}
