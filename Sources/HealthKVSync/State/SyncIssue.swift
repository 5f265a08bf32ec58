import HealthKV

/// Something that keeps a sync from going on, with what to do about it and what to tell the user. It never carries a health value.
///
/// ```swift
/// if let issue = try sync.status().peers["health"]?.issue, issue.recovery == .openSettings { showSettingsLink(issue.message) }
/// ```
public struct SyncIssue: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// What happened. Raw values are stable.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// The user said no.
        case accessDenied
        /// The user was not asked yet.
        case accessNotDetermined
        /// Samples that were readable vanished twice: reading was probably revoked (SEMANTICS C11).
        case accessRevoked
        /// The data cannot be read while the device is locked.
        case locked
        /// The peer does not exist here.
        case unavailable
        /// A time-out, a network, a busy database.
        case delayed
        /// A peer's feed went backwards, and it cannot be read from its beginning either.
        case peerWentBackwards
        /// The peer gave an answer that breaks the protocol, and that was ignored.
        case badAnswer
        /// Another device syncs with the peer under the same name, which hides from each what the other has.
        case nameTaken
        /// Another engine, here or in another process, syncs this store with this peer.
        case busyElsewhere
        /// The request was wrong.
        case invalid
    }

    /// What the app can do about it.
    public enum Recovery: String, Sendable, Hashable, Codable, CaseIterable {
        /// Offer the system's settings.
        case openSettings
        /// Ask for access again.
        case requestAccess
        /// Nothing: it is tried again when the app comes to the foreground.
        case retryOnForeground
        /// Do not offer this sync on this device.
        case hideOption
        /// Nothing: it is tried again by itself.
        case wait
        /// Register the peer anew.
        case registerAgain
        /// A mistake of the app.
        case reportBug
    }

    /// What was asked of a peer and failed.
    public enum Call: String, Sendable, Hashable, Codable {
        /// To show what it holds.
        case read
        /// To save or to delete.
        case write
    }

    /// What happened.
    public let code: Code
    /// What to tell the user, in English.
    public let message: String
    /// What exactly, for developers.
    public let detail: String

    /// An issue with its usual message, or the one that a plan gives.
    public init(_ code: Code, _ detail: String, plan: SyncPlan? = nil) {
        self.code = code
        self.detail = detail
        message = plan?.messages[code] ?? SyncIssue.usualMessage(code)
    }

    /// A call that failed, with the message that a plan has for it, or the one of the code.
    init(_ code: Code, _ detail: String, plan: SyncPlan, in call: Call) {
        let text = SyncIssue.ofFailures.contains(code) ? plan.failureMessages[call].map { "\($0): \(detail)" } : nil
        self.code = code
        self.detail = detail
        message = text ?? SyncIssue(code, detail, plan: plan).message
    }

    /// What says no more than that a call failed.
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

    /// Any error of a sync as an issue. Of one that neither a peer nor the engine made only the kind is told.
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
    /// Whether what failed may go well when it is tried again.
    fileprivate var mayPass: Bool {
        let passing: Set<StoreError.Code> = [
            .busy, .cancelled, .full, .growthBlocked, .outcomeUnknown, .readerExpired, .storage, .suspended,
        ]
        return passing.contains(self)
    }
}
