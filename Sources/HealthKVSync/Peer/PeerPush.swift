import HealthKV

/// One thing that a peer is to do.
public struct PushOperation: Sendable, Hashable, Codable {
    /// What to do.
    public enum Kind: Sendable, Hashable, Codable {
        /// Hold this sample in place of any earlier version of it. Its version is the one to send, which may be above the
        /// store's own; its sync identifier is always set.
        case save(Sample)
        /// Hold no version of this sample any more.
        case delete(DeletedSample)
    }

    /// Names the operation in this push.
    public var sequence: UInt64
    /// What to do.
    public var kind: Kind
    /// What the peer calls the sample, where that is known: a hint. Resolve by sync identifier first (SEMANTICS C6).
    public var peerID: SampleID?
    /// Whether what the peer holds under ``peerID`` has no sync identifier, so that the peer cannot put the sample in its place by itself: it
    /// is to be deleted once the sample is saved.
    public var replacesUnnamed: Bool
    /// The live samples of its group and source, itself among them, whether or not they are in this push: the members of a meal are saved as
    /// one where the peer can do that. Empty for a sample without a group, and for a deletion.
    public var group: [Sample]
    /// The place in the sender's feed that the operation brings the peer to. A peer that keeps records keeps the last one with what it was
    /// given, in one transaction, and gives it back in ``Peer/meet(told:)``. `nil` for a peer with a queue.
    public var place: ChangeToken?

    /// An operation.
    public init(
        sequence: UInt64, kind: Kind, peerID: SampleID? = nil, replacesUnnamed: Bool = false, group: [Sample] = [],
        place: ChangeToken? = nil
    ) {
        self.sequence = sequence
        self.kind = kind
        self.peerID = peerID
        self.replacesUnnamed = replacesUnnamed
        self.group = group
        self.place = place
    }

    /// The type of the sample.
    public var type: SampleType { kind.type }

    /// The version that is sent, or deleted.
    public var version: Int64 {
        switch kind {
        case .save(let sample): sample.version
        case .delete(let deleted): deleted.version
        }
    }
}

extension PushOperation {
    /// The sample that it is about.
    var sample: SampleID {
        switch kind {
        case .save(let sample): sample.id
        case .delete(let deleted): deleted.id
        }
    }
}

extension PushOperation.Kind {
    var type: SampleType {
        switch self {
        case .save(let sample): sample.type
        case .delete(let deleted): deleted.type
        }
    }
}

/// How an operation ended.
public enum PushOutcome: Sendable, Hashable, Codable {
    /// Done, or done before. A peer that mints ids says what it calls the sample now; the engine takes that as provisional until it
    /// was pulled back.
    case done(peerID: SampleID? = nil)
    /// The peer holds a greater version, and keeps it; the next pull brings it.
    case superseded
    /// Refused for good, whatever is tried. The reason must not hold a health value.
    case refused(reason: String)
    /// Nothing was tried, because of a state that ends by itself or by the user. It counts as no attempt.
    case parked(ParkReason)
    /// It did not happen, and may work later.
    case failed(reason: String)
    /// It may have happened or not: a crash, a time-out.
    case unknown(reason: String)
    /// Nothing was tried: the peer is busy, and says when to come again. It counts as no attempt.
    case busy(retryAfter: Duration)
}

extension PushOutcome {
    /// Whether the peer has the operation behind it.
    var isTaken: Bool {
        switch self {
        case .done, .superseded: true
        case .refused, .parked, .failed, .unknown, .busy: false
        }
    }

    /// Why an operation may not have come to its end; `nil` when it has.
    var errorToTryAgain: PeerError? {
        switch self {
        case .done, .superseded, .refused: nil
        case .parked(let reason): PeerError(.transient, reason.rawValue)
        case .failed(let reason), .unknown(let reason): PeerError(.transient, reason)
        case .busy(let time): PeerError(.transient, PushOutcome.busyReason, retryAfter: time)
        }
    }

    /// What is told of an operation that waits since the peer is busy.
    static let busyReason = "the peer is busy"
}

/// Why an operation waits without being tried.
public enum ParkReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user was not asked, or said no.
    case unauthorized
    /// The device is locked.
    case locked
    /// The peer does not exist here, or is restricted.
    case unavailable
}
