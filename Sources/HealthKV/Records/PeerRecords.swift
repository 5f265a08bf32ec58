import ColumnFormat
import HealthModel

/// A peer with which the store exchanges samples, and how far it has followed the changes of this store.
public struct RegisteredPeer: Sendable, Hashable, Identifiable {
    /// Names the peer in every table of sync.
    public let id: PeerID
    /// The time of registration.
    public var registered: Instant
    /// The time at which the peer last acknowledged something.
    public var lastSeen: Instant
    /// How far the peer itself has read this store's feed of changes; `nil` if it does not read it, or begins at
    /// the beginning.
    package var read: FeedMark?
    /// How far this store's own engine has sent its feed, or its queue, to the peer. Where both stores sync with each
    /// other, each by its own plan, one mark may have passed changes that the other has not.
    package var sent: FeedMark?
    /// Which changes go into the peer's queue; `nil` for a peer that follows the change feed instead.
    public var queue: QueueRule?
    /// Whether the peer was silent for so long that tombstones are no longer kept for it (SEMANTICS C27).
    public var isRetired = false

    /// Creates a peer that has acknowledged nothing, or the given token.
    public init(
        id: PeerID, registered: Instant, lastSeen: Instant, acknowledged: ChangeToken? = nil, queue: QueueRule? = nil
    ) {
        self.id = id
        self.registered = registered
        self.lastSeen = lastSeen
        self.queue = queue
        self.acknowledged = acknowledged
    }

    /// The place up to which the peer has acknowledged changes, whether it read them or was sent them; later tombstones
    /// are kept for it. After `nil` was set, all changes are new to it.
    public var acknowledged: ChangeToken? {
        get { usedMarks.map(\.place).min { ($0.epoch, $0) < ($1.epoch, $1) } }
        set { (read, sent) = (newValue.map { FeedMark(place: $0, time: lastSeen) }, nil) }
    }

    /// How far the peer reads the feed by itself; `nil` if it does not, or has not for a long time.
    package var readInUse: ChangeToken? { read.flatMap { usedMarks.contains($0) ? $0.place : nil } }

    /// The places of both marks, where they are known.
    package var marks: [FeedMark] { [read, sent].compactMap { $0 } }

    /// The place behind which the peer knows no change. It may lack changes before it as well.
    package var furthest: ChangeToken? { marks.map(\.place).max { ($0.epoch, $0) < ($1.epoch, $1) } }

    /// The marks without one that has stood still for so long that it no longer holds anything back, while the other
    /// one moved (SEMANTICS C27). Who continues there compares both stores.
    private var usedMarks: [FeedMark] {
        guard let last = marks.map(\.time).max() else { return [] }
        return marks.filter { $0.time > last - RegisteredPeer.longestStandstill }
    }

    /// Notes that the peer has reached a place now. A clock that is behind the peer's registration is wrong, and a mark
    /// ahead of a right clock was made by a wrong one: neither may let a mark look as if it had stood still.
    package mutating func move(
        _ mark: WritableKeyPath<RegisteredPeer, FeedMark?>, to place: ChangeToken, at now: Instant
    ) {
        guard now >= registered else {
            self[keyPath: mark] = FeedMark(place: place, time: self[keyPath: mark]?.time ?? registered)
            return
        }
        self[keyPath: mark] = FeedMark(place: place, time: now)
        for side in [\RegisteredPeer.read, \.sent] where (self[keyPath: side]?.time ?? now) > now {
            self[keyPath: side]?.time = now
        }
    }

    private static let longestStandstill: Int64 = 180 * 86_400 * 1_000_000_000
}

/// A place in this store's feed of changes that a peer has reached, and when it did.
package struct FeedMark: Sendable, Hashable {
    package var place: ChangeToken
    package var time: Instant

    package init(place: ChangeToken, time: Instant) { (self.place, self.time) = (place, time) }
}

