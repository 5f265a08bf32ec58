import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Ctrl-C: the work looks at this between two steps and stops where nothing is half done.
struct Interruption: Error {
    private static let requested = Atomic<Bool>(false)

    /// Called by the signal handler, which may do no more than this.
    private static func request() {
        if requested.exchange(true, ordering: .relaxed) { _exit(ExitCode.failed.rawValue) }
    }

    static func check() throws {
        if requested.load(ordering: .relaxed) { throw Interruption() }
    }

    /// A closed pipe becomes an error of writing. The first Ctrl-C asks the work to stop, the second ends the process.
    static func installHandlers() {
        _ = signal(SIGPIPE, SIG_IGN)
        for number in [SIGINT, SIGTERM] {
            _ = signal(number) { _ in Interruption.request() }
        }
    }
}
