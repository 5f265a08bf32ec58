import HealthKVSync

/// What the peer asks of HealthKit, in our own values. All calls of HealthKit stand behind it, in one file.
protocol HealthGateway: Sendable {
    /// Whether health data is there and may be used.
    func availability() async -> PeerAvailability
    /// Asks the user for access.
    func requestAuthorization(read: Set<SampleType>, write: Set<SampleType>) async throws(GatewayError)
    /// What is known of the access to a type.
    func authorization(of type: SampleType) async throws(GatewayError) -> TypeAuthorization
    /// Whether a type may be written. It asks no other process.
    func writing(_ type: SampleType) -> TypeAuthorization.Writing
    /// Samples that end before this are refused; `nil` for no such bound. It asks no other process.
    func earliestPermitted() -> Instant?
    /// A page behind an anchor, samples and deletions.
    func changes(_ request: PullRequest) async throws(GatewayError) -> PullPage
    /// The samples that start in a window, the latest first: all of them, or those with some sync identifiers.
    func latest(
        of type: SampleType, in window: TimeRange, named identifiers: Set<String>?, limit: Int
    ) async throws(GatewayError) -> LatestSamples
    /// What HealthKit holds of this app's samples of a type, by sync identifier.
    func held(_ identifiers: Set<String>, of type: SampleType) async throws(GatewayError) -> [HeldSample]
    /// Saves all of a shipment or nothing. Answers the new UUIDs, in the order of its samples.
    func save(_ shipment: Shipment) async throws(GatewayError) -> [SampleID]
    /// Deletes this app's samples of a type by sync identifier, or by UUID; what is not there is no error.
    func delete(_ type: SampleType, identifiers: Set<String>, ids: Set<SampleID>) async throws(GatewayError)
    /// Deletes this app's correlations that start at an instant and have no members left.
    func deleteEmpty(_ type: SampleType, at instants: Set<Instant>) async throws(GatewayError)
    /// The sums of local days, merged over all sources; days without data are left out.
    func dailyTotals(of type: SampleType, days: LocalDays) async throws(GatewayError) -> [DayReading]
    /// Calls `news` when a type may have changed, until the answered closure is called, or until `failed` is: then it is told of nothing
    /// more.
    func observe(
        _ type: SampleType, news: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void,
        failed: @escaping @Sendable (GatewayError) -> Void
    ) -> @Sendable () -> Void
    /// Lets the system wake the app for a type.
    func enableWaking(for type: SampleType) async throws(GatewayError)
    /// Lets the system no longer wake the app for a type.
    func disableWaking(for type: SampleType) async throws(GatewayError)
    /// The longest duration that a sample of a type may have, in seconds; `nil` for any.
    func longestDuration(of type: SampleType) -> Double?
}

/// Samples that HealthKit gave, the latest first.
struct LatestSamples {
    /// Those that the engine takes. The parts of a workout, which come with it, are not among them.
    var samples: [PulledSample]
    /// How many HealthKit gave.
    var count: Int
    /// When the first of all that HealthKit gave starts.
    var earliest: Instant?
}

/// Why HealthKit did not do what it was asked.
enum GatewayError: Error, Hashable, Sendable {
    /// The user was not asked.
    case notDetermined
    /// The user said no.
    case denied
    /// The device is locked.
    case locked
    /// There is no health data here.
    case unavailable
    /// A profile forbids it.
    case restricted
    /// The arguments are refused, whatever is tried.
    case invalid(String)
    /// The token is no anchor of HealthKit's.
    case expired
    /// The user cancelled.
    case cancelled
    /// Whether it happened is not known.
    case other(String)
}

/// What HealthKit holds of one of this app's samples.
struct HeldSample: Hashable, Sendable {
    let id: SampleID
    let syncIdentifier: String
    let version: Int64
    let start: Instant
}

/// What is saved at once: samples of one type, or those of one group.
struct Shipment: Sendable {
    /// In the order in which UUIDs are answered.
    var samples: [Sample]
    /// The correlation that HealthKit shows a group as.
    var correlation: Correlation?

    /// A correlation of samples that are saved with it.
    struct Correlation: Sendable {
        let type: SampleType
        /// The sync identifiers of the samples that it holds.
        let members: Set<String>
        /// Its own sync identifier and version, by which it takes the place of an earlier one of the group; `nil` where it stands
        /// beside that.
        let name: (identifier: String, version: Int64)?
    }
}
