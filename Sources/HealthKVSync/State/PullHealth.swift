import HealthKV

/// How the last pulls of one feed ended.
enum PullHealth: Codable, Sendable, Equatable {
    /// The last pull succeeded, or none was tried.
    case well
    /// The last pull failed.
    case failing(PullFailure)
    /// Reading was refused. Then there is nothing to adopt for now, and the type may be sent. A type that is only sent
    /// need not be readable, so its refusal is no failure.
    case refused(PullFailure?)

    /// How the last pull failed; `nil` after one that succeeded.
    var failure: PullFailure? {
        switch self {
        case .well: nil
        case .failing(let failure): failure
        case .refused(let failure): failure
        }
    }

    /// Whether reading was refused, and no pull has succeeded since.
    var isRefused: Bool { if case .refused = self { true } else { false } }

    /// Whether the feed cannot be read, and not only for a moment.
    var isBlocked: Bool { isRefused || (failure?.count ?? 0) >= 3 }

    /// Whether several pulls have failed for a reason that does not pass by itself, such as a type that the peer does
    /// not know.
    var isHopeless: Bool { failure.map { $0.issue.code == .invalid && $0.count >= 3 } ?? false }

    mutating func succeed() { self = .well }

    /// Notes that reading was refused.
    mutating func refuse() { self = .refused(failure) }

    /// Notes a failure. Whether reading was refused before does not change.
    mutating func fail(_ failure: PullFailure) { self = isRefused ? .refused(failure) : .failing(failure) }

    /// Forgets the failure of a type that the plan no longer names.
    mutating func forgetFailure() { self = isRefused ? .refused(nil) : .well }

    /// Sets when a failed pull is tried again.
    mutating func retry(at time: Instant) {
        guard var failure else { return }
        failure.nextTry = time
        fail(failure)
    }
}

/// How the pull of one feed failed, and when it is retried.
struct PullFailure: Codable, Sendable, Equatable {
    var issue: SyncIssue
    var count = 0
    /// `nil` if only the user can resolve the failure.
    var nextTry: Instant?
}
