import HealthKV

/// Whether a peer can be used now.
public enum PeerAvailability: String, Sendable, Hashable, Codable {
    /// The peer responds.
    case available
    /// The peer does not exist here, and will not: an iPad without Health, or a server that was shut down.
    case unavailable
    /// Access to the peer is forbidden, for example by a device profile.
    case restricted
    /// The peer cannot be read now; saving may work (SEMANTICS A16). The state ends by itself.
    case locked
}

/// The access that the user is asked for.
public struct AuthorizationRequest: Sendable, Hashable, Codable {
    /// Types to read.
    public var read: Set<SampleType>
    /// Types to write.
    public var write: Set<SampleType>

    /// Creates a request for some types.
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
        /// The user denied it.
        case denied
        /// The user granted it.
        case granted
    }

    /// Whether reading is allowed, as far as the peer tells.
    public enum Reading: String, Sendable, Hashable, Codable {
        /// The peer does not tell, as HealthKit never does.
        case unknown
        /// The peer says that reading is denied.
        case denied
        /// The peer says that reading is granted.
        case granted
    }

    /// Whether a request would ask the user a question.
    public enum Advice: String, Sendable, Hashable, Codable {
        /// This is not known.
        case unknown
        /// A request would ask the user.
        case shouldRequest
        /// The user has already answered.
        case unnecessary
    }

    /// Whether writing is allowed.
    public var writing: Writing
    /// Whether reading is allowed.
    public var reading: Reading
    /// Whether a request would ask the user a question.
    public var advice: Advice
    /// Samples before this time can be neither read nor written; `nil` if there is no such bound.
    public var earliest: Instant?

    /// Creates an authorization; nothing is known by default.
    public init(
        writing: Writing = .notDetermined, reading: Reading = .unknown, advice: Advice = .unknown,
        earliest: Instant? = nil
    ) {
        self.writing = writing
        self.reading = reading
        self.advice = advice
        self.earliest = earliest
    }

    /// The authorization of a peer that needs none.
    public static let open = TypeAuthorization(writing: .granted, reading: .granted, advice: .unnecessary)
}

/// What is known of the read access to one type, for a peer that does not tell (SEMANTICS C36).
public enum ReadAccess: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user was never asked.
    case notDetermined
    /// The user was asked, and no foreign sample was ever seen: there is no data, or reading is not allowed.
    case noDataOrDenied
    /// Foreign samples were seen.
    case readable
    /// Foreign samples were seen, and then two comparisons in a row saw none: reading was probably revoked.
    case suspectedRevoked
}

/// The state that an app shows beside its switch: the access to a peer, as far as it can be known.
public enum AccessState: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user was not asked yet.
    case notDetermined
    /// Some type may be read or written, as far as is known.
    case authorized
    /// Nothing may be written and nothing was readable for a day, or reading was probably revoked.
    case denied
    /// The peer does not exist here, or access to it is forbidden.
    case notAvailable
}

/// Why a peer could not answer. It never carries a health value.
public struct PeerError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// What happened, so that the engine can decide. Raw values are stable.
    public enum Code: String, Sendable, Hashable, Codable {
        /// The user was not asked for access yet.
        case notDetermined
        /// The user does not allow the access.
        case unauthorized
        /// The data cannot be read while the device is locked.
        case locked
        /// The peer does not exist here.
        case unavailable
        /// Access to the peer is forbidden.
        case restricted
        /// The token belongs to another peer, or is older than the peer remembers: begin without one.
        case tokenExpired
        /// The peer's feed went backwards: the peer was restored from an older copy, or is a clone. The engine's notes
        /// about its contents no longer count: its feed is read from the beginning, and it is given everything that it
        /// lacks (SEMANTICS C28).
        case wentBackwards
        /// The reading store has acknowledged more than its token covers: it was restored from an older copy. It
        /// continues as another replica and reads from the beginning (SEMANTICS C28).
        case readerWentBackwards
        /// The request is impossible: an inverted window, or a type that the peer does not know.
        case invalid
        /// The call may succeed later: a time-out, a network failure, or a busy database.
        case transient
        /// The answer breaks the protocol. The engine ignores it as a whole.
        case badAnswer
        /// The name in the greeting belongs to another store: each device needs a name of its own.
        case nameTaken
    }

    /// What happened.
    public let code: Code
    /// The exact problem in readable form, without any health value.
    public let detail: String
    /// How long to wait before the next attempt, if the peer knows; `nil` leaves it to the engine.
    public let retryAfter: Duration?

    /// Creates an error. `detail` must not contain a health value.
    public init(_ code: Code, _ detail: String, retryAfter: Duration? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }

    public var description: String { "\(code.rawValue): \(detail)" }
}

/// A peer's signal that some types may have changed. The receiver calls ``complete()`` once the resulting work is
/// committed (SEMANTICS A15). A peer that waits for that call guards itself with a deadline.
public struct WakeUp: Sendable {
    /// The types that may have changed.
    public let types: Set<SampleType>
    private let completion: @Sendable () -> Void

    /// Creates a wake-up. `completion` may be called more than once, and from any thread.
    public init(_ types: Set<SampleType>, completion: @escaping @Sendable () -> Void = {}) {
        self.types = types
        self.completion = completion
    }

    /// Tells the peer that the work is committed.
    public func complete() { completion() }
}
