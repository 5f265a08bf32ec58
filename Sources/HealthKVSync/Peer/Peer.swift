import HealthKV

/// The other side of a sync: HealthKit, another store, a server.
///
/// A peer responds to calls and keeps no state of the sync. The engine calls one function at a time for each peer, and
/// may repeat a call with the same arguments after a crash. Every function may suspend, and throws only ``PeerError``.
public protocol Peer: Sendable {
    /// The name under which the store keeps everything that it knows of the peer. It never changes.
    var name: String { get }

    /// The kind of peer.
    var traits: PeerTraits { get }

    /// How much the peer takes at once.
    var limits: PeerLimits { get }

    /// Tells a peer that keeps records who syncs with it, and asks who it is. Called before each pass. A peer that
    /// knows its readers by name refuses a second reader of the same name with ``PeerError/Code/nameTaken``. Returns
    /// `nil` if the peer cannot tell who it is.
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting?

    /// Returns whether the peer can be used now. The engine asks this before anything else, so it must be cheap.
    func availability() async -> PeerAvailability

    /// Asks the user for access. A return does not mean that access was granted (SEMANTICS A17).
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError)

    /// Returns what is known of the access to a type.
    func authorization(of type: SampleType) async -> TypeAuthorization

    /// Returns a page of the changes after a token, or without a token a page of all live samples and recent deletions.
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage

    /// Returns a page of the live samples of a type that start in a window, the latest first.
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage

    /// Carries out operations and returns exactly one outcome for each, in their order. A condition that affects all of
    /// them, such as a lock, is also an outcome and not an error.
    ///
    /// To save a sample that the peer already holds at this version is success, and so is to delete a sample that it
    /// does not hold.
    func push(_ operations: [PushOperation]) async -> [PushOutcome]

    /// Returns a sample in the form in which two samples are compared: fields that the peer derives, rounds or names by
    /// itself have the values that the peer gives back. Applied to both the stored and the pulled sample, it makes a
    /// sample and its echo equal (SEMANTICS C25). It is a pure function.
    func stored(_ sample: Sample) -> Sample

    /// Signals that some types may have changed. The stream ends when the peer has nothing more to signal, and costs
    /// nothing while there is no signal.
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp>

    /// Returns the peer's own totals of some local days. A day without data has no value.
    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading]

    /// Returns a digest of the live samples of a type that start in a window, or `nil` if the peer has no digests and
    /// must be enumerated.
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest?

    /// Returns the types that the peer holds samples of, or no type if it cannot tell.
    func types() async throws(PeerError) -> Set<SampleType>

    /// Returns those of some samples that the peer has deleted and whose deletion it has forgotten. The peer was given
    /// all of them once. The engine asks this when the peer no longer knows a token; the token tells the peer how far
    /// the store had read. Returns `nil` if the peer cannot tell: then it is given everything again that it lacks.
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>?

    /// Tells the peer that the store durably holds everything up to a token. A peer that keeps deletions for others may
    /// then forget those deletions, and nothing else: an older token still returns everything after it, or expires. If
    /// the call throws, the engine reports it and tries again.
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError)

    /// Returns what the peer remembers of the store, if it keeps that. Called at the beginning of each sync. `told` is
    /// the last place in the store's feed that the store knows the peer to have been told of (``PushOperation/place``);
    /// a peer that remembers an earlier place has lost operations. Returns `nil` if the peer remembers nothing of any
    /// store: then this call detects a restoration on neither side.
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory?

    /// Tells the peer that the app has disconnected it: it no longer needs to wake the app for the types of the plan.
    func disconnected(from types: Set<SampleType>) async
}

extension Peer {
    /// Returns the sample unchanged: the peer gives every sample back as it was sent.
    public func stored(_ sample: Sample) -> Sample { sample }
    /// No limits besides the engine's own.
    public var limits: PeerLimits { PeerLimits() }
    /// Returns `nil`: the peer does not identify itself.
    public func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? { nil }
    /// Returns no totals.
    public func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] { [] }
    /// Returns `nil`: the peer has no digests and is enumerated.
    public func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? { nil }
    /// Returns no types: the types of the plan are synced.
    public func types() async throws(PeerError) -> Set<SampleType> { [] }
    /// Returns `nil`: the peer cannot tell.
    public func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        nil
    }
    /// Returns `nil`: the peer remembers nothing.
    public func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? { nil }
    /// Does nothing: the peer keeps nothing that it could forget.
    public func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {}
    /// Does nothing.
    public func disconnected(from types: Set<SampleType>) async {}
}

/// The kind of a peer. The engine decides by these traits and never by the peer's class.
public struct PeerTraits: Sendable, Hashable, Codable {
    /// Whether the peer keeps samples unchanged with version, clock and origin, as another store does. Otherwise the
    /// engine resolves returned samples by sync identifier and version alone.
    public var keepsRecords: Bool
    /// Whether the peer takes samples that were imported from elsewhere (SEMANTICS C25): stores do, HealthKit never
    /// does.
    public var takesImports: Bool
    /// Whether the peer hides unreadable samples, so that an empty answer never means deleted (SEMANTICS A17).
    public var hidesUnreadable: Bool
    /// Whether all types share one feed. Then requests name `SampleType.every`.
    public var hasOneFeed: Bool
    /// Whether the peer supports ``Peer/dailyTotals(_:)``.
    public var givesDailyTotals: Bool
    /// Whether the user has to grant access.
    public var needsAuthorization: Bool

    /// Creates traits.
    public init(
        keepsRecords: Bool, takesImports: Bool, hidesUnreadable: Bool, hasOneFeed: Bool, givesDailyTotals: Bool,
        needsAuthorization: Bool
    ) {
        self.keepsRecords = keepsRecords
        self.takesImports = takesImports
        self.hidesUnreadable = hidesUnreadable
        self.hasOneFeed = hasOneFeed
        self.givesDailyTotals = givesDailyTotals
        self.needsAuthorization = needsAuthorization
    }

    /// HealthKit and similar peers: a database of the system with its own ids, which an app may write to.
    public static let healthKit = PeerTraits(
        keepsRecords: false, takesImports: false, hidesUnreadable: true, hasOneFeed: false, givesDailyTotals: true,
        needsAuthorization: true)

    /// Another HealthKV store.
    public static let store = PeerTraits(
        keepsRecords: true, takesImports: true, hidesUnreadable: false, hasOneFeed: true, givesDailyTotals: false,
        needsAuthorization: false)
}

extension SampleType {
    /// Represents all types in requests to a peer with one feed.
    public static let every = SampleType("*")
}
