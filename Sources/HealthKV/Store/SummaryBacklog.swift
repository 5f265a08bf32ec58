import LMDB

/// What this process knows about hours that wait to be summarized.
struct SummaryBacklog: Sendable {
    /// Initially `true`, because earlier processes may have left stale hours.
    var mayBeStale = true
    /// The number of commits since the last step that made hours stale.
    var commits = 0
    var lastCommit = ContinuousClock.now

    /// Idle work summarizes only after a pause of this length without writes, so that a writer that returns immediately
    /// does not wait for it.
    static let pause = Duration.milliseconds(100)
    /// After this many commits the work does not wait for a pause, otherwise the stale hours would grow without bound.
    static let mostCommits = 512

    mutating func note() {
        mayBeStale = true
        commits += 1
        lastCommit = .now
    }
}
