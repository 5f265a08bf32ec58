import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Counts the forks between this process and the one that first asked. A child shares the map and the reader slots of
/// its parent but none of its locks, so it must neither use nor close what the parent opened. Asking for the process
/// id at each transaction would cost a system call; the count is one load.
enum ForkWatch {
    private static let count = Atomic<Int>(0)

    private static let registered: Int32 = {
        _ = count.load(ordering: .relaxed)
        // The handler is a plain function that only touches an atomic, which is allowed after a fork.
        return pthread_atfork(nil, nil) { ForkWatch.noteFork() }
    }()

    /// The present generation: equal in a process and in its threads, greater in a child.
    static var generation: Int {
        precondition(registered == 0, "no memory to watch for forks")
        return count.load(ordering: .relaxed)
    }

    static func noteFork() {
        count.add(1, ordering: .relaxed)
    }
}
