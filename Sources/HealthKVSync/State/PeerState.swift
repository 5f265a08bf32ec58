#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV
import Synchronization

/// What the engine remembers of a peer, in a note of the store. The note changes in the same commit as the samples that
/// it describes.
struct PeerState: Codable, Sendable, Equatable {
    var isEnabled = false
    /// The epoch of the store when the state was written. Another epoch means that the store is a copy or was restored.
    var epoch: UInt32 = 0
    /// Keyed by the type's identifier.
    var types: [String: TypeState] = [:]
    var availability = PeerAvailability.available
    var lockedSince: Instant?
    var lastSync: Instant?
    var lastWake: Instant?
    var lastWakeResult: String?
    /// The problem that keeps the sync from continuing.
    var issue: SyncIssue?
    /// The largest observed lead of the peer's clock over ours.
    var skewSeconds: Double?
    var notices: [SyncNotice] = []
    /// Consecutive failures of calls that are not about one operation.
    var failures = 0
    /// Do not call the peer before this time.
    var nextTry: Instant?
    /// When the hourly types were last pulled.
    var lastHourly: Instant?
    /// The types that are sent to the peer, so that other peers' sessions know what it takes; `nil` if it was never
    /// noted.
    var sentTypes: TypeSelection?
    /// The types that are taken from the peer's feeds; `nil` if it was never noted.
    var takenTypes: TypeSelection?
    /// How many samples an unfinished purge has removed.
    var purged = 0
    /// How much of a mass deletion was sent to a peer that follows the feed; `nil` unless one is partly sent.
    var removal: PeerPlace?
    /// Whether the store is a copy or was restored, and nothing has shown yet that the peer is the database that its
    /// links refer to; `nil` if there is no doubt.
    var isDoubted: Bool?
    /// When the engine last noted how far a peer with a queue has seen the changes; `nil` if it never did.
    var lastAcknowledged: Instant?
    /// What the peer said about itself.
    var greeting: PeerGreeting?
    /// The last place in our feed that a peer that keeps records took together with operations.
    var told: ChangeToken?
    /// When a pass of another peer first found that this one is silent for too long; `nil` while it is not.
    var silentSince: Instant?
    /// When the store recently became another replica, because the peer knew a later copy of it.
    var superseded: [Instant]?

    subscript(_ type: SampleType) -> TypeState {
        get { types[type.identifier] ?? TypeState() }
        set { types[type.identifier] = newValue }
    }

    /// Returns `true` if a type is sent to the peer.
    func sends(_ type: SampleType) -> Bool { sentTypes?.contains(type) ?? false }

    mutating func note(_ code: SyncNotice.Code, _ detail: String, at time: Instant, message: String? = nil) {
        notices.removeAll { $0.code == code && $0.detail == detail }
        notices.append(SyncNotice(code: code, detail: detail, time: time, message: message))
        if notices.count > 32 { notices.removeFirst() }
    }
}

/// What the engine remembers of one type at one peer.
struct TypeState: Codable, Sendable, Equatable {
    /// Whether the feed was read to its end once, so that everything an earlier installation left is known (SEMANTICS
    /// C21).
    var isAdopted = false
    /// Whether the feed was read to its end.
    var isDrained = false
    /// Whether the feed was read in part, but not to its end. Until then, nothing of the type goes to other peers
    /// (SEMANTICS C22).
    var isMidway = false
    /// Whether samples from before the peer was enabled are in its queue.
    var isExported = false
    /// Samples that start before this are not imported.
    var horizon: Instant?
    /// When the import of the existing history was skipped (SEMANTICS C9); `nil` if it was not.
    var skipped: Instant?
    /// Whether the feed continues from its place at the time when the import was skipped. Everything after that place
    /// is new, whatever its date.
    var isPastBaseline: Bool?
    /// How far back the first import has come; it imports the newest windows first.
    var windowsDone: Instant?
    /// Deletions that wait for the end of the feed, because their replacement may follow. If there are many, these are
    /// the last of them.
    var deferred: [DeferredDeletion] = []
    var authorization: TypeAuthorization?
    /// The sources of the samples that this peer brought.
    var sources: Set<SourceIdentity> = []
    var lastRescan: Instant?
    var lastForeign: Instant?
    /// Whether a foreign sample arrived after none had arrived before, or none for a while. Then there may be more
    /// (SEMANTICS C23).
    var needsRescan = false
    /// Local days whose totals must be read again.
    var staleDays: Set<String> = []
    var imported = 0
    // The fields below were added later: an older note may lack them.
    /// How the last pull failed; `nil` after one that succeeded.
    var failure: PullFailure?
    /// Whether reading was refused. Then there is nothing to adopt for now, and the type may be sent.
    var isRefused: Bool?
    /// The plan's horizon at the time when the horizon was set; `nil` if it never was.
    var planned: TypePlan.Horizon?
    /// The horizon that was requested instead of the plan's; `nil` if none was.
    var wanted: TypePlan.Horizon?
    /// The clock's time when the horizon was set, to set it again if the clock was wrong.
    var horizonSet: Instant?
    /// Whether the samples that the app wrote before the horizon are adopted.
    var isEarlierAdopted: Bool?
    /// When the last page arrived of a feed that is not read to its end.
    var midwaySince: Instant?
    /// When the foreign samples in the store are next compared with those that the peer shows; `nil` if no comparison
    /// is due.
    var checkDue: Instant?
    /// How many comparisons in a row showed no foreign sample although the store holds some.
    var vanished: Int?
    /// When a comparison last showed none. The next one counts only an hour later.
    var vanishedAt: Instant?
    /// When the user was first asked to allow reading the type, as far as is known.
    var asked: Instant?
    /// Whether the store was copied or restored since foreign samples were last compared. Then the peer may never have
    /// held the samples that it does not show.
    var isDoubted: Bool?
    /// The commit at which links were last doubted. If the peer shows a sample that the store held then, both know each
    /// other.
    var doubtedAt: UInt64?
    /// Whether the peer showed a sample under an id that the store knew before it was copied or restored.
    var isSeenAgain: Bool?
    /// Where the deletions before ``deferred`` are stored; `nil` while they are few.
    var blocks: DeferredBlocks?
    /// When the feed was last read to its end after it was read from its beginning. Samples that arrive later were
    /// written later (SEMANTICS C2).
    var lastLook: Instant?
    /// Whether samples that were imported by windows, the newest first, have their place in the order of the feed.
    var isInOrder: Bool?
    /// Why the peer could not be told how far its feed is stored, and when the engine tries again; `nil` once it was
    /// told.
    var unacknowledged: PullFailure?

