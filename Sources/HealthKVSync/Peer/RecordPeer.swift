import HealthKV

/// A peer that keeps samples unchanged, with version, clock and origin: another store, or a hub of stores.
///
/// All its types share one feed, and requests name `SampleType.every`. It follows the store's own feed of changes by a
/// token, so only operations that it refuses wait in a queue. It also takes samples that were imported from elsewhere.
public protocol RecordPeer: Peer {
    /// Tells the peer who syncs with it, and asks who it is. Called before each pass. A peer that knows its readers by
    /// name refuses a second reader of the same name with ``PeerError/Code/nameTaken``. Returns `nil` if the peer
    /// cannot tell who it is.
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting?

    /// Returns what the peer remembers of the store. Called at the beginning of each sync. `told` is the last place in
    /// the store's feed that the store knows the peer to have been told of (``PushOperation/place``); a peer that
    /// remembers an earlier place has lost operations. Returns `nil` if the peer remembers nothing of any store: then
    /// this call detects a restoration on neither side.
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory?

    /// Returns a digest of the live samples of a type that start in a window, or `nil` if the peer has no digests and
    /// must be enumerated.
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest?

    /// Returns the types that the peer holds samples of, or no type if it cannot tell: then the types that the store
    /// holds are compared.
    func types() async throws(PeerError) -> Set<SampleType>

    /// Returns those of some samples that the peer has deleted and whose deletion it has forgotten. The peer was given
    /// all of them once. The engine asks this when the peer no longer knows a token; the token tells the peer how far
    /// the store had read. Returns `nil` if the peer cannot tell: then it is given everything again that it lacks.
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>?
}

extension RecordPeer {
    /// Returns `nil`: the peer has no digests and is enumerated.
    public func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? { nil }
    /// Returns no types: the types that the store holds are compared.
    public func types() async throws(PeerError) -> Set<SampleType> { [] }
    /// Returns `nil`: the peer cannot tell.
    public func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        nil
    }
}
