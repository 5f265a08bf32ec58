import HealthKVSync
import Synchronization

/// A clock that stands still until it is told to go on, and wakes those who sleep.
package final class ManualClock: Sendable {
    private struct State {
        var now: Instant
        var sleepers: [Int: (until: Instant, wake: CheckedContinuation<Void, any Error>)] = [:]
        var cancelled: Set<Int> = []
        var next = 0
    }

    private let state: Mutex<State>

    package init(_ start: Instant = Instant(nanoseconds: 800_000_000_000_000_000)) {
        state = Mutex(State(now: start))
    }

    package var now: Instant { state.withLock { $0.now } }
    package var sleepers: [Instant] { state.withLock { $0.sleepers.values.map(\.until).sorted() } }

    package func advance(seconds: Int) {
        let awake = state.withLock { state in
            state.now = state.now + Int64(seconds) * Instant.nanosecondsPerSecond
            let now = state.now
            let awake = state.sleepers.filter { $0.value.until <= now }
            for key in awake.keys { state.sleepers[key] = nil }
            return awake.values.map(\.wake)
        }
        for wake in awake { wake.resume() }
    }

    package var sync: SyncClock {
        SyncClock(now: { self.now }, sleep: { try await self.sleep(until: $0) })
    }

    private func sleep(until time: Instant) async throws {
        let key = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (wake: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(key) != nil { return .failure(CancellationError()) }
                    if state.now >= time { return .success(()) }
                    state.sleepers[key] = (time, wake)
                    return nil
                }
                if let answer { wake.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: key)
                if sleeper == nil { state.cancelled.insert(key) }
                return sleeper
            }
            sleeper?.wake.resume(throwing: CancellationError())
        }
    }
}
