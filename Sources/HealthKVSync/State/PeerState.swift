#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV
import Synchronization

/// What the engine remembers of a peer, in a note of the store: it changes with what it tells of.
struct PeerState: Codable, Sendable, Equatable {
    var isEnabled = false
    /// The epoch of the store when the state was written: another one means that the store is a copy or was restored.
    var epoch: UInt32 = 0
    /// By identifier of the type.
    var types: [String: TypeState] = [:]
    var availability = PeerAvailability.available
    var lockedSince: Instant?
    var lastSync: Instant?
    var lastWake: Instant?
    var lastWakeResult: String?
    /// What keeps the sync from going on.
    var issue: SyncIssue?
    /// The farthest that a peer's clock was seen ahead of ours.
    var skewSeconds: Double?
    var notices: [SyncNotice] = []
    /// Consecutive failures of calls that are not about one operation.
    var failures = 0
    /// Not to be asked again before this.
    var nextTry: Instant?
    /// When the hourly types were last asked for.
    var lastHourly: Instant?
    /// The types that are sent to the peer, so that others know what it takes; `nil` when it was never said.
    var sentTypes: TypeSelection?
    /// The types that are taken from the peer's feeds; `nil` when it was never said.
    var takenTypes: TypeSelection?
    /// How many samples a purge that is not finished has removed.
    var purged = 0
    /// How much of a mass deletion a peer that follows the feed was sent, while that is not all.
    var removal: FeedPlace?
    /// Whether the store is a copy or was restored, and nothing shows yet that the peer is the database its links are of; `nil` where
    /// there is no doubt.
    var isDoubted: Bool?
    /// When it was last noted how far a peer with a queue has seen the changes; `nil` when it never was.
    var lastAcknowledged: Instant?
    /// Who the peer said that it is.
    var greeting: PeerGreeting?
    /// The last place of our feed that a peer that keeps records has taken with what it was given.
    var told: ChangeToken?
    /// When another peer's pass first found that this one is silent for too long; `nil` while it is not.
    var silentSince: Instant?
    /// When the store became another replica of late, because the peer knew a later copy of it.
    var superseded: [Instant]?

    subscript(_ type: SampleType) -> TypeState {
        get { types[type.identifier] ?? TypeState() }
        set { types[type.identifier] = newValue }
    }

    /// Whether a type is sent to the peer.
    func sends(_ type: SampleType) -> Bool { sentTypes?.contains(type) ?? false }

    mutating func note(_ code: SyncNotice.Code, _ detail: String, at time: Instant, message: String? = nil) {
        notices.removeAll { $0.code == code && $0.detail == detail }
        notices.append(SyncNotice(code: code, detail: detail, time: time, message: message))
        if notices.count > 32 { notices.removeFirst() }
    }
}

/// What the engine remembers of one type at one peer.
struct TypeState: Codable, Sendable, Equatable {
    /// Whether the feed was read to its end once, so that what an earlier installation left is known (SEMANTICS C21).
    var isAdopted = false
    /// Whether the feed was read to its end.
    var isDrained = false
    /// Whether a part of the feed was read and not its end: until then nothing of the type goes to other peers (SEMANTICS C22).
    var isMidway = false
    /// Whether samples from before the peer was enabled are in its queue.
    var isExported = false
    /// Samples that start before this are not imported.
    var horizon: Instant?
    /// When the import of what there was then was skipped (SEMANTICS C9); `nil` when it was not.
    var skipped: Instant?
    /// Whether the feed goes on from the place where it stood when the import was skipped: what comes behind that is news, whatever its date.
    var isPastBaseline: Bool?
    /// How far back the first import has come, the newest windows first.
    var windowsDone: Instant?
    /// Deletions that wait for the end of the feed, where their replacement may stand; the last of them where they are many.
    var deferred: [DeferredDeletion] = []
    var authorization: TypeAuthorization?
    /// Whose samples this peer brought.
    var sources: Set<SourceIdentity> = []
    var lastRescan: Instant?
    var lastForeign: Instant?
    /// Whether a sample of others came where none did before, or not for long: then there may be more (SEMANTICS C23).
    var needsRescan = false
    /// Local days whose totals are to be asked for again.
    var staleDays: Set<String> = []
    var imported = 0
    // What came later may be missing in an older note.
    /// How the last pull failed; `nil` once one succeeded.
    var failure: PullFailure?
    /// Whether reading was refused: then there is nothing to adopt for the time being, and the type may be sent.
    var isRefused: Bool?
    /// What the plan said of the horizon when it was set; `nil` when it never was.
    var planned: TypePlan.Horizon?
    /// What was asked for in place of what the plan says; `nil` where nothing was.
    var wanted: TypePlan.Horizon?
    /// By which time the horizon was set, to be set again should the clock have been wrong.
    var horizonSet: Instant?
    /// Whether what the app wrote before the horizon is adopted.
    var isEarlierAdopted: Bool?
    /// When the last page came of a feed that was not read to its end.
    var midwaySince: Instant?
    /// When what is held of others is to be compared with what the peer shows; `nil` while nothing asks for it.
    var checkDue: Instant?
    /// How many comparisons in a row showed no sample of others, while we hold some.
    var vanished: Int?
    /// When a comparison last showed none; the next one counts an hour later.
    var vanishedAt: Instant?
    /// When the user was first asked to let the type be read, as far as is known.
    var asked: Instant?
    /// Whether the store was copied or restored since samples of others were last compared: the peer need not hold what it does not show.
    var isDoubted: Bool?
    /// The commit at which links were doubted last; what the store held then shows, when the peer shows it, that both know each other.
    var doubtedAt: UInt64?
    /// Whether the peer showed something by a name that the store knew before it was copied or restored.
    var isSeenAgain: Bool?
    /// Where the deletions before ``deferred`` wait; `nil` while they are few.
    var blocks: DeferredBlocks?
    /// When the feed was read to its end last, since it was read from its beginning: what comes later was written later (SEMANTICS C2).
    var lastLook: Instant?
    /// Whether what came by windows, the newest first, has its place in the order of the feed.
    var isInOrder: Bool?
    /// Why the peer could not be told how far its feed is held, and when it is told again; `nil` once it was.
    var unacknowledged: PullFailure?

    /// Names the feed of the type: its predicate belongs to the anchor (SEMANTICS A13).
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

/// How the pull of one feed failed, and when it is tried again.
struct PullFailure: Codable, Sendable, Equatable {
    var issue: SyncIssue
    var count = 0
    /// `nil` when only the user can end it.
    var nextTry: Instant?
}

/// Who syncs the store with a peer. Its token rises with each new holder: whoever lost it cannot commit any more.
struct Lease: Codable, Sendable, Equatable {
    var holder: String
    var token: UInt64
    var expires: Instant
    /// Where the holder runs; `nil` where that was not noted.
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

/// What the notes of some peers say that were read last. An engine reads the same note again and again, and more than a third of
/// what simulated syncs took went into decoding it. The bytes are the key, so nothing here can be out of date.
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
        // What is as it was costs no commit.
        if let bytes = try syncNote(name), try ReadStates.state(bytes) == state { return }
        let bytes = try EngineNotes.encode(state)
        try setSyncNote(name, bytes)
        ReadStates.remember(state, as: bytes)
    }

    mutating func setLease(_ lease: Lease?, of peer: String) throws {
        try setSyncNote(EngineNotes.lease(peer), try lease.map { try EngineNotes.encode($0) })
    }
}
