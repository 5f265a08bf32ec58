import HealthKV

/// A database of the system or of a server, with ids and versions of its own, such as HealthKit.
///
/// It has a feed for each type, and is sent the operations that wait in its queue. The engine links its ids with the
/// store's, resolves returned samples by sync identifier and version, and adopts what an earlier installation of the
/// app left in it before it sends anything.
public protocol DatabasePeer: Peer {
    /// What kind of database it is.
    var traits: DatabaseTraits { get }

    /// Asks the user for access. A return does not mean that access was granted (SEMANTICS A17).
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError)

    /// Returns what is known of the access to a type.
    func authorization(of type: SampleType) async -> TypeAuthorization

    /// Returns a sample in the form in which two samples are compared: fields that the peer derives, rounds or names by
    /// itself have the values that the peer gives back. Applied to both the stored and the pulled sample, it makes a
    /// sample and its echo equal (SEMANTICS C25). It is a pure function.
    func stored(_ sample: Sample) -> Sample

    /// Returns the peer's own totals of some local days. A day without data has no value. Called only if
    /// ``DatabaseTraits/givesDailyTotals`` is set.
    func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading]
}

extension DatabasePeer {
    /// Returns the sample unchanged: the peer gives every sample back as it was sent.
    public func stored(_ sample: Sample) -> Sample { sample }
    /// Returns no totals.
    public func dailyTotals(_ request: DailyTotalRequest) async throws(PeerError) -> [DayReading] { [] }
    /// Does nothing: the peer keeps its deletions as long as it sees fit.
    public func acknowledge(_ token: [UInt8], of type: SampleType) async throws(PeerError) {}
}

/// In what databases differ. The engine decides by these traits and never by the peer's class.
public struct DatabaseTraits: Sendable, Hashable, Codable {
    /// Whether the peer takes samples that were imported from elsewhere (SEMANTICS C25). HealthKit never does.
    public var takesImports: Bool
    /// Whether the peer hides unreadable samples, so that an empty answer never means deleted (SEMANTICS A17).
    public var hidesUnreadable: Bool
    /// Whether the peer supports ``DatabasePeer/dailyTotals(_:)``.
    public var givesDailyTotals: Bool
    /// Whether the user has to grant access.
    public var needsAuthorization: Bool

    /// Creates traits; by default none is set.
    public init(
        takesImports: Bool = false, hidesUnreadable: Bool = false, givesDailyTotals: Bool = false,
        needsAuthorization: Bool = false
    ) {
        self.takesImports = takesImports
        self.hidesUnreadable = hidesUnreadable
        self.givesDailyTotals = givesDailyTotals
        self.needsAuthorization = needsAuthorization
    }

    /// HealthKit and similar databases: the system decides what an app may read, and does not tell.
    public static let healthKit = DatabaseTraits(
        hidesUnreadable: true, givesDailyTotals: true, needsAuthorization: true)
}
