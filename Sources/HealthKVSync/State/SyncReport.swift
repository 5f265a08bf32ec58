import HealthKV

/// The result of one sync.
public struct SyncReport: Sendable, Hashable {
    /// The result of the pulls.
    public var pulled = PullReport()
    /// The result of the pushes.
    public var pushed = PushReport()
    /// The issue that made the sync incomplete.
    public var issue: SyncIssue?

    /// Creates an empty report.
    public init() {}
}

/// What to sync.
struct PassRequest: Sendable {
    var types: Set<SampleType>?
    var pulls = true
    var pushes = true
    /// Retries immediately instead of waiting for the next time.
    var isUrgent = false
    /// Sends only the types that are sent as soon as they change.
    var isOfCommit = false

    /// Whether everything is asked for that the plan allows.
    var isWhole: Bool { types == nil && pulls && pushes }
}
