#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A lock on a folder that ends with its holder, even when that is killed: whoever gets it knows that nobody works there.
public struct FolderClaim: Sendable {
    private let descriptor: Int32
    private let mark = ForkMark()

    /// Locks a folder; `nil` when another holds the lock or the folder cannot be opened.
    public init?(_ folder: String) {
        descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
    }

    /// Gives the lock back. Call it once.
    public func release() { mark.unlockAndClose(descriptor) }
}

extension ForkMark {
    /// Gives back the lock on an open file, and closes it. A child that was forked meanwhile has the descriptor too, and closing this
    /// one alone would leave the lock to it. In that child the lock is the parent's.
    func unlockAndClose(_ descriptor: Int32) {
        if !isForked { while flock(descriptor, LOCK_UN) != 0, errno == EINTR {} }
        close(descriptor)
    }
}
