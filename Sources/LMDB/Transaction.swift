/// What reading and writing transactions have in common: a view of one snapshot.
public protocol Transaction: ~Copyable {
    /// What the transaction sees. Neither the view nor anything read through it can outlive the transaction.
    var view: View { @_lifetime(borrow self) get }
}
