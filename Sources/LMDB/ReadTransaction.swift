import LMDBInC

/// One snapshot of the environment. It never waits for a writer, and ends when the value goes out of scope.
///
/// ```swift
/// let transaction = try environment.beginRead()
/// let value = try transaction.view.get(table, [1, 2, 3])
/// ```
///
/// A long reader keeps the pages that it sees from being reused, so the file grows: scope it closely.
@safe
public struct ReadTransaction: ~Copyable, Transaction {
    // unsafe: `raw` is alive from beginRead until deinit, and nothing outside this module sees it.
    @usableFromInline let raw: OpaquePointer
    @usableFromInline let environment: Environment

    init(raw: OpaquePointer, environment: Environment) {
        unsafe self.raw = raw
        self.environment = environment
    }

    /// The number of the last transaction that this one sees.
    public var id: Int { unsafe mdb_txn_id(raw) }

    public var view: View {
        @_lifetime(borrow self)
        @inlinable
        get { unsafe View(raw: raw, environment: environment, owner: self) }
    }

    deinit {
        unsafe environment.endRead(raw)
    }
}
