#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Processor time, which other work on the machine does not lengthen.
enum ProcessorTime {
    /// The time of all threads of this process.
    static var ofProcess: Duration {
        var time = timespec()
        // With a timer of processor time, Linux adds a running thread to the time of its process only at a tick, or
        // when the thread's own clock is read.
        // unsafe: here and below, C fills the memory during the call.
        _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The time of all ended processes that this process started.
    static var ofChildren: Duration {
        var usage = rusage()
        _ = unsafe getrusage(children, &usage)
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        return .seconds(seconds) + .microseconds(Int64(usage.ru_utime.tv_usec) + Int64(usage.ru_stime.tv_usec))
    }

    /// Arms timers that end this process, in place of those armed before: by SIGPROF after so many seconds of its
    /// processor time, and by SIGALRM after so many of wall-clock time.
    static func limit(seconds: Int, wallSeconds: UInt32) {
        var timer = itimerval()
        timer.it_value.tv_sec = seconds
        // unsafe: C reads the timer during the call.
        _ = unsafe setitimer(profiling, &timer, nil)
        _ = alarm(wallSeconds)
    }

    #if canImport(Glibc)
        private static let profiling = __itimer_which_t(ITIMER_PROF.rawValue)
        private static let children = RUSAGE_CHILDREN.rawValue
    #else
        private static let profiling = ITIMER_PROF
        private static let children = RUSAGE_CHILDREN
    #endif
}
