import LMDBInC

/// The one writing transaction of the environment: it commits when told, otherwise nothing of it happened.
///
/// ```swift
/// var transaction = try environment.beginWrite()
/// let table = try environment.openTable(named: "names", in: &transaction)
/// try transaction.put(table, [1], [42])
/// try transaction.commit()
/// ```
///
/// LMDB's lock belongs to a thread: end it on the thread that began it.
@safe
public struct WriteTransaction: ~Copyable, Transaction {
    // unsafe: `raw` is alive from begin until commit or deinit, and nothing outside this module sees it.
    @usableFromInline let raw: OpaquePointer
    @usableFromInline let environment: Environment
    /// The outermost transaction, which this one may be.
    let root: OpaquePointer
    /// Where the file is mapped; empty where that is not known, because nothing is in it.
    let mapped: Range<UInt>
    /// Tables opened here that no parent knows: given up with the transaction.
    var openedTables: [Table] = []
    private var isEnded = false
    private var isNested: Bool { unsafe raw != root }

    init(raw: OpaquePointer, environment: Environment, root: OpaquePointer, mapped: Range<UInt>) {
        unsafe self.raw = raw
        unsafe self.root = root
        self.mapped = mapped
        self.environment = environment
    }

    /// The number that this transaction will have once committed.
    public var id: Int { unsafe mdb_txn_id(raw) }

    public var view: View {
        @_lifetime(borrow self)
        @inlinable
        get { unsafe View(raw: raw, environment: environment, owner: self) }
    }

    /// Makes the changes durable. When it throws, none of them happened, except after `.panic` and errors of the disk,
    /// where the outcome is known only by opening the environment again.
    public consuming func commit() throws(LMDBError) {
        isEnded = true
        if isNested {
            let code = join()
            guard code == MDB_SUCCESS else {
                environment.forget(openedTables)
                throw environment.error(code, "mdb_txn_commit")
            }
        } else {
            try unsafe environment.endWrite(raw, commits: true)
        }
    }

    /// Commits into the parent. LMDB marks the parent as failed when it refuses a failed child, so that one is given up
    /// here. Opening a cursor is how a failed transaction is told from a sound one.
    private func join() -> Int32 {
        var cursor: OpaquePointer?
        let code = unsafe mdb_cursor_open(raw, View.mainTable, &cursor)
        guard code == MDB_SUCCESS else {
            unsafe mdb_txn_abort(raw)
            return code
        }
        unsafe mdb_cursor_close(cursor)
        return unsafe mdb_txn_commit(raw)
    }

    /// Runs `body` in a transaction of its own inside this one: its changes join this transaction when it returns, and
    /// are undone when it throws. Errors of `body` pass through as they are; a failure to begin or to join is an
    /// `LMDBError` whose operation is `mdb_txn_begin` or `mdb_txn_commit`.
    ///
    /// ```swift
    /// try transaction.nested { inner in
    ///     try inner.put(table, [1], [2])
    /// }
    /// ```
    public mutating func nested<Result, Failure: Error>(
        _ body: (inout WriteTransaction) throws(Failure) -> Result
    ) throws -> Result {
        var child: OpaquePointer?
        let code = unsafe mdb_txn_begin(environment.raw, raw, 0, &child)
        guard code == MDB_SUCCESS, let child = unsafe child else {
            throw environment.error(code, "mdb_txn_begin")
        }
        var inner = unsafe WriteTransaction(raw: child, environment: environment, root: root, mapped: mapped)
        let result = try body(&inner)
        let opened = inner.openedTables
        try inner.commit()
        openedTables += opened
        return result
    }

    deinit {
        guard !isEnded else { return }
        if isNested {
            unsafe mdb_txn_abort(raw)
            environment.forget(openedTables)
        } else {
            // Giving up cannot fail.
            try? unsafe environment.endWrite(raw, commits: false)
        }
    }
}
