import HealthKV

/// The other side of a sync: HealthKit, another store, a server.
///
/// There are two kinds, and a peer is of one of them: a ``DatabasePeer`` has ids of its own and is sent what waits in
/// its queue, as HealthKit is; a ``RecordPeer`` keeps samples unchanged and follows the store's feed, as another store
/// does. This protocol has what both have in common.
///
/// A peer responds to calls and keeps no state of the sync. The engine calls one function at a time for each peer, and
/// may repeat a call with the same arguments after a crash. Every function may suspend, and throws only ``PeerError``.
public protocol Peer: Sendable {
    /// The name under which the store keeps everything that it knows of the peer. It never changes.
    var id: PeerID { get }

    /// How much the peer takes at once.
    var limits: PeerLimits { get }

    /// Returns whether the peer can be used now. The engine asks this before anything else, so it must be cheap.
    func availability() async -> PeerAvailability

    /// Returns a page of the changes after a token, or without a token a page of all live samples and recent deletions.
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage

    /// Returns a page of the live samples of a type that start in a window, the latest first.
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage

    /// Returns a page of an enumeration without the content of its samples. The engine uses it to count what
    /// an import will bring.
    func outline(_ request: EnumerationRequest) async throws(PeerError) -> OutlinePage

    /// Carries out operations and returns exactly one outcome for each, in their order. A condition that affects all of
    /// them, such as a lock, is also an outcome and not an error.
    ///
    /// To save a sample that the peer already holds at this version is success, and so is to delete a sample that it
    /// does not hold.
    func push(_ operations: [PushOperation]) async -> [PushOutcome]

    /// Tells the peer that the store durably holds everything up to a token. A peer that keeps deletions for others may
    /// then forget those deletions, and nothing else: an older token still returns everything after it, or expires. If
    /// the call throws, the engine reports it and tries again.
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError)

    /// Signals that some types may have changed. The stream ends when the peer has nothing more to signal, and costs
    /// nothing while there is no signal.
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp>

    /// Tells the peer that the app has disconnected it: it no longer needs to wake the app for the types of the plan.
    func disconnected(from types: Set<SampleType>) async
}

extension Peer {
    /// No limits besides the engine's own.
    public var limits: PeerLimits { PeerLimits() }
    /// Enumerates whole samples and drops their content.
    public func outline(_ request: EnumerationRequest) async throws(PeerError) -> OutlinePage {
        let page = try await enumerate(request)
        return OutlinePage(
            samples: page.samples.map {
                SampleOutline(idAtPeer: $0.idAtPeer, start: $0.sample.start, isOwn: $0.isOwn)
            }, cursor: page.cursor)
    }
    /// Does nothing: the peer keeps nothing that it could forget.
    public func disconnected(from types: Set<SampleType>) async {}
}

extension SampleType {
    /// Represents all types in requests to a record peer, which has one feed.
    public static let every = SampleType("*")
}
