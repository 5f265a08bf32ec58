import HealthKV

// Stored times that are compared with now. The clock that wrote them may have been wrong by years, and so may the clock
// that reads them. No comparison waits longer than its own period, whatever either clock says.
extension Instant {
    /// Returns `true` if this time, before which nothing is to be done, has come. A time farther ahead than any wait
    /// was written by a wrong clock.
    func isDue(at now: Instant, longest: Duration) -> Bool { self <= now || self > now + longest }

    /// Returns the time to sleep until: this time, or now if a wrong clock wrote it.
    func due(at now: Instant, longest: Duration) -> Instant { isDue(at: now, longest: longest) ? min(self, now) : self }

    /// Returns `true` if a period has passed since this time. If the time is ahead of now by more than a usual clock
    /// correction, a wrong clock wrote it and the period counts as over.
    func hasPassed(_ period: Duration, at now: Instant) -> Bool {
        now >= self + period || self > now + min(period, Instant.tolerance)
    }

    /// Returns `true` if a time that was noted as now is ahead of now: the clock was wrong then.
    func isAhead(of now: Instant) -> Bool { self > now + Instant.tolerance }

    private static let tolerance: Duration = .seconds(86_400)

    /// 1 January 2025: no correct clock shows an earlier time. A clock that was never set begins in 1970 or at another
    /// round year.
    static let earliestBelievable = Instant(nanoseconds: 757_382_400 * Instant.nanosecondsPerSecond)
}

extension SyncOptions {
    /// The longest that anything is put off: retries with their jitter.
    var longestDelay: Duration { max(slowDelay, firstDelay * Double(1 << max(0, min(20, quickAttempts)))) * 2 }
}
