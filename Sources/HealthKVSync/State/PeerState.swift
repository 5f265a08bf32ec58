#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

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
    /// Why the links may belong to another database than the peer's, if nothing has shown yet that they do not.
    /// ``TypeState/doubt`` has what each type has shown.
    var doubt: PeerDoubt?
    var isDoubted: Bool { doubt != nil }
    /// When the engine last noted how far a peer with a queue has seen the changes; `nil` if it never did.
    var lastAcknowledged: Instant?
    /// What the peer said about itself.
    var greeting: PeerGreeting?
    /// The last place in our feed that a peer that keeps records took together with operations.
    var told: ChangeToken?
    /// When a pass of another peer first found that this one is silent for too long; `nil` while it is not.
    var silentSince: Instant?
    /// When the store recently became another replica, because the peer knew a later copy of it.
    var superseded: [Instant] = []

    subscript(_ type: SampleType) -> TypeState {
        get { types[type.identifier] ?? TypeState() }
        set { types[type.identifier] = newValue }
    }

    /// Returns `true` if a type is sent to the peer.
    func sends(_ type: SampleType) -> Bool { sentTypes?.contains(type) ?? false }

    /// Returns `true` if each type of a plan is adopted, or may not be read.
    func hasAdopted(_ plan: SyncPlan) -> Bool {
        plan.types.keys.allSatisfy { self[$0].phase.isAdopted || self[$0].pulls.isRefused }
    }

    /// Returns `true` if no feed of the plan can show anything more of the peer: each is adopted, refused or has failed
    /// several times for a reason that does not pass.
    func hasShownAll(_ plan: SyncPlan) -> Bool {
        if hasAdopted(plan) { return true }
        let states = plan.types.keys.map { self[$0] }
        return states.contains { $0.phase.isAdopted }
            && states.allSatisfy { $0.phase.isAdopted || $0.pulls.isRefused || $0.pulls.isHopeless }
    }

    /// Notes what the samples of a page tell of the peer: that something can be read after all (SEMANTICS C36), and
    /// that some were left out.
    mutating func noteArrivals(_ report: PullReport, of feed: SampleType, at now: Instant) {
        if self[feed].readAccess == .readable { notices.removeAll { $0.code == .nothingReadable } }
        guard report.invalid > 0 else { return }
        let detail = "samples of \(feed) break the rules of the store and were left out"
        // One notice for each feed: the last one names a sample.
        notices.removeAll { $0.code == .invalidSamples && $0.detail.hasPrefix(detail) }
        let last = report.leftOut.last.map { ", such as \($0.id): \($0.reason)" } ?? ""
        note(.invalidSamples, detail + last, at: now)
    }

    mutating func note(_ code: SyncNotice.Code, _ detail: String, at time: Instant, message: String? = nil) {
        notices.removeAll { $0.code == code && $0.detail == detail }
        notices.append(SyncNotice(code: code, detail: detail, time: time, message: message))
        if notices.count > 32 { notices.removeFirst() }
    }
}

/// Why a peer is doubted to be the database that the links refer to.
enum PeerDoubt: String, Codable, Sendable {
    /// The store or the database may have been exchanged for another.
    case exchange
    /// Samples of this app are gone, and the peer never showed any others: their user may have deleted them all.
    case absence
}

/// Notes of the engine in a store.
enum EngineNotes {
    static func state(_ peer: PeerID) -> String { "peer:\(peer)" }
    static func lease(_ peer: PeerID) -> String { "lease:\(peer)" }
    static func memory(_ peer: PeerID) -> String { "memory:\(peer)" }

    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(value))
    }

    /// Returns the value of a note; `nil` if there is none, or if it is damaged.
    static func decode<Value: EngineNote>(_ bytes: [UInt8]?, as type: Value.Type) -> Value? {
        guard let bytes, let value = try? JSONDecoder().decode(type, from: Data(bytes)), value.isPossible else {
            return nil
        }
        return value
    }
}

extension PeerState {
    /// The epoch of a state whose note is damaged. No store has it, so that the next pass begins as with a restored
    /// store: what the peer holds is adopted before anything is sent, and nothing is deleted.
    static let damagedEpoch = UInt32.max
}

extension SampleReading where Self: ~Copyable {
    func state(of peer: PeerID) throws -> PeerState {
        try note(of: peer)?.state ?? PeerState()
    }

    fileprivate func note(of peer: PeerID) throws -> PeerNote? {
        guard let bytes = try syncNote(EngineNotes.state(peer)) else { return nil }
        return PeerNote.recent.value(of: bytes) { PeerNote(decoding: $0) }
    }

    func lease(of peer: PeerID) throws -> Lease {
        guard let bytes = try syncNote(EngineNotes.lease(peer)) else { return Lease() }
        return Lease.recent.value(of: bytes) { EngineNotes.decode($0, as: Lease.self) }
            ?? Lease(damagedAt: currentToken.commit)
    }
}

extension WriteTransaction {
    /// Keeps a sample that a conflict displaced, so that it can be restored.
    mutating func appendAudit(_ event: SyncConflict.Event, _ displaced: Sample) throws {
        try appendAudit(event: event.rawValue, sample: displaced.id, displaced: try EngineNotes.encode(displaced))
    }

    mutating func setState(_ state: PeerState, of peer: PeerID) throws {
        let known = try note(of: peer)
        // An unchanged note costs no commit.
        if let known, known.state == state { return }
        let note = try PeerNote(state, after: known)
        try setSyncNote(EngineNotes.state(peer), note.bytes)
        PeerNote.recent.remember(note, as: note.bytes)
    }

    mutating func setLease(_ lease: Lease, of peer: PeerID) throws {
        let bytes = try EngineNotes.encode(lease)
        try setSyncNote(EngineNotes.lease(peer), bytes)
        Lease.recent.remember(lease, as: bytes)
    }
}
