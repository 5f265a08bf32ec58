import HealthKV

/// A fact about a sync that the user or a developer should know, and that is not an error. No notice carries a health
/// value.
public struct SyncNotice: Sendable, Hashable, Codable {
    /// What the notice is about. Raw values are stable.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// Health data has been locked for more than a day (SEMANTICS C24).
        case lockedForLong
        /// Nothing may be shared: the status advises switching the sync off (SEMANTICS C24).
        case nothingGranted
        /// No foreign sample could be read for a day since the user was asked: the status advises switching the sync
        /// off (SEMANTICS C36).
        case nothingReadable
        /// A peer's clock is more than a day ahead (SEMANTICS C29).
        case clockSkew
        /// Foreign samples vanished twice: reading was probably revoked (SEMANTICS C11).
        case readingRevoked
        /// Samples are missing at the peer, and nothing proves that they were deleted. They are kept (SEMANTICS C26).
        case unverified
        /// The store is a copy or was restored. Everything that the peers hold is adopted before anything is sent
        /// (SEMANTICS C28).
        case restored
        /// The peer was restored from an older copy. Its feed is read from the beginning, and it is given everything
        /// again that it lacks.
        case peerRestored
        /// A peer was silent for so long that the store keeps no more tombstones for it (SEMANTICS C27).
        case retired
        /// A peer refused an operation permanently.
        case quarantined
        /// The peer holds another store than before, or a restored one.
        case peerReplaced
        /// At the peer, the name belonged to another store until now: this device was reinstalled or restored, or two
        /// devices share a name.
        case nameTakenOver
        /// Samples of the peer break the rules of the store and were left out.
        case invalidSamples
    }

    /// What the notice is about.
    public let code: Code
    /// What happened, as readable English.
    public let detail: String
    /// When the notice was made.
    public let time: Instant
    /// What to tell the user, if the plan defines it (``SyncPlan/noticeMessages``).
    public var message: String?
}

/// The status of the sync with one peer. The store keeps it, so it survives the process and other processes see it.
public struct PeerStatus: Sendable, Hashable {
    /// Whether the user switched the sync on.
    public var isEnabled = false
    /// Whether the peer was available when it was last asked.
    public var availability = PeerAvailability.available
    /// What is known of the access to each type. It may be unknown (SEMANTICS A17).
    public var authorization: [SampleType: TypeAuthorization] = [:]
    /// What is known of the read access to each pulled type (SEMANTICS C36).
    public var reading: [SampleType: ReadAccess] = [:]
    /// When the last sync succeeded.
    public var lastSync: Instant?
    /// When the peer last woke the engine.
    public var lastWake: Instant?
    /// The result of the last wake.
    public var lastWakeResult: String?
    /// The operations that wait for the peer, by state, type and reason.
    public var queue = PendingCounts()
    /// How many operations wait until the user allows writing their type, by type.
    public var waiting: [SampleType: Int] { queue.lackingAccess }
    /// How many operations wait for their turn.
    public var pending: Int { queue[.waiting] }
    /// How many operations wait for access, for unlocking, or for slow retries.
    public var parked: Int { queue[.parked] }
    /// How many operations the peer refused permanently.
    public var quarantined: Int { queue[.quarantined] }
    /// How many samples of each type were imported.
    public var imported: [SampleType: Int] = [:]
    /// Types whose history is not imported until the user answers (``TypePlan/Horizon/ask``), or answers again because
    /// the choice was lost in a damaged file.
    public var historyToAsk: Set<SampleType> = []
    /// Types whose feed was read to its end.
    public var drained: Set<SampleType> = []
    /// The largest observed lead of the peer's clock, in seconds.
    public var skewSeconds: Double?
    /// The problem that keeps the sync from continuing; `nil` if there is none.
    public var issue: SyncIssue?
    /// Notices for the user or a developer, the latest last.
    public var notices: [SyncNotice] = []

    /// Whether the app should switch the sync off, because nothing may be shared (SEMANTICS C24).
    public var advisesSwitchingOff: Bool {
        notices.contains { $0.code == .nothingGranted || $0.code == .nothingReadable }
    }

    /// The state of the access to the peer, as far as it can be known.
    public var access: AccessState {
        if availability == .unavailable || availability == .restricted { return .notAvailable }
        let mayWrite = authorization.values.contains { $0.writing == .granted }
        if mayWrite || reading.values.contains(.readable) { return .authorized }
        let isRevoked = reading.values.contains(.suspectedRevoked) && notices.contains { $0.code == .readingRevoked }
        if advisesSwitchingOff || isRevoked { return .denied }
        if reading.values.contains(.noDataOrDenied) { return .authorized }
        let isDenied = authorization.values.contains { $0.writing == .denied }
        return isDenied ? .denied : .notDetermined
    }
}

/// The status of the sync with all peers.
public struct SyncStatus: Sendable, Hashable {
    /// The status of each peer, by the peer's name.
    public var peers: [PeerID: PeerStatus] = [:]

    /// How many operations wait for any peer.
    public var pending: Int { peers.values.reduce(0) { $0 + $1.pending } }
    /// How many operations wait for access, for unlocking, or for slow retries.
    public var parked: Int { peers.values.reduce(0) { $0 + $1.parked } }
    /// How many operations were refused permanently.
    public var quarantined: Int { peers.values.reduce(0) { $0 + $1.quarantined } }
    /// When the last sync with any peer succeeded.
    public var lastSync: Instant? { peers.values.compactMap(\.lastSync).max() }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the status of the sync with a peer, as the store records it. An app needs no engine to show it.
    public func syncStatus(of peer: PeerID) throws -> PeerStatus {
        let state = try state(of: peer)
        var status = PeerStatus()
        status.isEnabled = state.isEnabled
        status.availability = state.availability
        for (name, type) in state.types {
            let key = SampleType(name)
            let isTaken = state.takenTypes?.contains(key) ?? true
            let isInPlan = isTaken || state.sentTypes?.contains(key) ?? true
            if isInPlan { status.authorization[key] = type.authorization }
            if isTaken, type.history.choice != nil, type.authorization != nil { status.reading[key] = type.readAccess }
            if type.imported > 0 { status.imported[key] = type.imported }
            if type.phase.isDrained { status.drained.insert(key) }
            if isTaken, let choice = type.history.choice, choice.requested ?? choice.planned == .ask {
                status.historyToAsk.insert(key)
            }
        }
        (status.lastSync, status.lastWake, status.lastWakeResult) = (
            state.lastSync, state.lastWake, state.lastWakeResult
        )
        (status.skewSeconds, status.issue, status.notices) = (state.skewSeconds, state.issue, state.notices)
        status.queue = try pendingCounts(for: peer)
        return status
    }
}

extension PendingCounts {
    /// How many operations are parked until the user allows writing their type, by type.
    var lackingAccess: [SampleType: Int] {
        var counts: [SampleType: Int] = [:]
        for group in groups where group.state == .parked && group.reason == ParkReason.unauthorized.rawValue {
            if let type = group.type { counts[type, default: 0] += group.count }
        }
        return counts
    }
}
