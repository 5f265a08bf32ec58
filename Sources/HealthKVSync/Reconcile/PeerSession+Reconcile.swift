import HealthKV

/// What comparing a store with a peer found.
public struct ReconcileReport: Sendable, Hashable {
    /// Samples that were missing here and came.
    public var imported = 0
    /// Samples that the peer does not show, for the first time. Of very many some are left to later comparisons.
    public var missing = 0
    /// Samples that were taken for deleted, since two passes agree.
    public var deleted = 0
    /// Samples that are missing and kept, since nothing shows that they could have been seen. Beyond some thousands of a type they are no longer counted.
    public var unverified = 0

    /// A report of nothing.
    public init() {}
}

extension SyncEngine {
    /// Compares the store with a peer and mends what differs: with another store by digests, elsewhere by enumeration. What a peer does not
    /// show is taken for deleted only when two passes agree that it could have been seen (SEMANTICS C26). With a peer that is enumerated
    /// each sync goes on with such a pass by itself, some pages at a time, once a month and again when something was missing.
    @discardableResult
    public func reconcile(_ name: String) async throws -> ReconcileReport {
        try await session(name).inTurn { session in
            do {
                try await session.holdLease()
                if session.peer.traits.keepsRecords {
                    try await session.greet()
                    try await session.reconcileRecords(session.heldTypes())
                    return ReconcileReport()
                }
                return try await session.reconcileByEnumeration()
            } catch let error as PeerError {
                throw SyncIssue(error, plan: session.plan)
            }
        }
    }
}
