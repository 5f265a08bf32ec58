import LMDB

/// The threads on which asynchronous reads run. All stores of the process share them, because a server opens thousands
/// of stores. They start on demand and end when they have been idle for a while.
final class ReaderThreads: Sendable {
    static let shared = ReaderThreads(limit: 4)

    private struct State {
        var waiting: [@Sendable () -> Void] = []
        /// The jobs before this index are taken.
        var next = 0
        /// The threads that run no job at the moment.
        var idle: [WriterThread]

        mutating func take() -> (@Sendable () -> Void)? {
            guard next < waiting.count else {
                waiting.removeAll(keepingCapacity: true)
                next = 0
                return nil
            }
            defer { next += 1 }
            return waiting[next]
        }
    }

    private let state: Monitor<State>
    private let limit: Int

    /// - Parameter limit: the number of reads that run at the same time.
    init(limit: Int) {
        self.limit = limit
        state = Monitor(State(idle: (0..<limit).map { _ in WriterThread(name: "healthkv read") }))
    }

    /// Runs a job on one of the threads, after the jobs that wait already. Returns `false` if the system cannot provide
    /// any thread.
    func perform(_ job: @escaping @Sendable () -> Void) -> Bool {
        let thread: WriterThread? = state.withLock { state in
            state.waiting.append(job)
            return state.idle.popLast()
        }
        guard let thread else { return true }
        if thread.perform({ self.runWaiting(on: thread) }) { return true }
        return state.withLock { state in
            state.idle.append(thread)
            // A thread that runs takes the job when it has finished its own.
            guard state.idle.count == limit, state.next < state.waiting.count else { return true }
            state.waiting.removeLast()
            return false
        }
    }

    private func runWaiting(on thread: WriterThread) {
        while true {
            let job: (@Sendable () -> Void)? = state.withLock { state in
                if let job = state.take() { return job }
                state.idle.append(thread)
                return nil
            }
            guard let job else { return }
            job()
        }
    }
}
