import HealthKV
import Synchronization

/// Ends calls of a peer at their deadline, or soon after their cancellation, whether or not they return.
///
/// A call that does not return is abandoned: nothing waits for it, and its answer is ignored. Only a few calls may be
/// abandoned at the same time; until one of them returns, further calls fail immediately.
struct CallDeadline: Sendable {
    private static let abandonedLimit = 4

    private let clock: SyncClock
    private let grace: Duration
    private let state = SharedCalls()

    init(_ options: SyncOptions) {
        clock = options.callClock ?? options.clock
        grace = options.callGrace
    }

    /// Runs a call. Throws a transient error if its answer does not arrive in time.
    ///
    /// - Parameter late: called if the deadline ends the call.
    func run<Answer: Sendable>(
        _ name: String, within limit: Duration, late: (@Sendable () -> Void)? = nil,
        _ call: @escaping @Sendable () async throws(PeerError) -> Answer
    ) async throws(PeerError) -> Answer {
        let (state, clock, grace) = (state, clock, grace)
        guard state.abandoned.withLock({ $0 }) < CallDeadline.abandonedLimit else {
            throw PeerError(.transient, "earlier calls of the peer have not returned")
        }
        if state.isInterrupted { throw PeerError(.transient, "\(name) was interrupted") }
        let answer = PendingAnswer<Result<Answer, PeerError>>()
        let work = Task {
            let result: Result<Answer, PeerError>
            do throws(PeerError) { result = .success(try await call()) } catch { result = .failure(error) }
            if !answer.fill(result) { state.abandoned.withLock { $0 -= 1 } }
        }
        @Sendable func abandon(_ detail: String, _ told: (@Sendable () -> Void)? = nil) async {
            work.cancel()
            // Sleep in real time, to give the call a chance to return an answer of its own.
            try? await Task.sleep(for: grace)
            guard !answer.isFilled else { return }
            told?()
            if answer.fill(.failure(PeerError(.transient, detail))) { state.abandoned.withLock { $0 += 1 } }
        }
        let number = state.begin { Task { await abandon("\(name) was interrupted") } }
        let end = clock.now() + limit
        let timer = Task {
            guard (try? await clock.sleep(end)) != nil else { return }
            await abandon("\(name) did not return in time", late)
        }
        let result = await withTaskCancellationHandler {
            await answer.value()
        } onCancel: {
            Task { await abandon("\(name) was cancelled") }
        }
        timer.cancel()
        state.end(number)
        return try result.get()
    }

    /// Ends the calls in progress and lets none begin until the interruption ends, because their answers are no longer
    /// needed.
    func interrupt() -> Interruption {
        state.interrupt()
        return Interruption(state)
    }

    var isInterrupted: Bool { state.isInterrupted }
}

/// A period in which a peer is not called.
final class Interruption: Sendable {
    private let calls: SharedCalls
    private let isOver = Mutex(false)

    fileprivate init(_ calls: SharedCalls) { self.calls = calls }

    /// Lets calls begin again. A second call has no effect.
    func end() {
        let wasOver = isOver.withLock { isOver in
            defer { isOver = true }
            return isOver
        }
        if !wasOver { calls.allow() }
    }
}

/// The calls of one peer.
private final class SharedCalls: Sendable {
    private struct State {
        var underWay: [Int: @Sendable () -> Void] = [:]
        var last = 0
        var interruptions = 0
    }

    /// How many abandoned calls have not returned yet.
    let abandoned = Mutex(0)
    private let state = Mutex(State())

    var isInterrupted: Bool { state.withLock { $0.interruptions > 0 } }

    /// Registers a call together with the closure that ends it.
    func begin(_ end: @escaping @Sendable () -> Void) -> Int {
        let (number, isInterrupted) = state.withLock { state in
            state.last += 1
            state.underWay[state.last] = end
            return (state.last, state.interruptions > 0)
        }
        if isInterrupted { end() }
        return number
    }

    func end(_ number: Int) { state.withLock { _ = $0.underWay.removeValue(forKey: number) } }

    func interrupt() {
        let ends = state.withLock { state in
            state.interruptions += 1
            return Array(state.underWay.values)
        }
        for end in ends { end() }
    }

    func allow() { state.withLock { $0.interruptions -= 1 } }
}

/// An answer that one task waits for. The first answer counts; later ones are ignored.
private final class PendingAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(CheckedContinuation<Answer, Never>)
        case filled(Answer)
        case taken
    }

    private let state = Mutex(State.empty)

    /// Sets the answer. Returns `false` if an answer was set before.
    func fill(_ answer: Answer) -> Bool {
        let (isFirst, waiter): (Bool, CheckedContinuation<Answer, Never>?) = state.withLock { state in
            switch state {
            case .empty:
                state = .filled(answer)
                return (true, nil)
            case .awaited(let waiter):
                state = .taken
                return (true, waiter)
            case .filled, .taken: return (false, nil)
            }
        }
        waiter?.resume(returning: answer)
        return isFirst
    }

    /// Whether there is an answer.
    var isFilled: Bool {
        state.withLock { state in
            switch state {
            case .empty, .awaited: false
            case .filled, .taken: true
            }
        }
    }

    func value() async -> Answer {
        await withCheckedContinuation { waiter in
            let answer: Answer? = state.withLock { state in
                guard case .filled(let answer) = state else {
                    state = .awaited(waiter)
                    return nil
                }
                state = .taken
                return answer
            }
            if let answer { waiter.resume(returning: answer) }
        }
    }
}
