import HealthModel
import LMDB

/// A transaction that reads one snapshot of the store, unaffected by concurrent writes.
///
/// ```swift
/// let weights = try store.read { try $0.samples(of: .bodyMass) }
/// ```
///
/// It exists only inside `SampleStore.read(_:)`: it cannot be copied or kept.
public struct ReadTransaction: ~Copyable, SampleReading {
    let lmdb: LMDB.ReadTransaction
    let context: ReadContext

    init(_ lmdb: consuming LMDB.ReadTransaction, context: ReadContext) {
        self.lmdb = lmdb
        self.context = context
    }

    /// The snapshot that the transaction sees. It cannot leave the closure.
    public var snapshot: Snapshot {
        @_lifetime(borrow self)
        get { Snapshot(view: lmdb.view, context: context) }
    }

    /// Returns an error of this read with the path of its store, for reads that enclose each other: the error would be
    /// named after the store of the inner one otherwise.
    package func named(_ error: any Error) -> any Error { StoreError.wrapRead(error, path: context.path) }
}
