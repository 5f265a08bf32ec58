import HealthKV

/// A peer and what is synced with it.
public struct SyncPeer: Sendable {
    /// The other side.
    public let peer: any Peer
    /// What is synced. It stands in the store too: all processes that sync the store with the peer have the same.
    public let plan: SyncPlan

    /// A peer with its plan.
    public init(_ peer: any Peer, plan: SyncPlan) {
        self.peer = peer
        self.plan = plan
    }
}
