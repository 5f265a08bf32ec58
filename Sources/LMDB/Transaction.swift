/// The common part of read and write transactions: a view of one snapshot.
public protocol Transaction: ~Copyable {
    /// The view of the transaction. Neither it nor data read through it can outlive the transaction.
    var view: View { @_lifetime(borrow self) get }
}
