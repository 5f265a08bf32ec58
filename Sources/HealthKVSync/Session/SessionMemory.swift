import HealthKV

/// What a session keeps in memory only. All of it is dispensable: another engine continues without it.
struct SessionMemory: Sendable {
    /// Called with the progress of a pull.
    var progress: (@Sendable (SyncProgress) -> Void)?
    /// Called once the newest window of each feed is stored.
    var newestStored: (@Sendable () async throws -> Void)?
    /// Whether the current pass had to read a feed from its beginning.
    var hasStartedOver = false
    /// Feeds of the current pass whose peer could not be told how far they are stored.
    var notTold: Set<SampleType> = []
    /// Whether this pass found that both sides remember the same of each other: neither has lost anything.
    var agreesWithPeer = false
    /// The last place of our feed that the peer has taken, if the store does not have it yet.
    var told: ChangeToken?
    /// How many foreign samples there were when the app last asked.
    var previewed: [SampleType: Int] = [:]
    /// When the session last checked whether any foreign sample still shows.
    var lookedForOthers: [SampleType: Instant] = [:]
    /// When a feed was found at its end, if the store does not have that yet.
    var looks: [SampleType: Instant] = [:]
    /// When the latest samples of a feed were last probed, and which of them every pull leaves out.
    var probes: [SampleType: Instant] = [:]
    var leftOut: [SampleType: Set<SampleID>] = [:]
}

/// The request of a pass that could not be done: another engine held the lease, the device was locked, or its failure
/// could not be noted. The wake-up that caused it does not come again.
struct PostponedPass: Sendable, Equatable {
    /// The types to pull; `SampleType.every` for all.
    var types: Set<SampleType> = []
    /// Do not try before this time.
    var until = Instant.distantPast
}

extension PassRequest {
    /// A pass that pulls these types, and those of a pass that could not be done.
    init(pulling types: Set<SampleType>, and postponed: PostponedPass?, isUrgent: Bool = false) {
        let all = types.union(postponed?.types ?? [])
        self.init(types: all.contains(.every) ? nil : all, isUrgent: isUrgent)
    }
}