    /// Names the feed of the type. An anchor is valid only with its predicate (SEMANTICS A13).
    var scope: String { horizon.map { "from:\($0.nanoseconds)" } ?? "" }
}

extension TypeState {
    /// What is known of the access to read the type (SEMANTICS C36).
    var readAccess: ReadAccess {
        if vanished ?? 0 >= 2 { return .suspectedRevoked }
        if !sources.isEmpty || lastForeign != nil { return .readable }
        return asked == nil ? .notDetermined : .noDataOrDenied
    }
}

/// How the pull of one feed failed, and when it is retried.
struct PullFailure: Codable, Sendable, Equatable {
    var issue: SyncIssue
    var count = 0
    /// `nil` if only the user can resolve the failure.
    var nextTry: Instant?
}

/// The engine that syncs the store with a peer. The token rises with each new holder, so an engine that lost the lease
/// can no longer commit.
struct Lease: Codable, Sendable, Equatable {
    var holder: String
    var token: UInt64
    var expires: Instant
    /// Where the holder runs; `nil` if that was not noted.
    var mark: EngineMark?
}

/// Notes of the engine in a store.
enum EngineNotes {
    static func state(_ peer: String) -> String { "peer:\(peer)" }
    static func lease(_ peer: String) -> String { "lease:\(peer)" }
    static func memory(_ peer: String) -> String { "memory:\(peer)" }

    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(value))
    }

    static func decode<Value: Decodable>(_ bytes: [UInt8]?, as type: Value.Type) throws -> Value? {
        try bytes.map { try JSONDecoder().decode(type, from: Data($0)) }
    }
}

/// A cache of the peer notes that were decoded last. An engine reads the same note again and again: decoding took more
/// than a third of the time of simulated syncs. The bytes are the key, so no entry can be out of date.
private enum ReadStates {
    private static let limit = 32
    private static let last = Mutex<[(bytes: [UInt8], state: PeerState)]>([])

    static func state(_ bytes: [UInt8]) throws -> PeerState? {
        let known = last.withLock { states -> PeerState? in
            guard let index = states.lastIndex(where: { $0.bytes == bytes }) else { return nil }
            states.append(states.remove(at: index))
            return states.last?.state
        }
        if let known { return known }
        guard let state = try EngineNotes.decode(bytes, as: PeerState.self) else { return nil }
        remember(state, as: bytes)
        return state
    }

    static func remember(_ state: PeerState, as bytes: [UInt8]) {
        last.withLock { states in
            if states.count == limit { states.removeFirst() }
            states.append((bytes, state))
        }
    }
}

extension SampleReading where Self: ~Copyable {
    func state(of peer: String) throws -> PeerState {
        guard let bytes = try syncNote(EngineNotes.state(peer)) else { return PeerState() }
        return try ReadStates.state(bytes) ?? PeerState()
    }

    func lease(of peer: String) throws -> Lease? {
        try EngineNotes.decode(syncNote(EngineNotes.lease(peer)), as: Lease.self)
    }
}

extension WriteTransaction {
    mutating func setState(_ state: PeerState, of peer: String) throws {
        let name = EngineNotes.state(peer)
        // An unchanged note costs no commit.
        if let bytes = try syncNote(name), try ReadStates.state(bytes) == state { return }
        let bytes = try EngineNotes.encode(state)
        try setSyncNote(name, bytes)
        ReadStates.remember(state, as: bytes)
    }

    mutating func setLease(_ lease: Lease?, of peer: String) throws {
        try setSyncNote(EngineNotes.lease(peer), try lease.map { try EngineNotes.encode($0) })
    }
}
