import Foundation

/// Processor time in nanoseconds.
enum ProcessorTime {
    /// The time of all threads of this process.
    static func ofProcess() -> UInt64 { read(CLOCK_PROCESS_CPUTIME_ID) }
    /// The time of the calling thread.
    static func ofThread() -> UInt64 { read(CLOCK_THREAD_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        // SAFETY: the call fills the struct that it is given.
        unsafe clock_gettime(clock, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
