import LMDBInC

/// The single write transaction of the environment. Without a commit, none of its changes take effect.
///
/// ```swift
/// var transaction = try environment.beginWrite()
/// let table = try environment.openTable(named: "names", in: &transaction)
/// try transaction.put(table, [1], [42])
/// try transaction.commit()
/// ```
///
/// LMDB's lock belongs to a thread: end the transaction on the thread that began it.
@safe
public struct WriteTransaction: ~Copyable, Transaction {
    // unsafe: `raw` is alive from begin until commit or deinit, and code outside this module has no access to it.
    @usableFromInline let raw: OpaquePointer
    @usableFromInline let environment: Environment
    /// The outermost transaction; equal to `raw` if this transaction is not nested.
    let root: OpaquePointer
    /// The address range of the map; empty if it is unknown because the file has no tables.
    let mapped: Range<UInt>
    /// The tables that this transaction opened and no parent knows: they are discarded if it aborts.
    var openedTables: [Table] = []
    /// Collects the changes of this transaction, over those of commits that are not in the tables yet; `nil` if changes
    /// go to the tables. See ``collect(over:)``.
    @usableFromInline private(set) var layer: RecordLayer?
    /// The sealed values that were opened since the last change of the tables.
    @usableFromInline let opened: OpenedValues?
    /// How many nested transactions share the layer.
    private var savepoints = 0
    private var isEnded = false
    private var isNested: Bool { unsafe raw != root }

    init(
        raw: OpaquePointer, environment: Environment, root: OpaquePointer, mapped: Range<UInt>,
        opened: OpenedValues? = nil
    ) {
        unsafe self.raw = raw
        unsafe self.root = root
        self.mapped = mapped
        self.environment = environment
        self.opened = opened ?? environment.options.cipher.map(OpenedValues.init)
    }

    /// The number of this transaction after its commit.
    public var id: Int { unsafe mdb_txn_id(raw) }

    public var view: View {
        @_lifetime(borrow self)
        @inlinable
        get { unsafe View(raw: raw, environment: environment, layer: layer, opened: opened, owner: self) }
    }

    /// Makes the changes durable. If it throws, none of them took effect, except after `.panic` and disk errors: then
    /// the outcome is unknown until the environment is opened again.
    ///
    /// - Parameter then: called after a commit that is not nested, while other writers still wait.
    public consuming func commit(then: () -> Void = {}) throws(LMDBError) {
        isEnded = true
        if isNested {
            let code = join()
            guard code == MDB_SUCCESS else {
                environment.forget(openedTables)
                throw environment.error(code, "mdb_txn_commit")
            }
        } else {
            try unsafe environment.endWrite(raw, commits: true, then: then)
        }
    }

    /// Commits into the parent. When LMDB refuses to commit a failed child, it marks the parent as failed too, so a
    /// failed child is aborted here. Opening a cursor detects the failure.
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

    /// Runs `body` in a transaction nested in this one. Its changes join this transaction when `body` returns, and are
    /// undone when it throws. Errors of `body` pass through unchanged; a failure to begin or to join is an `LMDBError`
    /// with the operation `mdb_txn_begin` or `mdb_txn_commit`.
    ///
    /// ```swift
    /// try transaction.nested { inner in
    ///     try inner.put(table, [1], [2])
    /// }
    /// ```
    public mutating func nested<Result, Failure: Error>(
        _ body: (inout WriteTransaction) throws(Failure) -> Result
    ) throws -> Result {
        if let layer { return try nested(in: layer, body) }
        var child: OpaquePointer?
        let code = unsafe mdb_txn_begin(environment.raw, raw, 0, &child)
        guard code == MDB_SUCCESS, let child = unsafe child else {
            throw environment.error(code, "mdb_txn_begin")
        }
        var inner = unsafe WriteTransaction(
            raw: child, environment: environment, root: root, mapped: mapped, opened: opened)
        // The pages of this transaction are copied for the child, and some of them are freed.
        opened?.forget()
        defer { opened?.forget() }
        let result = try body(&inner)
        let opened = inner.openedTables
        try inner.commit()
        openedTables += opened
        return result
    }

    private mutating func nested<Result, Failure: Error>(
        in layer: RecordLayer, _ body: (inout WriteTransaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let mark = layer.mark
        savepoints += 1
        defer { savepoints -= 1 }
        do throws(Failure) {
            return try body(&self)
        } catch {
            layer.restore(mark)
            throw error
        }
    }

    /// Collects all further changes in a layer instead of making them in the tables. Call this before the first
    /// change. A commit keeps only what the tables have; ``sharedLayer()`` has the rest.
    public mutating func collect(over base: RecordLayer?) {
        layer = base?.copy() ?? RecordLayer()
    }

    /// The number of bytes that were collected since ``collect(over:)``; `nil` if changes go to the tables.
    public var collectedBytes: Int? { layer?.loggedBytes }

    /// Whether ``fold()`` is allowed now: what a nested transaction collects must remain separable.
    public var mayFold: Bool { savepoints == 0 }

    /// The records that lie over the tables, for the transactions that follow; `nil` if there are none.
    public borrowing func sharedLayer() -> RecordLayer? { layer }

    /// Puts everything of a layer into the tables, which may be those of another environment. Sealed values stay
    /// sealed.
    public mutating func put(
        _ layer: RecordLayer, of tables: [Table], into own: [Table]
    ) throws(LMDBError) {
        for (from, to) in zip(tables, own) {
            try layer.forEach(from) { key, value throws(LMDBError) in
                if let value { try putStored(to, key: key, value: value) } else { try delete(to, key: key) }
            }
        }
    }

    /// Moves everything that lies over the tables into them. Further changes go to the tables.
    public mutating func fold() throws(LMDBError) {
        guard let layer else { return }
        precondition(mayFold, "a nested transaction cannot fold what its parent collected")
        self.layer = nil
        let tables = environment.allTables
        try put(layer, of: tables, into: tables)
    }

    deinit {
        guard !isEnded else { return }
        if isNested {
            unsafe mdb_txn_abort(raw)
            environment.forget(openedTables)
        } else {
            // An abort cannot fail.
            try? unsafe environment.endWrite(raw, commits: false)
        }
    }
}
