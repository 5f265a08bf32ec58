import LMDB
import Synchronization

/// Who carries out writes at this moment: the writing thread, or a blocking caller that found nobody writing. Such a
/// caller saves two switches of threads.
final class Leadership: Sendable {
    private struct State {
        var leader: ThreadIdentity?
        /// How many threads wait to lead.
        var waiting = 0
    }

    private let state = Monitor(State())
    /// Whether the writing thread will look for upkeep by itself.
    private let willLook = Atomic<Bool>(false)

    /// Whether the calling thread leads.
    var isMine: Bool { state.withLock { $0.leader == ThreadIdentity.current } }

    /// Runs `body` as the leader, once nobody else leads.
    func lead<Result>(_ body: () throws -> Result) rethrows -> Result {
        let own = ThreadIdentity.current
        state.withLock { $0.waiting += 1 }
        while !take(own, isWaiting: true) { state.wait { $0.leader == nil } }
        defer { state.update { $0.leader = nil } }
        return try body()
    }

    /// Runs `body` as the leader; returns `nil` if somebody leads, or waits to: a caller that writes in a loop would
    /// otherwise never let others in.
    func leadIfFree<Result>(_ body: () throws -> Result) rethrows -> Result? {
        guard take(ThreadIdentity.current, isWaiting: false) else { return nil }
        defer { state.update { $0.leader = nil } }
        return try body()
    }

    private func take(_ own: ThreadIdentity, isWaiting: Bool) -> Bool {
        state.withLock { state in
            guard state.leader == nil, isWaiting || state.waiting == 0 else { return false }
            if isWaiting { state.waiting -= 1 }
            state.leader = own
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
