import LMDB

/// The threads on which asynchronous reads run. All stores of the process share them, because a server opens thousands
/// of stores. They start on demand and end when they have been idle for a while.
final class ReaderThreads: Sendable {
    static let shared = ReaderThreads(limit: 4)

    private struct Job: Sendable {
        let run: @Sendable () -> Void
        /// Called in its place if the system provides no thread.
        let fail: @Sendable () -> Void
    }

    private struct State {
        /// Jobs that are taken are `nil`, so that nothing keeps what they hold.
        private var waiting: [Job?] = []
        private var next = 0
        /// The threads that run no job at the moment.
        var idle: [WriterThread]

        init(idle: [WriterThread]) { self.idle = idle }

        mutating func append(_ job: Job) { waiting.append(job) }

        mutating func take() -> Job? {
            guard next < waiting.count else {
                waiting.removeAll(keepingCapacity: waiting.count < 256)
                next = 0
                return nil
            }
            defer {
                waiting[next] = nil
                next += 1
                if next > 1_024, 2 * next > waiting.count {
                    waiting.removeFirst(next)
                    next = 0
                }
            }
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

    /// Runs a job on one of the threads, after the jobs that wait already. Calls `fail` if the system cannot provide
    /// any thread.
    func perform(_ run: @escaping @Sendable () -> Void, orFail fail: @escaping @Sendable () -> Void) {
        let thread: WriterThread? = state.withLock { state in
            state.append(Job(run: run, fail: fail))
            return state.idle.popLast()
        }
        guard let thread, !thread.perform({ self.runWaiting(on: thread) }) else { return }
        let isAlone = state.withLock { state in
            state.idle.append(thread)
            return state.idle.count == limit
        }
        // A thread that runs takes the jobs when it has finished its own.
        guard isAlone else { return }
        while let job = state.withLock({ state in state.idle.count == limit ? state.take() : nil }) { job.fail() }
    }

    private func runWaiting(on thread: WriterThread) {
        while true {
            let job: Job? = state.withLock { state in
                if let job = state.take() { return job }
                state.idle.append(thread)
                return nil
            }
            guard let job else { return }
            job.run()
        }
    }
}
