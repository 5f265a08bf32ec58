#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A lock on a folder that ends with its holder, even if the holder is killed. It proves that no other process works in
/// the folder.
public struct FolderClaim: Sendable {
    private let descriptor: Int32
    private let mark = ForkMark()

    /// Locks a folder; `nil` if another holder has the lock or if the folder cannot be opened.
    public init?(_ folder: String) {
        descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
    }

    /// Releases the lock. Call it exactly once.
    public func release() { mark.unlockAndClose(descriptor) }
}

extension ForkMark {
    /// Releases the lock on an open file and closes the file. A child that was forked meanwhile shares the descriptor,
    /// so closing alone would leave the lock to that child. In the child itself the lock belongs to the parent and is
    /// not released.
    func unlockAndClose(_ descriptor: Int32) {
        if !isForked { while flock(descriptor, LOCK_UN) != 0, errno == EINTR {} }
        close(descriptor)
    }
}
