import HealthKV

/// One operation for a peer to carry out.
public struct PushOperation: Sendable, Hashable, Codable {
    /// What to do.
    public enum Kind: Sendable, Hashable, Codable {
        /// Store this sample in place of any earlier version of it. Its version is the one to send, which may be above
        /// the store's own; its sync identifier is always set.
        case save(Sample)
        /// Delete all versions of this sample.
        case delete(DeletedSample)
    }

    /// Identifies the operation in this push.
    public var sequence: UInt64
    /// What to do.
    public var kind: Kind
    /// The peer's id for the sample, if it is known. It is a hint: resolve by sync identifier first (SEMANTICS C6).
    public var idAtPeer: SampleID?
    /// Whether the peer's sample under ``idAtPeer`` has no sync identifier, so that the peer cannot replace it by
    /// itself. The peer must delete it once the new sample is saved.
    public var replacesUnnamed: Bool
    /// All live samples of the same group and source, including this one, whether or not they are in this push. A peer
    /// that can do so saves the members of a meal as one. Empty for a sample without a group, and for a deletion.
    public var group: [Sample]
    /// The place in the sender's feed that the operation brings the peer to. A record peer stores the last place in the
    /// same transaction as the operations, and returns it from ``RecordPeer/meet(told:)``. `nil` for a database.
    public var place: ChangeToken?
    /// The last place that the peer had taken before, as the sender knows. A record peer that remembers an earlier one
    /// of this sender was put back to an older state since they met: it takes nothing and answers `failed`, because
    /// storing ``place`` would hide that it lacks what came before. `nil` if it has taken nothing.
    public var told: ChangeToken?

    /// Creates an operation.
    public init(
        sequence: UInt64, kind: Kind, idAtPeer: SampleID? = nil, replacesUnnamed: Bool = false, group: [Sample] = [],
        place: ChangeToken? = nil, told: ChangeToken? = nil
    ) {
        self.sequence = sequence
        self.kind = kind
        self.idAtPeer = idAtPeer
        self.replacesUnnamed = replacesUnnamed
        self.group = group
        self.place = place
        self.told = told
    }

    /// The type of the sample.
    public var type: SampleType { kind.type }

    /// The version that is sent or deleted.
    public var version: Int64 {
        switch kind {
        case .save(let sample): sample.version
        case .delete(let deleted): deleted.version
        }
    }
}

extension PushOperation {
    /// The id of the operation's sample.
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

/// The result of an operation.
public enum PushOutcome: Sendable, Hashable, Codable {
    /// The operation is done, now or before. A peer that assigns ids returns the sample's new id; the engine treats it
    /// as provisional until the sample was pulled back.
    case done(idAtPeer: SampleID? = nil)
    /// The peer holds a greater version and keeps it; the next pull brings it.
    case superseded
    /// The operation was refused permanently, whatever is tried. The reason must not contain a health value.
    case refused(reason: String)
    /// Nothing was tried, because of a state that ends by itself or through the user. It does not count as an attempt.
    case parked(ParkReason)
    /// The operation did not happen, and may succeed later.
    case failed(reason: String)
    /// The operation may have happened or not: a crash or a time-out.
    case unknown(reason: String)
    /// Nothing was tried: the peer is busy and says when to retry. It does not count as an attempt.
    case busy(retryAfter: Duration)
}

extension PushOutcome {
    /// Whether the peer is finished with the operation.
    var isTaken: Bool {
        switch self {
        case .done, .superseded: true
        case .refused, .parked, .failed, .unknown, .busy: false
        }
    }

    /// Whether the operation may be incomplete because the push held too many.
    var mayBeTooMuch: Bool {
        switch self {
        case .failed, .unknown: true
        case .done, .superseded, .refused, .parked, .busy: false
        }
    }

    var isRefused: Bool { if case .refused = self { true } else { false } }

    /// The reason in the peer's own words; `nil` if the outcome has none.
    var reason: String? {
        switch self {
        case .refused(let reason), .failed(let reason), .unknown(let reason): reason
        case .done, .superseded, .parked, .busy: nil
        }
    }

    /// Why an operation may be incomplete; `nil` if it is complete.
    var errorToTryAgain: PeerError? {
        switch self {
        case .done, .superseded, .refused: nil
        case .parked(let reason): PeerError(.transient, reason.rawValue)
        case .failed(let reason), .unknown(let reason): PeerError(.transient, reason)
        case .busy(let time): PeerError(.transient, PushOutcome.busyReason, retryAfter: time)
        }
    }

    /// The reason that is reported for an operation that waits because the peer is busy.
    static let busyReason = "the peer is busy"
}

/// Why an operation waits without being tried.
public enum ParkReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user was not asked, or denied access.
    case unauthorized
    /// The device is locked.
    case locked
    /// The peer does not exist here, or is restricted.
    case unavailable
}
