import HealthKV

/// A problem that keeps a sync from continuing, what to do about it, and what to tell the user. It never carries a
/// health value.
///
/// ```swift
/// if let issue = try sync.status().peers["health"]?.issue, issue.recovery == .openSettings {
///     showSettingsLink(issue.message)
/// }
/// ```
public struct SyncIssue: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// What happened. Raw values are stable.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// The user denied access.
        case accessDenied
        /// The user was not asked yet.
        case accessNotDetermined
        /// Readable samples vanished twice: reading was probably revoked (SEMANTICS C11).
        case accessRevoked
        /// The data cannot be read while the device is locked.
        case locked
        /// The peer does not exist here.
        case unavailable
        /// A time-out, a network failure, or a busy database.
        case delayed
        /// A peer's feed went backwards, and it cannot be read from its beginning either.
        case peerWentBackwards
        /// The peer's answer breaks the protocol, and was ignored.
        case badAnswer
        /// Another device syncs with the peer under the same name, which hides the changes of each device from the
        /// other.
        case nameTaken
        /// Another engine, here or in another process, syncs this store with this peer.
        case busyElsewhere
        /// The request was wrong.
        case invalid
    }

    /// What the app can do about it.
    public enum Recovery: String, Sendable, Hashable, Codable, CaseIterable {
        /// Offer a link to the system's settings.
        case openSettings
        /// Ask for access again.
        case requestAccess
        /// Nothing: the engine retries when the app comes to the foreground.
        case retryOnForeground
        /// Do not offer this sync on this device.
        case hideOption
        /// Nothing: the engine retries by itself.
        case wait
        /// Register the peer again.
        case registerAgain
        /// A mistake of the app.
        case reportBug
    }

    /// The kind of call to a peer that failed.
    public enum Call: String, Sendable, Hashable, Codable {
        /// The peer was asked to show its samples.
        case read
        /// The peer was asked to save or to delete.
        case write
    }

    /// What happened.
    public let code: Code
    /// What to tell the user, in English.
    public let message: String
    /// The exact problem, for developers.
    public let detail: String

    /// Creates an issue with its usual message, or with the plan's message.
    public init(_ code: Code, _ detail: String, plan: SyncPlan? = nil) {
        self.code = code
        self.detail = detail
        message = plan?.messages[code] ?? SyncIssue.usualMessage(code)
    }

    /// Creates the issue of a failed call, with the plan's message for such calls, or the message of the code.
    init(_ code: Code, _ detail: String, plan: SyncPlan, in call: Call) {
        let text = SyncIssue.ofFailures.contains(code) ? plan.failureMessages[call].map { "\($0): \(detail)" } : nil
        self.code = code
        self.detail = detail
        message = text ?? SyncIssue(code, detail, plan: plan).message
    }

    /// Codes that say only that a call failed.
    private static let ofFailures: Set<Code> = [.delayed, .badAnswer, .invalid]

    /// What the app can do about it.
    public var recovery: Recovery {
        switch code {
        case .accessDenied, .accessRevoked: .openSettings
        case .accessNotDetermined: .requestAccess
        case .locked: .retryOnForeground
        case .unavailable: .hideOption
        case .delayed, .badAnswer, .busyElsewhere: .wait
        case .peerWentBackwards: .registerAgain
        case .invalid, .nameTaken: .reportBug
        }
    }

    public var description: String { "\(code.rawValue): \(detail)" }

    private static func usualMessage(_ code: Code) -> String {
        switch code {
        case .accessDenied: "Health access not granted"
        case .accessNotDetermined: "Please grant Health access"
        case .accessRevoked: "Health access was disabled"
        case .locked: "Health data unavailable"
        case .unavailable: "Health data is not available on this device"
        case .delayed, .badAnswer, .busyElsewhere: "Sync delayed"
        case .peerWentBackwards: "The other device was restored from an older copy"
        case .nameTaken: "Another device syncs under the same name"
        case .invalid: "Sync failed"
        }
    }

    /// Converts any error of a sync into an issue. For an error that neither a peer nor the engine made, the issue
    /// names only its type.
    init(of error: any Error, plan: SyncPlan) {
        switch error {
        case let issue as SyncIssue: self = issue
        case let error as PeerError: self.init(error, plan: plan)
        case let error as StoreError:
            self.init(error.code.mayPass ? .delayed : .invalid, "the store: \(error.code.rawValue)", plan: plan)
        default: self.init(.invalid, "\(type(of: error))", plan: plan)
        }
    }

    init(_ error: PeerError, plan: SyncPlan) { self.init(Code(error.code), error.detail, plan: plan) }
}

extension SyncIssue.Code {
    init(_ code: PeerError.Code) {
        self =
            switch code {
            case .notDetermined: .accessNotDetermined
            case .unauthorized: .accessDenied
            case .locked: .locked
            case .unavailable, .restricted: .unavailable
            case .wentBackwards: .peerWentBackwards
            case .invalid: .invalid
            case .tokenExpired, .readerWentBackwards, .transient: .delayed
            case .badAnswer: .badAnswer
            case .nameTaken: .nameTaken
            }
    }
}

extension StoreError.Code {
    /// Whether a retry may succeed.
    fileprivate var mayPass: Bool {
        let passing: Set<StoreError.Code> = [
            .busy, .cancelled, .full, .growthBlocked, .outcomeUnknown, .readerExpired, .storage, .suspended,
        ]
        return passing.contains(self)
    }
}
