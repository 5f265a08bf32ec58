import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The single thread that writes to an environment. It starts with the first job and ends after an idle period, so that
/// thousands of open stores need no threads.
///
/// ```swift
/// let writer = WriterThread(name: "store writer")
/// writer.perform { print("alone, in order") }
/// writer.stop()
/// ```
public final class WriterThread: Sendable {
    public typealias Job = @Sendable () -> Void

    /// The remaining idle work.
    public enum IdleWork: Sendable {
        case none
        /// There is more work: call again immediately.
        case more
        /// There will be more work after this time if no job arrives.
        case later(Duration)
    }

    private struct State {
        private var jobs: [Job] = []
        /// The jobs before this index are taken. They are removed in bulk, so that a long queue is not moved for each
        /// of them.
        private var firstJob = 0
        var isRunning = false
        var isStopping = false

        var hasJobs: Bool { firstJob < jobs.count }

        mutating func append(_ job: @escaping Job) {
            jobs.append(job)
        }

        mutating func take(limit: Int) -> [Job] {
            if firstJob == 0, jobs.count <= limit {
                // Hand over the whole array: a copy of it would share its memory with the queue.
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
    ///   - name: shown by debuggers, truncated to 15 bytes on Linux.
    ///   - idlePeriod: the time that the thread waits for the next job before it ends.
    ///   - idle: called on the thread when the queue has become empty, and again as its result demands. Jobs go first.
    public init(
        name: String = "writer", idlePeriod: Duration = .seconds(2), idle: (@Sendable () -> IdleWork)? = nil
    ) {
        self.name = name
        self.idlePeriod = idlePeriod
        self.idle = idle
    }

    /// Whether the calling code runs on this thread.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == currentThread() }

    /// Queues a job, to run after the jobs queued before it. Returns `false`, and drops the job, after `stop` and if
    /// the system cannot provide a thread.
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

    /// Removes queued jobs from the queue, for a running job that does their work together with its own.
    public func takeQueued(limit: Int = .max) -> [Job] {
        state.withLock { $0.take(limit: limit) }
    }

    /// Rejects new jobs, lets the queued jobs finish, and waits until the thread has ended. On the thread itself it
    /// does not wait.
    public func stop() {
        state.update { $0.isStopping = true }
        guard !isCurrent else { return }
        state.wait { !$0.isRunning }
    }

    /// Does the same for at most `period`. If the thread has not ended by then, accepts jobs again and returns `false`.
    public func stop(atMost period: Duration) -> Bool {
        state.update { $0.isStopping = true }
        return state.wait(atMost: period) { state in
            !state.isRunning
        } then: { state in
            if state.isRunning { state.isStopping = false }
            return !state.isRunning
        }
    }

    /// Runs `work` on a separate thread and waits for its end: there a write beyond the process's file size limit is an
    /// error and does not end the process. Returns `nil` if the system cannot provide a thread.
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
        // unsafe: the thread takes over this reference, or it is released here if there is no thread.
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

    /// Runs jobs until the queue is empty, then idle work, then waits. Returns `false` if the thread should end.
    private func runJobs() -> Bool {
        while let job = takeQueued(limit: 1).first {
            job()
        }
        // Skip idle work while stopping: it can continue at the next opening, and a stop should wait only for requested
        // jobs.
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
            // The system may give the identity of an ended thread to a new thread.
            thread.store(0, ordering: .relaxed)
            state.isRunning = false
            return false
        }
    }

    /// Blocks the signal of a write beyond the process's file size limit, so that the write fails and the process
    /// survives.
    private static func deferSizeSignal() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGXFSZ)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Runs `body` on the calling thread as on this one: a write beyond the process's file size limit fails, and the
    /// process survives.
    public static func withSizeSignalDeferred<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var (signals, before) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGXFSZ)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, &before)
        defer {
            // A signal that came meanwhile would be delivered with the former mask.
            var pending = sigset_t()
            if unsafe sigismember(&before, SIGXFSZ) == 0, unsafe sigpending(&pending) == 0,
                unsafe sigismember(&pending, SIGXFSZ) == 1
            {
                var taken: Int32 = 0
                unsafe sigwait(&signals, &taken)
            }
            unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        return try body()
    }

    private func setName() {
        #if canImport(Darwin)
            unsafe pthread_setname_np(name)
        #else
            // glibc declares pthread_setname_np only for GNU sources; this file has the same effect. A thread without a
            // name is harmless.
            let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
            guard file >= 0 else { return }
            _ = unsafe write(file, name, min(name.utf8.count, 15))
            close(file)
        #endif
    }
}
