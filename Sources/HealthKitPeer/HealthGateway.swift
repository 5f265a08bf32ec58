import HealthKVSync

/// The calls that the peer makes to HealthKit, with our own values. All calls of HealthKit are behind this protocol, in
/// one file.
protocol HealthGateway: Sendable {
    /// Deletes the samples that stand for totals of workouts: all, or those of versions before one. Returns the
    /// workouts of which some are left, because their types may not be written.
    func deleteTotals(of workouts: Set<String>, before version: Int64?) async throws(GatewayError) -> Set<String>
    /// Returns whether health data exists here and may be used.
    func availability() async -> PeerAvailability
    /// Asks the user for access.
    func requestAuthorization(read: Set<SampleType>, write: Set<SampleType>) async throws(GatewayError)
    /// Returns what is known of the access to a type.
    func authorization(of type: SampleType) async throws(GatewayError) -> TypeAuthorization
    /// Returns whether a type may be written. Does not call another process.
    func writing(_ type: SampleType) -> TypeAuthorization.Writing
    /// Returns the date before whose end samples are refused; `nil` for no such bound. Does not call another process.
    func earliestPermitted() -> Instant?
    /// Returns a page of samples and deletions after an anchor.
    func changes(_ request: PullRequest) async throws(GatewayError) -> PullPage
    /// Returns the samples that start in a window, the latest first: all of them, or those with some sync identifiers.
    func latest(
        of type: SampleType, in window: TimeRange, named identifiers: Set<String>?, limit: Int
    ) async throws(GatewayError) -> LatestSamples<PulledSample>
    /// Returns outlines of the samples that ``latest(of:in:named:limit:)`` returns.
    func latestOutlines(
        of type: SampleType, in window: TimeRange, named identifiers: Set<String>?, limit: Int
    ) async throws(GatewayError) -> LatestSamples<SampleOutline>
    /// Returns this app's samples of a type in HealthKit that have some sync identifiers.
    func held(_ identifiers: Set<String>, of type: SampleType) async throws(GatewayError) -> [HeldSample]
    /// Saves a whole shipment or nothing. Returns the new UUIDs, in the order of its samples.
    func save(_ shipment: Shipment) async throws(GatewayError) -> [SampleID]
    /// Deletes this app's samples of a type by UUID. An absent sample is no error.
    func delete(_ type: SampleType, ids: Set<SampleID>) async throws(GatewayError)
    /// Deletes this app's correlations that start at an instant, or belong to a group, and have no members left.
    func deleteEmpty(_ type: SampleType, at instants: Set<Instant>, of groups: Set<String>) async throws(GatewayError)
    /// Deletes this app's correlations of a group that hold no samples but those with some sync identifiers, except the
    /// one with a sync identifier of its own.
    func deleteCorrelations(
        _ type: SampleType, of group: String, except identifier: String, holdingOnly members: Set<String>
    ) async throws(GatewayError)
    /// Returns the sums of local days, merged over all sources. Days without data are left out.
    func dailyTotals(of type: SampleType, days: LocalDays) async throws(GatewayError) -> [DayReading]
    /// Calls `news` whenever a type may have changed, until the returned closure is called or `failed` is called. After
    /// a failure, no more changes are reported.
    func observe(
        _ type: SampleType, news: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void,
        failed: @escaping @Sendable (GatewayError) -> Void
    ) -> @Sendable () -> Void
    /// Allows the system to wake the app for a type.
    func enableWaking(for type: SampleType) async throws(GatewayError)
    /// Stops the system from waking the app for a type.
    func disableWaking(for type: SampleType) async throws(GatewayError)
    /// Returns the maximum duration of a sample of a type, in seconds; `nil` for any duration.
    func longestDuration(of type: SampleType) -> Double?
}

/// Samples that HealthKit returned, the latest first.
struct LatestSamples<Item> {
    /// The samples that the engine takes. The parts of a workout come with the workout and are not among them.
    var samples: [Item]
    /// How many samples HealthKit returned.
    var count: Int
    /// The earliest start among all samples that HealthKit returned.
    var earliest: Instant?
}

/// Why HealthKit did not carry out a call.
enum GatewayError: Error, Hashable, Sendable {
    /// The user was not asked.
    case notDetermined
    /// The user denied access.
    case denied
    /// The device is locked.
    case locked
    /// There is no health data on this device.
    case unavailable
    /// A device profile forbids access.
    case restricted
    /// The arguments are refused permanently, whatever is tried.
    case invalid(String)
    /// The token is not an anchor of HealthKit.
    case expired
    /// The user cancelled.
    case cancelled
    /// It is unknown whether the call was carried out.
    case other(String)
}

/// One of this app's samples as HealthKit holds it.
struct HeldSample: Hashable, Sendable {
    let id: SampleID
    let syncIdentifier: String
    let version: Int64
    let start: Instant

    /// The number of what replaces the sample. Another program may have used the greatest number there is.
    var next: Int64 { min(version, .max - 1) + 1 }
}

/// The samples of one save: those of one type, or those of one group.
struct Shipment: Sendable {
    /// The samples, in the order of the returned UUIDs.
    var samples: [Sample]
    /// The correlation that represents a group in HealthKit.
    var correlation: Correlation?

    /// A correlation of samples that are saved with it.
    struct Correlation: Sendable {
        let type: SampleType
        /// The sync identifiers of the correlation's samples.
        let members: Set<String>
        /// The correlation's own sync identifier and version, by which it replaces an earlier correlation of the group;
        /// `nil` if it is saved beside the earlier one.
        let name: (identifier: String, version: Int64)?
        /// Whether an earlier correlation of the group was there, which this one replaces.
        let replaces: Bool
    }
}
