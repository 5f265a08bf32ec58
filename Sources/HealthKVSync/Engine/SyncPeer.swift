import HealthKV

/// A peer and the plan of what to sync with it.
public struct SyncPeer: Sendable {
    /// The other side of the sync.
    public let peer: any Peer
    /// What to sync. The store keeps it too: all processes that sync the store with the peer must have the same plan.
    public let plan: SyncPlan

    /// Creates a peer with its plan.
    public init(_ peer: any Peer, plan: SyncPlan) {
        self.peer = peer
        self.plan = plan
    }
}
