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

extension SyncEngine {
    /// Compares the store with a peer and repairs differences: with another store by digests, with other peers by
    /// enumeration. A sample that a peer does not show is deleted only if it could have been seen, and if it is no own
    /// sample among a few that are missing, only if two passes agree (SEMANTICS C26). For a peer that is enumerated,
    /// each sync also continues such a pass by itself, some pages at a time, once a month and again if something was
    /// missing.
    @discardableResult
    public func reconcile(_ name: String) async throws -> ReconcileReport {
        try await session(name).inTurn { session in
            do {
                guard try session.state().isEnabled else { return ReconcileReport() }
                try await session.holdLease()
                // A link that was made before the store was copied or restored does not prove that a sample is gone.
                try await session.checkEpoch()
                try await session.followPlan()
                if let records = session.peer.records {
                    try await session.greet()
                    if try await session.meetPeer() {
                        try await session.checkEpoch()
                        try await session.greet()
                    }
                    try await session.reconcileRecords(records, session.heldTypes())
                    return ReconcileReport()
                }
                return try await session.reconcileByEnumeration()
            } catch let error as PeerError {
                throw SyncIssue(error, plan: session.plan)
            }
        }
    }
}
