import ColumnFormat
import HealthModel

/// A peer that the store exchanges samples with, and how far it has followed our changes.
public struct Peer: Sendable, Hashable {
    public let name: String
    public var registered: Instant
    public var lastSeen: Instant
    /// Up to here it has acknowledged our changes; tombstones behind it are kept for it.
    public var acknowledged: ChangeToken?

    public init(name: String, registered: Instant, lastSeen: Instant, acknowledged: ChangeToken? = nil) {
        self.name = name
        self.registered = registered
        self.lastSeen = lastSeen
        self.acknowledged = acknowledged
    }
}

/// Our place in a peer's feed, stored in the transaction that stores what the place stands for.
public struct Anchor: Sendable, Hashable {
    public let peer: String
    public let type: SampleType
    /// The predicate or window it belongs to; empty for all samples of the type.
    public let scope: String
    /// The peer's own opaque token.
    public var token: [UInt8]
    public var time: Instant
    public var outcome: String

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
    public let peer: String
    public let sample: SampleID
    public var peerID: SampleID
    public var version: Int64
    /// A UUID from a push is provisional until it was pulled back.
    public var isProvisional: Bool

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
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        case save = 1
        case delete = 2
    }

    public enum State: UInt8, Sendable, Hashable, CaseIterable {
        case waiting = 1
        /// Slow retries after three quick ones.
        case parked = 2
        /// Permanently refused: visible, and can be requeued.
        case quarantined = 3
    }

    /// Place in the peer's queue, given by the store.
    public internal(set) var sequence: UInt64 = 0
    public let peer: String
    public let kind: Kind
    public let sample: SampleID
    public var version: Int64
    public var attempts: Int
    public var nextTry: Instant
    public var state: State
    public var reason: String

    public var id: String { "\(peer)#\(sequence)" }

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

/// A conflict that was resolved, with what it displaced, so that it can be restored.
public struct AuditEntry: Sendable, Hashable {
    public let commit: UInt64
    public let ordinal: UInt32
    public let time: Instant
    /// What happened, as a stable name.
    public let event: String
    public let sample: SampleID
    /// The displaced sample in the form that the writer chose.
    public let displaced: [UInt8]
}
