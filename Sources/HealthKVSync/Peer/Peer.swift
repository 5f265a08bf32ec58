import HealthKV

/// The other side of a sync: HealthKit, another store, a server.
///
/// A peer answers; it keeps no state of the sync. The engine calls one function at a time for each peer, and may call it again
/// after a crash with the same arguments. Every function may suspend, and throws ``PeerError`` and nothing else.
///
public protocol Peer: Sendable {
    /// Under this name the store keeps all that it knows of the peer. It never changes.
    var name: String { get }

    /// What kind of peer it is.
    var traits: PeerTraits { get }

    /// How much it takes at once.
    var limits: PeerLimits { get }

    /// Tells a peer that keeps records who syncs with it, before each pass, and asks who it is. A peer that knows its readers by
    /// a name refuses a second one of that name with ``PeerError/Code/nameTaken``. `nil` where it cannot tell.
    func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting?

    /// Whether the peer can be used now. Asked before anything else, and cheap.
    func availability() async -> PeerAvailability

    /// Asks the user for access. Returning does not mean that anything was granted (SEMANTICS A17).
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError)

    /// What is known of the access to a type.
    func authorization(of type: SampleType) async -> TypeAuthorization

    /// A page of what is new behind a token; without one, of all live samples and recent deletions.
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage

    /// A page of the live samples of a type that start in a window, the latest first.
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage

    /// Carries out operations, and gives exactly one outcome for each, in their order. What holds for all of them, such as a lock, is
    /// an outcome too and not an error.
    ///
    /// Saving what the peer holds already at this version, and deleting what it does not hold, is success.
    func push(_ operations: [PushOperation]) async -> [PushOutcome]

    /// A sample in the form in which two are compared: what the peer derives, rounds or names by itself is as the peer gives it
    /// back. Applied to what is held and to what is pulled, it makes a sample and its echo equal (SEMANTICS C25). It is pure.
    func stored(_ sample: Sample) -> Sample

    /// Tells that something may have changed for some types. It ends when the peer has nothing more to tell, and costs nothing
    /// while there is nothing.
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp>

    /// The peer's own totals of some local days; days of which it knows nothing have no value.
    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading]

    /// A digest of the live samples of a type that start in a window; `nil` where the peer has none, and must be enumerated.
    func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest?

    /// The types that the peer holds samples of, where it can tell; no type where it cannot.
    func types() async throws(PeerError) -> Set<SampleType>

    /// Those of some samples that the peer has deleted and of whose deletion it has forgotten; all of them it was given once.
    /// Asked when it no longer knows a token, by which it knows how far the store had come. `nil` where it cannot tell: then it
    /// is given again what it lacks.
    func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>?

    /// Told once the store holds everything up to a token durably. A peer that keeps deletions for others may forget them then,
    /// and nothing else: an older token still gives all that stands behind it, or expires. Where it throws, the engine
    /// tells it, and tries again.
    func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError)

    /// Asked at the beginning of each sync: what the peer remembers of the store, where it keeps that. `told` is the last place of the
    /// store's feed that the store knows the peer to have been told of (``PushOperation/place``); a peer that remembers less has
    /// lost what it was given. `nil` where it remembers nothing of anybody: then neither side finds by it that the other was restored.
    func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory?

    /// Told when the app has disconnected the peer: it need not wake the app any more for the types of the plan.
    func disconnected(from types: Set<SampleType>) async
}

extension Peer {
    /// The peer gives every sample back as it went.
    public func stored(_ sample: Sample) -> Sample { sample }
    /// As much as the engine sends by itself.
    public var limits: PeerLimits { PeerLimits() }
    /// Nobody to tell.
    public func greet(_ greeting: PeerGreeting) async throws(PeerError) -> PeerGreeting? { nil }
    /// No totals.
    public func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] { [] }
    /// No digests: the peer is enumerated.
    public func digest(of type: SampleType, in window: TimeRange) async throws(PeerError) -> SyncDigest? { nil }
    /// No types: those of the plan are synced.
    public func types() async throws(PeerError) -> Set<SampleType> { [] }
    /// It cannot tell.
    public func forgotten(among samples: [Sample], since token: [UInt8]) async throws(PeerError) -> Set<SampleID>? {
        nil
    }
    /// It remembers nothing.
    public func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? { nil }
    /// Nothing to forget.
    public func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {}
    /// Nobody to tell.
    public func disconnected(from types: Set<SampleType>) async {}
}

/// What kind of peer it is; the engine decides by these and never by the peer's class.
public struct PeerTraits: Sendable, Hashable, Codable {
    /// Whether the peer keeps samples unchanged with version, clock and origin, as another store does. Otherwise the engine
    /// resolves what comes back by sync identifier and version alone.
    public var keepsRecords: Bool
    /// Whether it takes samples that were imported from elsewhere (SEMANTICS C25): stores do, HealthKit never.
    public var takesImports: Bool
    /// Whether it hides what may not be read, so that an empty answer never means deleted (SEMANTICS A17).
    public var hidesUnreadable: Bool
    /// Whether all types come in one feed. Then requests name ``SampleType/every``.
    public var hasOneFeed: Bool
    /// Whether it answers ``Peer/dailyTotals(_:)``.
    public var givesDailyTotals: Bool
    /// Whether access has to be granted by the user.
    public var needsAuthorization: Bool

    /// Traits, one by one.
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

    /// HealthKit, and what is like it: a database of the system with its own identities, that an app may write to.
    public static let healthKit = PeerTraits(
        keepsRecords: false, takesImports: false, hidesUnreadable: true, hasOneFeed: false, givesDailyTotals: true,
        needsAuthorization: true)

    /// Another HealthKV store.
    public static let store = PeerTraits(
        keepsRecords: true, takesImports: true, hidesUnreadable: false, hasOneFeed: true, givesDailyTotals: false,
        needsAuthorization: false)
}

extension SampleType {
    /// Stands for all types in requests to a peer with one feed.
    public static let every = SampleType("*")
}
