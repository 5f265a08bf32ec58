import LMDB
import Synchronization

/// Who carries out writes at this moment: the writing thread, or a blocking caller that found nobody writing. Such a
/// caller saves two switches of threads.
final class Leadership: Sendable {
    private let leader = Monitor<ThreadIdentity?>(nil)
    /// Whether the writing thread will look for upkeep by itself.
    private let willLook = Atomic<Bool>(false)

    /// Whether the calling thread leads.
    var isMine: Bool { leader.withLock { $0 == ThreadIdentity.current } }

    /// Runs `body` as the leader, once nobody else leads.
    func lead<Result>(_ body: () throws -> Result) rethrows -> Result {
        let own = ThreadIdentity.current
        while !take(own) { leader.wait { $0 == nil } }
        defer { leader.update { $0 = nil } }
        return try body()
    }

    /// Runs `body` as the leader; returns `nil` if somebody leads.
    func leadIfFree<Result>(_ body: () throws -> Result) rethrows -> Result? {
        guard take(ThreadIdentity.current) else { return nil }
        defer { leader.update { $0 = nil } }
        return try body()
    }

    private func take(_ own: ThreadIdentity) -> Bool {
        leader.withLock { leader in
            guard leader == nil else { return false }
            leader = own
            return true
        }
    }

    /// Notes that the writing thread looks for upkeep from now on.
    func look() { willLook.store(false, ordering: .sequentiallyConsistent) }

    /// Notes that it will look again.
    func lookAgain() { willLook.store(true, ordering: .sequentiallyConsistent) }

    /// Returns `true` if the writing thread must be woken to look for upkeep.
    func mustWake() -> Bool { !willLook.exchange(true, ordering: .sequentiallyConsistent) }
}
