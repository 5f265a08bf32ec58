/// When upkeep runs beside writes. Each step writes to the tables, and so moves the journal there: it waits until the
/// commits in the journal are many, or the last one was a while ago. While commits come without a pause, it takes a few
/// steps now and then. A journal that fills faster than that never looks old, however long writes have come.
struct UpkeepTurn {
    /// How long the last commit must be ago.
    private static let pause = SummaryBacklog.pause
    /// How long upkeep waits at most.
    private static let longestWait = Duration.seconds(1)
    /// The steps that it takes then. Each may hold up a write for some milliseconds.
    private static let stepsBesideWrites = 2

    private var waitsSince: ContinuousClock.Instant?
    private var steps = 0
    private var condensesFirst = false

    /// Returns how long upkeep still waits; `nil` if it may take a step now.
    ///
    /// - Parameter lastCommit: the time of the last commit in a journal that may grow; `nil` if there is none.
    mutating func pause(
        after lastCommit: ContinuousClock.Instant?, at now: ContinuousClock.Instant = .now
    ) -> Duration? {
        let passed = lastCommit.map { $0.duration(to: now) } ?? UpkeepTurn.pause
        guard passed < UpkeepTurn.pause else {
            (waitsSince, steps) = (nil, 0)
            return nil
        }
        if isDue(at: now) { return nil }
        let waited = waitsSince.map { $0.duration(to: now) } ?? .zero
        return min(UpkeepTurn.pause - passed, UpkeepTurn.longestWait - waited)
    }

    /// Returns `true` if upkeep has waited long enough beside commits that come without a pause.
    mutating func isDue(at now: ContinuousClock.Instant = .now) -> Bool {
        if steps > 0 { return true }
        let began = waitsSince ?? now
        waitsSince = began
        guard began.duration(to: now) >= UpkeepTurn.longestWait else { return false }
        (waitsSince, steps) = (nil, UpkeepTurn.stepsBesideWrites)
        return true
    }

    /// Counts a step. Returns whether it condenses the feed before it looks for other work: where steps are few, each
    /// kind of work gets its turn.
    mutating func takeStep() -> Bool {
        steps = max(0, steps - 1)
        condensesFirst.toggle()
        return condensesFirst
    }
}
