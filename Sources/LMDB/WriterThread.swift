import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The one thread that writes to an environment. It starts with the first job and ends after a while without any, so
/// that thousands of open stores cost no threads.
///
/// ```swift
/// let writer = WriterThread(name: "store writer")
/// writer.perform { print("alone, in order") }
/// writer.stop()
/// ```
public final class WriterThread: Sendable {
    public typealias Job = @Sendable () -> Void

    /// What is left of idle work.
    public enum IdleWork: Sendable {
        case none
        /// More remains: call again at once.
        case more
        /// More will be worth doing if no job comes meanwhile.
        case later(Duration)
    }

    private struct State {
        private var jobs: [Job] = []
        /// Jobs before this place are taken. They go in one sweep, so that a long queue is not moved for each of them.
        private var firstJob = 0
        var isRunning = false
        var isStopping = false

        var hasJobs: Bool { firstJob < jobs.count }

        mutating func append(_ job: @escaping Job) {
            jobs.append(job)
        }

        mutating func take(limit: Int) -> [Job] {
            if firstJob == 0, jobs.count <= limit {
                // All of them as they lie: the copy of a whole array would share its memory with the queue.
                defer { jobs = [] }
                return jobs
            }
            let taken = Array(jobs[firstJob...].prefix(limit))
            firstJob += taken.count
            if firstJob * 2 >= jobs.count {
                jobs.removeFirst(firstJob)
                firstJob = 0
            }
            return taken
        }
    }

    /// LMDB recurses little, but users' closures run on this thread.
    private static let stackSize = 8 << 20

    private let name: String
    private let idlePeriod: Duration
    private let idle: (@Sendable () -> IdleWork)?
    private let state = Monitor(State())
    private let thread = Atomic<UInt>(0)

    /// - Parameters:
    ///   - name: shown by debuggers, cut to 15 bytes on Linux.
    ///   - idlePeriod: how long the thread waits for the next job before it ends.
    ///   - idle: called on the thread whenever the queue has become empty, and again as it answers. Jobs go first.
    public init(
        name: String = "writer", idlePeriod: Duration = .seconds(2), idle: (@Sendable () -> IdleWork)? = nil
    ) {
        self.name = name
        self.idlePeriod = idlePeriod
        self.idle = idle
    }

    /// Whether the caller runs on this thread.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == currentThread() }

    /// Queues a job, which runs after those before it. Answers false, and drops the job, after `stop` and when the
    /// system has no thread to give.
    @discardableResult
    public func perform(_ job: @escaping Job) -> Bool {
        state.update { state in
            guard !state.isStopping else { return false }
            if !state.isRunning {
                guard start() else { return false }
                state.isRunning = true
            }
            state.append(job)
            return true
        }
    }

    /// Takes queued jobs out of the queue, for a running job that does their work along with its own.
    public func takeQueued(limit: Int = .max) -> [Job] {
        state.withLock { $0.take(limit: limit) }
    }

    /// Lets the queued jobs finish and waits until the thread has ended; no job is taken from now on. On the thread
    /// itself it does not wait.
    public func stop() {
        state.update { $0.isStopping = true }
        guard !isCurrent else { return }
        state.wait { !$0.isRunning }
    }

    /// The same for `period` at most. Answers false, and takes jobs again, when the thread has not ended by then.
    public func stop(atMost period: Duration) -> Bool {
        state.update { $0.isStopping = true }
        return state.wait(atMost: period) { state in
            !state.isRunning
        } then: { state in
            if state.isRunning { state.isStopping = false }
            return !state.isRunning
        }
    }

    /// Does work on a thread of its own and waits for its end: there a write beyond the limit of the process on file sizes is an
    /// error, and not the end of the process. Answers `nil` when the system has no thread to give.
    public static func apart<Result: Sendable>(_ work: @escaping @Sendable () -> Result) -> Result? {
        let result = Monitor<Result?>(nil)
        let thread = WriterThread(name: "copy", idlePeriod: .zero)
        thread.perform {
            let value = work()
            result.withLock { $0 = value }
        }
        thread.stop()
        return result.withLock { $0 }
    }

    private func start() -> Bool {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setstacksize(&attributes, Self.stackSize)
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // unsafe: the thread takes over this reference, or it is released here when there is no thread.
        let owner = unsafe Unmanaged.passRetained(self)
        #if canImport(Darwin)
            var created: pthread_t?
        #else
            var created = pthread_t()
        #endif
        let code = unsafe pthread_create(&created, &attributes, Self.main, owner.toOpaque())
        if code != 0 { unsafe owner.release() }
        return code == 0
    }

    #if canImport(Darwin)
        private static let main: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { owner in
            unsafe Unmanaged<WriterThread>.fromOpaque(owner).takeRetainedValue().run()
            return nil
        }
    #else
        private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { owner in
            if let owner = unsafe owner {
                unsafe Unmanaged<WriterThread>.fromOpaque(owner).takeRetainedValue().run()
            }
            return nil
        }
    #endif

    private func run() {
        setName()
        Self.deferSizeSignal()
        thread.store(currentThread(), ordering: .relaxed)
        while runJobs() {}
    }

    /// Runs jobs until the queue is empty, then idle work, then waits; answers false when the thread should end.
    private func runJobs() -> Bool {
        while let job = takeQueued(limit: 1).first {
            job()
        }
        // Idle work goes on at the next opening: whoever stops the thread waits only for what was asked for.
        if let idle, !state.withLock({ $0.isStopping }) {
            switch idle() {
            case .none: break
            case .more: return true
            case .later(let pause):
                state.wait(atMost: pause) {
                    $0.hasJobs || $0.isStopping
                } then: { _ in
                }
                return true
            }
        }
        return state.wait(atMost: idlePeriod) { state in
            state.hasJobs || state.isStopping
        } then: { state in
            guard !state.hasJobs else { return true }
            // The system gives the identity of an ended thread to another.
            thread.store(0, ordering: .relaxed)
            state.isRunning = false
            return false
        }
    }

    /// A write beyond the limit of the process on file sizes would end the process; without the signal it is an error.
    private static func deferSizeSignal() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGXFSZ)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private func setName() {
        #if canImport(Darwin)
            unsafe pthread_setname_np(name)
        #else
            // glibc shows pthread_setname_np only to GNU sources; the file does the same. A nameless thread is no harm.
            let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
            guard file >= 0 else { return }
            _ = unsafe write(file, name, min(name.utf8.count, 15))
            close(file)
        #endif
    }
}
