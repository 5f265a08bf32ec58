import HealthKV

/// What a push did.
public struct PushReport: Sendable, Hashable {
    /// Operations that the peer carried out, or had before.
    public var done = 0
    /// Operations that wait for access or unlocking.
    public var parked = 0
    /// Operations that failed and are tried again.
    public var failed = 0
    /// Operations that were refused for good.
    public var quarantined = 0

    /// A report of nothing.
    public init() {}

    static func += (left: inout PushReport, right: PushReport) {
        left.done += right.done
        left.parked += right.parked
        left.failed += right.failed
        left.quarantined += right.quarantined
    }
}
