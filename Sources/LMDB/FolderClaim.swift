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
    public func release() { close(descriptor) }
}
