import LMDB

/// The callers that wait for the next commit of this process.
final class Observers: Sendable {
    private struct State {
        var generation: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var cancelled: Set<UInt64> = []
        var nextTicket: UInt64 = 0
        var isFinished = false
    }

    private let state = Monitor(State())

    /// How many commits there were. Read it before reading the store and pass it to `wait(after:)` afterwards: then no
    /// commit is missed.
    var generation: UInt64 { state.withLock { $0.generation } }

    func notify() {
        let waiting = state.withLock { state in
            state.generation += 1
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }

    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: false) }
    }

    /// Waits until there is a commit later than `generation`. Returns `false` if the store is closed or the task is
    /// cancelled.
    func wait(after generation: UInt64) async -> Bool {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        // A cancellation that arrives too late for this wait must not be kept for another one.
        defer { state.withLock { _ = $0.cancelled.remove(ticket) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.isFinished || state.cancelled.remove(ticket) != nil { return false }
                    if state.generation > generation { return true }
                    state.waiting[ticket] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                let waiting = state.waiting.removeValue(forKey: ticket)
                if waiting == nil { state.cancelled.insert(ticket) }
                return waiting
            }
            continuation?.resume(returning: false)
        }
    }
}
