import HealthKVSync
import Synchronization

/// Ends an engine at the nth page that it commits.
final class PageCountdown: Sendable {
    private let left = Mutex(Int.max)

    /// Lets the engine end once it has committed this many further pages.
    func end(after pages: Int) { left.withLock { $0 = pages } }

    func reach(_ step: SyncStep) throws {
        guard step == .pageCommitted else { return }
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { throw CancellationError() }
    }
}
