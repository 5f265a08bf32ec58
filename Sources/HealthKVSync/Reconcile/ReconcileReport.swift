import HealthKV

/// The result of comparing a store with a peer.
public struct ReconcileReport: Sendable, Hashable {
    /// Samples that were missing here and were imported.
    public var imported = 0
    /// Samples that the peer does not show, for the first time. If there are very many, some are left to later
    /// comparisons.
    public var missing = 0
    /// Samples that were deleted because they are gone at the peer: two passes agree, or eight own samples at most are
    /// missing while others are shown.
    public var deleted = 0
    /// Samples that are missing and kept, because nothing proves that they could have been seen. Beyond some thousands
    /// for each type they are no longer counted.
    public var unverified = 0

    /// Creates an empty report.
    public init() {}
}
