import HealthKV

/// A peer and the plan of what to sync with it.
public struct SyncPeer: Sendable {
    /// The other side of the sync.
    public var peer: any Peer { kind.peer }
    /// What to sync. The store keeps it too: all processes that sync the store with the peer must have the same plan.
    public let plan: SyncPlan
    let kind: PeerKind

    /// Creates a peer that is a database, with its plan.
    public init(_ peer: any DatabasePeer, plan: SyncPlan) {
        kind = .database(peer)
        self.plan = plan
    }

    /// Creates a peer that keeps records, with its plan.
    public init(_ peer: any RecordPeer, plan: SyncPlan) {
        kind = .records(peer)
        self.plan = plan
    }
}
