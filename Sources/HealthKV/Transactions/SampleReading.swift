/// The reads that both reading and writing transactions offer.
public protocol SampleReading: ~Copyable {
    /// The snapshot that the transaction sees.
    var snapshot: Snapshot { @_lifetime(borrow self) get }
}
