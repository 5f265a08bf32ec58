import HealthKV

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
                try await session.introduction.checkEpoch()
                try await session.enrollment.followPlan()
                if let records = session.peer.records {
                    try await session.introduction.meet()
                    try await session.recordComparison.reconcileRecords(records, session.heldTypes())
                    return ReconcileReport()
                }
                return try await session.comparison.reconcileByEnumeration()
            } catch let error as PeerError {
                throw SyncIssue(error, plan: session.plan)
            }
        }
    }
}
