import LMDB

/// An asynchronous read: who waits for it, and whether it has begun.
private final class AsyncRead<Answer: Sendable>: Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Answer, any Error>)
        case running(CheckedContinuation<Answer, any Error>)
        case done
    }

    let cancellation = ReadCancellation()
    private let state = Monitor(State.new)

    /// Begins to wait. Returns `false` if the task was cancelled before.
    func wait(_ continuation: CheckedContinuation<Answer, any Error>) -> Bool {
        let isNew = state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
        if !isNew { continuation.resume(throwing: CancellationError()) }
        return isNew
    }

    /// Ends a read that has not begun, and tells one that runs to end.
    func cancel() {
        cancellation.cancel()
        let waiting: CheckedContinuation<Answer, any Error>? = state.withLock { state in
            switch state {
            case .new:
                state = .done
                return nil
            case .waiting(let continuation):
                state = .done
                return continuation
            case .running, .done: return nil
            }
        }
        waiting?.resume(throwing: CancellationError())
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
        let continuation: CheckedContinuation<Answer, any Error>? = state.withLock { state in
            defer { state = .done }
            switch state {
            case .waiting(let continuation), .running(let continuation): return continuation
            case .new, .done: return nil
            }
        }
        guard cancellation.isCancelled, case .failure(let error as StoreError) = result, error.code == .cancelled else {
            continuation?.resume(with: result)
            return
        }
        continuation?.resume(throwing: CancellationError())
    }
}

extension SampleStore {
    /// Runs `body` on one of the reader threads. The store stays open until it has run, unless it is closed meanwhile.
    func readAside<Answer: Sendable>(
        _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Answer
    ) async throws -> Answer {
        try checkOpen()
        let read = AsyncRead<Answer>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
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
    }
}