/// The store's place in a peer's feed, stored in the same transaction as the data up to that place.
package struct Anchor: Sendable, Hashable {
    /// The peer to which the feed belongs.
    package let peer: PeerID
    /// The type that the feed covers.
    package let type: SampleType
    /// The predicate or window of the feed; empty for all samples of the type.
    package let scope: String
    /// The peer's own opaque token.
    package var token: [UInt8]
    /// The time at which the place was reached.
    package var time: Instant
    /// The result of the last pull, in the words of the caller.
    package var outcome: String

    /// Creates a place in a peer's feed of one type and scope.
    package init(
        peer: PeerID, type: SampleType, scope: String = "", token: [UInt8], time: Instant, outcome: String = ""
    ) {
        self.peer = peer
        self.type = type
        self.scope = scope
        self.token = token
        self.time = time
        self.outcome = outcome
    }
}

/// The id under which a peer holds a sample, if it differs from the sample's id, and the version that the peer has
/// acknowledged.
public struct PeerLink: Sendable, Hashable {
    /// The peer of the link.
    public let peer: PeerID
    /// The sample's id in this store.
    public let sample: SampleID
    /// The id under which the peer holds the sample.
    public var idAtPeer: SampleID
    /// The version or number that the peer showed or was sent last. Zero and negative numbers have meanings of their
    /// own, which `docs/SYNC.md` lists.
    public var version: Int64
    /// A UUID from a push is provisional until it was pulled back.
    public var isProvisional: Bool

    /// Creates a link from a sample to its id at a peer.
    public init(peer: PeerID, sample: SampleID, idAtPeer: SampleID, version: Int64, isProvisional: Bool = false) {
        self.peer = peer
        self.sample = sample
        self.idAtPeer = idAtPeer
        self.version = version
        self.isProvisional = isProvisional
    }

    /// Whether the peer held the sample when the link was made. A negative version says why it did not.
    package var isHeldThere: Bool { version >= 0 }
}

/// An operation that waits for a peer.
public struct PendingOperation: Sendable, Hashable, Identifiable {
    /// What the peer should do.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// Store the sample as it is when the operation is sent.
        case save = 1
        /// Delete the sample.
        case delete = 2
    }

    /// Whether and when the operation is tried again.
    public enum State: UInt8, Sendable, Hashable, CaseIterable {
        /// To be tried at its next time.
        case waiting = 1
        /// To be tried slowly after some quick attempts, or once access is given or the device is unlocked.
        case parked = 2
        /// Permanently refused: visible, and can be requeued.
        case quarantined = 3
    }

    /// The place in the peer's queue, assigned by the store.
    public internal(set) var sequence: UInt64 = 0
    /// The peer for which the operation waits.
    public let peer: PeerID
    /// What the peer should do.
    public let kind: Kind
    /// The sample of the operation.
    public let sample: SampleID
    /// The version of the sample to send.
    public var version: Int64
    /// The number of attempts so far.
    public var attempts: Int
    /// The operation is not tried before this time.
    public var nextTry: Instant
    /// Whether the operation waits, is retried slowly or was permanently refused.
    public var state: State
    /// Why the last attempt failed. It must not contain a health value.
    public var reason: String
    /// Whether the peer may have received the operation, or an earlier one that it replaces, without the store knowing.
    public var isSent = false
    /// Whether another peer brought the change, or an earlier one that it replaces. The peer may have it from there.
    package var isReceived = false
    /// The type whose access the operation waits for while it is parked, or waited for until access was granted; `nil`
    /// if it never lacked access.
    public var accessType: SampleType?

    /// Identifies the operation among those of all peers, permanently.
    public var id: String { "\(peer)#\(sequence)" }

    /// Creates an operation that is not queued yet: `WriteTransaction.enqueue(_:of:)` assigns its place.
    public init(
        peer: PeerID, kind: Kind, sample: SampleID, version: Int64, attempts: Int = 0, nextTry: Instant = .distantPast,
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

/// A resolved conflict with the data that it displaced, so that it can be restored. Upkeep removes entries older than
/// the age to which tombstones are kept, and the oldest if there are more than ten thousand.
public struct AuditEntry: Sendable, Hashable {
    /// The commit that resolved the conflict.
    public let commit: UInt64
    /// The place in that commit.
    public let ordinal: UInt32
    /// The time at which the conflict was resolved.
    public let time: Instant
    /// The event, as a stable name.
    public let event: String
    /// The sample of the conflict.
    public let sample: SampleID
    /// The displaced sample, in a form that the writer chooses.
    public let displaced: [UInt8]
}
