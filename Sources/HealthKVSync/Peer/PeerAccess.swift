import HealthKV

/// Whether a peer can be used now.
public enum PeerAvailability: String, Sendable, Hashable, Codable {
    /// It answers.
    case available
    /// It does not exist here, and will not: an iPad without Health, a server that was shut down.
    case unavailable
    /// Somebody forbids it, as a profile of the device may.
    case restricted
    /// It cannot be read now; saving may work (SEMANTICS A16). It ends by itself.
    case locked
}

/// Access that the user is asked for.
public struct AuthorizationRequest: Sendable, Hashable, Codable {
    /// Types to read.
    public var read: Set<SampleType>
    /// Types to write.
    public var write: Set<SampleType>

    /// A request for some types.
    public init(read: Set<SampleType> = [], write: Set<SampleType> = []) {
        self.read = read
        self.write = write
    }
}

/// What is known of the access to one type.
public struct TypeAuthorization: Sendable, Hashable, Codable {
    /// Whether writing is allowed.
    public enum Writing: String, Sendable, Hashable, Codable {
        /// The user was not asked yet.
        case notDetermined
        /// The user said no.
        case denied
        /// The user said yes.
        case granted
    }

    /// Whether reading is allowed, as far as the peer says.
    public enum Reading: String, Sendable, Hashable, Codable {
        /// The peer does not tell, as HealthKit never does.
        case unknown
        /// It said no.
        case denied
        /// It said yes.
        case granted
    }

    /// Whether a request would ask the user anything.
    public enum Advice: String, Sendable, Hashable, Codable {
        /// It cannot be told.
        case unknown
        /// It would.
        case shouldRequest
        /// The user has answered already.
        case unnecessary
    }

    /// Whether writing is allowed.
    public var writing: Writing
    /// Whether reading is allowed.
    public var reading: Reading
    /// Whether a request would ask the user anything.
    public var advice: Advice
    /// Samples before this can be neither read nor written; `nil` for no such bound.
    public var earliest: Instant?

    /// What is known; nothing unless it is given.
    public init(
        writing: Writing = .notDetermined, reading: Reading = .unknown, advice: Advice = .unknown,
        earliest: Instant? = nil
    ) {
        self.writing = writing
        self.reading = reading
        self.advice = advice
        self.earliest = earliest
    }

    /// Of a peer that needs no authorization.
    public static let open = TypeAuthorization(writing: .granted, reading: .granted, advice: .unnecessary)
}

/// What is known of the access to read one type, where the peer does not say (SEMANTICS C36).
public enum ReadAccess: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user was never asked.
    case notDetermined
    /// The user was asked, and nothing of others was ever seen: there is nothing, or it may not be read.
    case noDataOrDenied
    /// Samples of others were seen.
    case readable
    /// Samples of others were seen, and then none of them twice: reading was probably revoked.
    case suspectedRevoked
}

/// What an app shows beside its switch: how it stands with the access to a peer, as far as that can be known.
public enum AccessState: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user was not asked yet.
    case notDetermined
    /// Something may be read or written, as far as is known.
    case authorized
    /// Nothing may be written and nothing was readable for a day, or reading was probably revoked.
    case denied
    /// The peer does not exist here, or somebody forbids it.
    case notAvailable
}

/// Why a peer could not answer. It never carries a health value.
public struct PeerError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// What happened, for the engine to decide by. Raw values are stable.
    public enum Code: String, Sendable, Hashable, Codable {
        /// The user was not asked for access yet.
        case notDetermined
        /// The user does not allow it.
        case unauthorized
        /// The data cannot be read while the device is locked.
        case locked
        /// The peer does not exist here.
        case unavailable
        /// Somebody forbids the peer.
        case restricted
        /// The token is not of this peer, or older than what it still knows: begin without one.
        case tokenExpired
        /// The peer's feed went backwards: it was restored from an older copy, or is a clone. What it was known to hold counts no more: it is
        /// read from its beginning, and given all that it lacks (SEMANTICS C28).
        case wentBackwards
        /// The store that reads has acknowledged more than its token says: it was restored from an older copy. It goes on as another replica,
        /// and reads from the beginning (SEMANTICS C28).
        case readerWentBackwards
        /// The request asks for what cannot be: an inverted window, a type that the peer does not know.
        case invalid
        /// It may work later: a time-out, a network, a busy database.
        case transient
        /// The answer breaks the protocol. The engine ignores it whole.
        case badAnswer
        /// The name under which the store greets is another one's: each device needs a name of its own.
        case nameTaken
    }

    /// What happened.
    public let code: Code
    /// What exactly, for people to read, without any health value.
    public let detail: String
    /// How long to wait before the next attempt, where the peer knows; `nil` leaves it to the engine.
    public let retryAfter: Duration?

    /// An error; `detail` must not hold a health value.
    public init(_ code: Code, _ detail: String, retryAfter: Duration? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }

    public var description: String { "\(code.rawValue): \(detail)" }
}

/// A peer's call that something may have changed. Whoever receives it calls ``complete()`` once what it caused is committed
/// (SEMANTICS A15); a peer that waits for it guards itself with a deadline.
public struct WakeUp: Sendable {
    /// The types that may have changed.
    public let types: Set<SampleType>
    private let completion: @Sendable () -> Void

    /// A wake-up; `completion` may be called more than once, and from anywhere.
    public init(_ types: Set<SampleType>, completion: @escaping @Sendable () -> Void = {}) {
        self.types = types
        self.completion = completion
    }

    /// Tells the peer that the work is committed.
    public func complete() { completion() }
}
