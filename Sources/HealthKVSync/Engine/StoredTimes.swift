import HealthKV

// Times that were stored and are compared with now. The clock that wrote them may have been wrong by years, and so may the one that reads
// them: no comparison waits longer than its own period, whatever either says.
extension Instant {
    /// Whether a time before which nothing is to be done has come. One farther ahead than anything waits was written by a wrong clock.
    func isDue(at now: Instant, longest: Duration) -> Bool { self <= now || self > now + longest }

    /// The time itself as something to sleep until; now where a wrong clock wrote it.
    func due(at now: Instant, longest: Duration) -> Instant { isDue(at: now, longest: longest) ? min(self, now) : self }

    /// Whether a period has passed since. One that begins ahead of now, by more than clocks are set back to be right, was written by a wrong
    /// clock, and is over.
    func hasPassed(_ period: Duration, at now: Instant) -> Bool {
        now >= self + period || self > now + min(period, Instant.tolerance)
    }

    /// Whether a moment that was noted as now is ahead of now: the clock was wrong then.
    func isAhead(of now: Instant) -> Bool { self > now + Instant.tolerance }

    private static let tolerance: Duration = .seconds(86_400)

    /// No clock that is right shows less: 1 January 2025. One that was never set begins in 1970 or at another round year.
    static let earliestBelievable = Instant(nanoseconds: 757_382_400 * Instant.nanosecondsPerSecond)
}

extension SyncOptions {
    /// Nothing is put off for longer: retries with their jitter.
    var longestDelay: Duration { max(slowDelay, firstDelay * Double(1 << max(0, min(20, quickAttempts)))) * 2 }
}
