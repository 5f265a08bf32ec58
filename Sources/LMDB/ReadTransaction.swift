import LMDBInC

/// One snapshot of the environment. It never waits for a writer, and ends when the value goes out of scope.
///
/// ```swift
/// let transaction = try environment.beginRead()
/// let value = try transaction.view.get(table, [1, 2, 3])
/// ```
///
/// A long-lived reader prevents the reuse of the pages that it sees, so the file grows: keep its scope small.
@safe
public struct ReadTransaction: ~Copyable, Transaction {
    // unsafe: `raw` is alive from beginRead until deinit, and code outside this module has no access to it.
    @usableFromInline let raw: OpaquePointer
    @usableFromInline let environment: Environment
    /// The records that lie over the tables of this snapshot.
    public var layer: RecordLayer?
    /// The sealed values that were opened. A later transaction may take them over if it reads the same snapshot through
    /// the same map, and the same layer over it.
    public var opened: OpenedValues?

    init(raw: OpaquePointer, environment: Environment) {
        unsafe self.raw = raw
        self.environment = environment
        opened = environment.options.cipher.map(OpenedValues.init)
    }

    /// The number of the last transaction in this snapshot.
    public var id: Int { unsafe mdb_txn_id(raw) }

    public var view: View {
        @_lifetime(borrow self)
        @inlinable
        get { unsafe View(raw: raw, environment: environment, layer: layer, opened: opened, owner: self) }
    }

    deinit {
        unsafe environment.endRead(raw)
    }
}
