import HealthKV

// How long to wait after failures.
extension SyncOptions {
    /// Returns how long to wait after some failures in a row: twice as long each time, with jitter, and the slow delay
    /// after the last quick attempt (SEMANTICS C13). As long as the failures in a row are few, the delay that the peer
    /// asked for replaces this.
    func delay(afterFailures failures: Int, asked: Duration? = nil) -> Duration {
        if let asked, failures <= SyncOptions.patience { return delay(asked: asked) }
        let jitter = 0.5 + random()
        guard failures < quickAttempts else { return slowDelay * jitter }
        return firstDelay * Double(1 << max(0, min(20, failures - 1))) * jitter
    }

    /// How many times in a row a peer may choose the delay itself.
    private static let patience = 32

    /// Returns how long to wait if the peer chooses the delay: as long as asked, from a second to an hour and a half,
    /// plus a random part of up to a quarter, so that not all callers return at the same time. A time that is further
    /// away than ``longestDelay`` would count as one of a wrong clock, and be due at once.
    func delay(asked: Duration) -> Duration {
        min(max(asked, .seconds(1)), longestDelay * 0.75) * (1 + random() / 4)
    }
}
