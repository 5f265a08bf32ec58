import LMDB

/// An asynchronous read: who waits for it, and whether it has begun.
private final class AsyncRead<Answer: Sendable>: Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Void, Never>)
        case running(CheckedContinuation<Void, Never>)
        case done(Result<Answer, any Error>)
    }

    let cancellation = ReadCancellation()
    /// The answer passes through the lock, and not through the continuation, whose order the thread sanitizer does not
    /// see if the answer comes before the task waits.
    private let state = Monitor(State.new)

    /// Begins to wait. Returns `false` if the task was cancelled before.
    func wait(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        let isNew = state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
        if !isNew { continuation.resume() }
        return isNew
    }

    /// Ends a read that has not begun, and tells one that runs to end.
    func cancel() {
        cancellation.cancel()
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            switch state {
            case .new:
                state = .done(.failure(CancellationError()))
                return nil
            case .waiting(let continuation):
                state = .done(.failure(CancellationError()))
                return continuation
            case .running, .done: return nil
            }
        }
        waiting?.resume()
    }

    func run(_ read: () throws -> Answer) {
        let begins = state.withLock { state in
            guard case .waiting(let continuation) = state else { return false }
            state = .running(continuation)
            return true
        }
        guard begins else { return }
        finish(Result { try read() })
    }

    /// Gives the task that waits its result.
    func finish(_ result: Result<Answer, any Error>) {
        var result = result
        if cancellation.isCancelled, case .failure(let error as StoreError) = result, error.code == .cancelled {
            result = .failure(CancellationError())
        }
        let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
            switch state {
            case .waiting(let continuation), .running(let continuation):
                state = .done(result)
                return continuation
            case .new, .done: return nil
            }
        }
        continuation?.resume()
    }

    /// Returns the result, once the task has waited for it.
    func answer() throws -> Answer {
        let result: Result<Answer, any Error>? = state.withLock { state in
            if case .done(let result) = state { result } else { nil }
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }
}

extension SampleStore {
    /// Runs `body` on one of the reader threads. The store stays open until it has run, unless it is closed meanwhile.
    func readAside<Answer: Sendable>(
        _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Answer
    ) async throws -> Answer {
        try checkOpen()
        let read = AsyncRead<Answer>()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard read.wait(continuation) else { return }
                ReaderThreads.shared.perform {
                    read.run {
                        // The store may have been closed while this waited.
                        try self.checkOpen()
                        return try self.core.read(cancelledBy: read.cancellation, body)
                    }
                } orFail: { [path] in
                    read.finish(
                        .failure(StoreError(.busy, path: path, "The system has no thread left to read on")))
                }
            }
        } onCancel: {
            read.cancel()
        }
        return try read.answer()
    }
}
