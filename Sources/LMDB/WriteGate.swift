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

    init(file: String) throws(LMDBError) {
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
    /// processes.
    func enter() {
        while isTaken.withLock({ exchange(&$0, with: true) }) { isTaken.wait { !$0 } }
        let descriptor = file.load(ordering: .relaxed)
        while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
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
