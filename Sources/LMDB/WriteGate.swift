import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where writers wait for each other, so that none waits for LMDB's own lock, a robust mutex in shared memory.
///
/// Such a mutex can lose a wake-up: the holder unlocks and wakes a waiter; before that one runs, the holder locks again, now
/// without the mark that somebody waits; the waiter is killed; the holder unlocks and wakes nobody. Whoever else waits does
/// so until somebody contends again, which for a file that was replaced is never. The lock that the kernel keeps on the data
/// file ends with its holder and wakes all who wait for it.
final class WriteGate: Sendable {
    /// -1 once it is closed.
    private let file: Atomic<Int32>
    private let isTaken = Monitor(false)
    private let generation = ForkWatch.generation

    init(file: String) throws(LMDBError) {
        let descriptor = openFile(file, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno, "open", file) }
        self.file = Atomic(descriptor)
        // A child would keep the lock that its parent held when it was killed.
        ForkWatch.closeInChild(descriptor)
    }

    deinit { close() }

    /// Gives the file back, when nobody writes any more.
    func close() {
        let descriptor = file.exchange(-1, ordering: .acquiringAndReleasing)
        // In a child the number may be another file's by now.
        guard descriptor >= 0, generation == ForkWatch.generation else { return }
        ForkWatch.keepInChild(descriptor)
        closeFile(descriptor)
    }

    /// Waits until the caller is alone in this process, which has one descriptor, and then among all processes.
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

// Inside the class these names could mean its own.
private func openFile(_ path: String, _ flags: Int32) -> Int32 { unsafe open(path, flags) }
private func closeFile(_ descriptor: Int32) { close(descriptor) }
