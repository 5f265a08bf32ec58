import ColumnFormat
import HealthModel

/// A peer that the store exchanges samples with, and how far it has followed our changes.
public struct RegisteredPeer: Sendable, Hashable {
    /// What the peer is called; every table of sync knows it by this name.
    public let name: String
    /// When it was registered.
    public var registered: Instant
    /// When it last acknowledged something.
    public var lastSeen: Instant
    /// Up to here it has acknowledged our changes; tombstones behind it are kept for it.
    public var acknowledged: ChangeToken?
    /// What is put into its queue; `nil` for a peer that follows the feed of changes instead.
    public var queue: QueueRule?
    /// Whether it was silent for so long that tombstones are no longer kept for it (SEMANTICS C27).
    public var isRetired = false

    /// A peer that has acknowledged nothing, or what is given.
    public init(
        name: String, registered: Instant, lastSeen: Instant, acknowledged: ChangeToken? = nil, queue: QueueRule? = nil
    ) {
        self.name = name
        self.registered = registered
        self.lastSeen = lastSeen
        self.acknowledged = acknowledged
        self.queue = queue
    }
}

/// Our place in a peer's feed, stored in the transaction that stores what the place stands for.
public struct Anchor: Sendable, Hashable {
    /// The peer whose feed it is.
    public let peer: String
    /// The type that it follows.
    public let type: SampleType
    /// The predicate or window it belongs to; empty for all samples of the type.
    public let scope: String
    /// The peer's own opaque token.
    public var token: [UInt8]
    /// When the place was reached.
    public var time: Instant
    /// How the last visit ended, in the words of whoever keeps the anchor.
    public var outcome: String

    /// A place in a peer's feed of one type and scope.
    public init(peer: String, type: SampleType, scope: String = "", token: [UInt8], time: Instant, outcome: String = "")
    {
        self.peer = peer
        self.type = type
        self.scope = scope
        self.token = token
        self.time = time
        self.outcome = outcome
    }
}

/// What a peer calls a sample where that differs from its id, and the version it has acknowledged.
public struct PeerLink: Sendable, Hashable {
    /// The peer that the link is for.
    public let peer: String
    /// The sample's id in this store.
    public let sample: SampleID
    /// The id under which the peer holds it.
    public var peerID: SampleID
    /// The version that the peer has acknowledged.
    public var version: Int64
    /// A UUID from a push is provisional until it was pulled back.
    public var isProvisional: Bool

    /// A link from a sample to what a peer calls it.
    public init(peer: String, sample: SampleID, peerID: SampleID, version: Int64, isProvisional: Bool = false) {
        self.peer = peer
        self.sample = sample
        self.peerID = peerID
        self.version = version
        self.isProvisional = isProvisional
    }
}

/// An operation that waits for a peer.
public struct PendingOperation: Sendable, Hashable, Identifiable {
    /// What the peer is to do.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// Store the sample as it stands then.
        case save = 1
        /// Delete what it holds of the sample.
        case delete = 2
    }

    /// Whether and when the operation is tried again.
    public enum State: UInt8, Sendable, Hashable, CaseIterable {
        /// To be tried at its next time.
        case waiting = 1
        /// Slow retries after three quick ones.
        case parked = 2
        /// Permanently refused: visible, and can be requeued.
        case quarantined = 3
    }

    /// Place in the peer's queue, given by the store.
    public internal(set) var sequence: UInt64 = 0
    /// The peer that it waits for.
    public let peer: String
    /// What the peer is to do.
    public let kind: Kind
    /// The sample that it is about.
    public let sample: SampleID
    /// The version of the sample that is to be sent.
    public var version: Int64
    /// How often it was tried.
    public var attempts: Int
    /// Not to be tried before this.
    public var nextTry: Instant
    /// Whether it waits, retries slowly or was refused for good.
    public var state: State
    /// Why the last attempt failed; it must not hold a health value.
    public var reason: String
    /// Whether the peer may have got the operation, or an earlier one that it stands for, without our knowing.
    public var isSent = false
    /// The type whose access it waits for while it is parked, or did until that was granted; `nil` when it never lacked access.
    public var accessType: SampleType?

    /// Names the operation among those of all peers, for ever.
    public var id: String { "\(peer)#\(sequence)" }

    /// An operation that is not in a queue yet: ``WriteTransaction/enqueue(_:)`` gives it its place.
    public init(
        peer: String, kind: Kind, sample: SampleID, version: Int64, attempts: Int = 0, nextTry: Instant = .distantPast,
        state: State = .waiting, reason: String = ""
    ) {
        self.peer = peer
        self.kind = kind
        self.sample = sample
        self.version = version
        self.attempts = attempts
        self.nextTry = nextTry
        self.state = state
        self.reason = reason
    }
}

/// A conflict that was resolved, with what it displaced, so that it can be restored. Upkeep forgets those that are older than
/// tombstones have to be, and the oldest of more than ten thousand.
public struct AuditEntry: Sendable, Hashable {
    /// The commit that resolved the conflict.
    public let commit: UInt64
    /// The place in that commit.
    public let ordinal: UInt32
    /// When it was resolved.
    public let time: Instant
    /// What happened, as a stable name.
    public let event: String
    /// The sample that the conflict was about.
    public let sample: SampleID
    /// The displaced sample in the form that the writer chose.
    public let displaced: [UInt8]
}
