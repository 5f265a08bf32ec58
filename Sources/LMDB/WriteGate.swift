import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A lock at which writers wait for each other, so that none waits for LMDB's own lock, a robust mutex in shared
/// memory.
///
/// Such a mutex can lose a wake-up. The holder unlocks and wakes a waiter. Before that waiter runs, the holder locks
/// again, now without the mark that a thread waits. The waiter is killed, and the holder unlocks without waking anyone.
/// All other waiters then wait until the next contention, which for a replaced file never comes. The kernel's lock on
/// the data file, in contrast, ends with its holder and wakes all waiters.
final class WriteGate: Sendable {
    /// -1 after `close`.
    private let file: Atomic<Int32>
    private let isTaken = Monitor(false)
    private let generation = ForkWatch.generation
    private let path: String

    init(file: String) throws(LMDBError) {
        path = file
        let descriptor = openFile(file, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno, "open", file) }
        self.file = Atomic(descriptor)
        // A child would keep the lock that its parent held when the parent was killed.
        ForkWatch.closeInChild(descriptor)
    }

    deinit { close() }

    /// Closes the file. Requires that there is no active writer.
    func close() {
        let descriptor = file.exchange(-1, ordering: .acquiringAndReleasing)
        // In a child the descriptor number may belong to another file by now.
        guard descriptor >= 0, generation == ForkWatch.generation else { return }
        ForkWatch.keepInChild(descriptor)
        closeFile(descriptor)
    }

    /// Waits until the caller is the only writer in this process, which has one descriptor, and then among all
    /// processes. Throws if the system has no lock left to give.
    func enter() throws(LMDBError) {
        while isTaken.withLock({ exchange(&$0, with: true) }) { isTaken.wait { !$0 } }
        let descriptor = file.load(ordering: .relaxed)
        while flock(descriptor, LOCK_EX) != 0 {
            let code = errno
            if code == EINTR { continue }
            // Where there are no such locks, LMDB's own must do.
            guard code == ENOLCK else { return }
            isTaken.update { $0 = false }
            throw LMDBError(code, "flock", path)
        }
    }

    /// Returns `true` if no process writes now, or the one that does ends within a period.
    func isFree(within period: Duration) -> Bool {
        guard !isTaken.withLock({ exchange(&$0, with: true) }) else { return false }
        defer { isTaken.update { $0 = false } }
        let descriptor = file.load(ordering: .relaxed)
        let end = ContinuousClock.now + period
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { return true }
            guard ContinuousClock.now < end else { return false }
            pauseThread(nanoseconds: 1_000_000)
        }
        while flock(descriptor, LOCK_UN) != 0, errno == EINTR {}
        return true
    }

    func leave() {
        let descriptor = file.load(ordering: .relaxed)
        while flock(descriptor, LOCK_UN) != 0, errno == EINTR {}
        isTaken.update { $0 = false }
    }
}

// Inside the class these names could refer to its own methods.
private func openFile(_ path: String, _ flags: Int32) -> Int32 { unsafe open(path, flags) }
private func closeFile(_ descriptor: Int32) { close(descriptor) }
