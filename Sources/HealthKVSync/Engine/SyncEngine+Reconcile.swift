import HealthKV

extension SyncEngine {
    /// Compares the store with a peer and repairs differences: with another store by digests, with other peers by
    /// enumeration. A sample that a peer does not show is deleted only if it could have been seen, and if it is no own
    /// sample among a few that are missing, only if two passes agree (SEMANTICS C26). For a peer that is enumerated,
    /// each sync also continues such a pass by itself, some pages at a time, once a month and again if something was
    /// missing.
    @discardableResult
    public func reconcile(_ name: PeerID) async throws -> ReconcileReport {
        try await session(name).inTurn { session in
            try await session.core.logging("reconcile") { try await session.reconcile() }
        }
    }
}

extension PeerSession {
    fileprivate func reconcile() async throws -> ReconcileReport {
        do {
            guard try state().isEnabled else { return ReconcileReport() }
            if peer.keepsRecords {
                // A store that was away for long is read and brought in line first: a comparison would bring back what
                // either side has deleted and forgotten.
                if let issue = try await Pass(core: core).run(PassRequest(isUrgent: true)).issue { throw issue }
                guard try !Retirement(core: core).isDue() else { return ReconcileReport() }
            }
            try await holdLease()
            // A link that was made before the store was copied or restored does not prove that a sample is gone.
            try await introduction.checkEpoch()
            try await enrollment.followPlan()
            if let records = peer.records {
                try await introduction.meet()
                try await recordComparison.reconcileRecords(records, heldTypes())
                return ReconcileReport()
            }
            return try await comparison.reconcileByEnumeration()
        } catch let error as PeerError {
            throw SyncIssue(error, plan: plan)
        }
    }
}
