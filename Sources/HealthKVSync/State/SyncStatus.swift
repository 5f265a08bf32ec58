import HealthKV

/// Something about a sync that the user or a developer should know, and that is no error. No notice carries a health value.
public struct SyncNotice: Sendable, Hashable, Codable {
    /// What it is about. Raw values are stable.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// Health data has been locked for more than a day (SEMANTICS C24).
        case lockedForLong
        /// Nothing may be shared: the status advises to switch the sync off (SEMANTICS C24).
        case nothingGranted
        /// Nothing of others could be read for a day since the user was asked: the status advises to switch the sync off (SEMANTICS C36).
        case nothingReadable
        /// A peer's clock is more than a day ahead (SEMANTICS C29).
        case clockSkew
        /// Foreign samples vanished twice: reading was probably revoked (SEMANTICS C11).
        case readingRevoked
        /// Samples are missing at the peer, and nothing shows that they were deleted: they are kept (SEMANTICS C26).
        case unverified
        /// The store is a copy or was restored: what the peers hold is adopted before anything is sent (SEMANTICS C28).
        case restored
        /// The peer was restored from an older copy: it is read from its beginning, and is given again what it lacks.
        case peerRestored
        /// A peer was silent for so long that tombstones are no longer kept for it (SEMANTICS C27).
        case retired
        /// An operation was refused for good.
        case quarantined
        /// The peer holds another store than before, or one that was restored.
        case peerReplaced
        /// At the peer the name was another store's until now: this device was reinstalled or restored, or two devices
        /// have one name.
        case nameTakenOver
        /// Samples of the peer break the rules of the store, and were left out.
        case invalidSamples
    }

    /// What it is about.
    public let code: Code
    /// What happened, for people to read, in English.
    public let detail: String
    /// When it was noted.
    public let time: Instant
    /// What to tell the user, where the plan says it (``SyncPlan/noticeMessages``).
    public var message: String?
}

/// How the sync with one peer stands. It is kept in the store, so that it survives the process and other processes see it.
public struct PeerStatus: Sendable, Hashable {
    /// Whether the user switched the sync on.
    public var isEnabled = false
    /// Whether the peer answered when it was last asked.
    public var availability = PeerAvailability.available
    /// What is known of the access to each type; "unknown" is an answer too (SEMANTICS A17).
    public var authorization: [SampleType: TypeAuthorization] = [:]
    /// What is known of the access to read each type that is pulled (SEMANTICS C36).
    public var reading: [SampleType: ReadAccess] = [:]
    /// When the last sync ended well.
    public var lastSync: Instant?
    /// When the peer last called, and how that ended.
    public var lastWake: Instant?
    /// How the last call ended.
    public var lastWakeResult: String?
    /// What waits for the peer, by state, type and reason.
    public var queue = PendingCounts()
    /// How many operations wait until the user allows a type to be written, by that type.
    public var waiting: [SampleType: Int] { queue.lackingAccess }
    /// Operations that wait for their turn.
    public var pending: Int { queue[.waiting] }
    /// Operations that wait for access, for unlocking, or for slow retries.
    public var parked: Int { queue[.parked] }
    /// Operations that were refused for good.
    public var quarantined: Int { queue[.quarantined] }
    /// How many samples were imported of each type.
    public var imported: [SampleType: Int] = [:]
    /// Types of whose history nothing is imported until the user has answered (``TypePlan/Horizon/ask``).
    public var historyToAsk: Set<SampleType> = []
    /// Types whose feed was read to its end.
    public var drained: Set<SampleType> = []
    /// The farthest that the peer's clock was seen ahead, in seconds.
    public var skewSeconds: Double?
    /// What keeps the sync from going on; `nil` when nothing does.
    public var issue: SyncIssue?
    /// What the user or a developer should know, the latest last.
    public var notices: [SyncNotice] = []

    /// Whether the sync had better be switched off, since nothing that may be shared is (SEMANTICS C24).
    public var advisesSwitchingOff: Bool {
        notices.contains { $0.code == .nothingGranted || $0.code == .nothingReadable }
    }

    /// How it stands with the access to the peer, as far as that can be known.
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

/// How the sync with all peers stands.
public struct SyncStatus: Sendable, Hashable {
    /// By name of the peer.
    public var peers: [String: PeerStatus] = [:]

    /// Operations that wait for any peer.
    public var pending: Int { peers.values.reduce(0) { $0 + $1.pending } }
    /// Operations that wait for access, unlocking or slow retries.
    public var parked: Int { peers.values.reduce(0) { $0 + $1.parked } }
    /// Operations that were refused for good.
    public var quarantined: Int { peers.values.reduce(0) { $0 + $1.quarantined } }
    /// When the last sync with any peer ended well.
    public var lastSync: Instant? { peers.values.compactMap(\.lastSync).max() }
}

extension SampleReading where Self: ~Copyable {
    /// How the sync with a peer stands, as the store has it: an app needs no engine to show it.
    public func syncStatus(of peer: String) throws -> PeerStatus {
        let state = try state(of: peer)
        var status = PeerStatus()
        status.isEnabled = state.isEnabled
        status.availability = state.availability
        for (name, type) in state.types {
            let key = SampleType(name)
            status.authorization[key] = type.authorization
            if type.planned != nil, type.authorization != nil { status.reading[key] = type.readAccess }
            if type.imported > 0 { status.imported[key] = type.imported }
            if type.isDrained { status.drained.insert(key) }
            if type.planned == .ask, type.wanted == nil { status.historyToAsk.insert(key) }
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
    /// What is parked until the user allows a type to be written, by that type.
    var lackingAccess: [SampleType: Int] {
        var counts: [SampleType: Int] = [:]
        for group in groups where group.state == .parked && group.reason == ParkReason.unauthorized.rawValue {
            if let type = group.type { counts[type, default: 0] += group.count }
        }
        return counts
    }
}
