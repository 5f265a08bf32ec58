import HealthKV

/// The result of a push.
public struct PushReport: Sendable, Hashable {
    /// Operations that the peer carried out, now or before.
    public var done = 0
    /// Operations that wait for access or unlocking.
    public var parked = 0
    /// Operations that failed and are retried.
    public var failed = 0
    /// Operations that were refused permanently.
    public var quarantined = 0

    /// Creates an empty report.
    public init() {}

    static func += (left: inout PushReport, right: PushReport) {
        left.done += right.done
        left.parked += right.parked
        left.failed += right.failed
        left.quarantined += right.quarantined
    }
}
