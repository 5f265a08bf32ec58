import LMDBInC

/// Environments that are closed for this process, but not yet for LMDB, because another program held the lock of their
/// folder for too long. Without that lock, closing could remove locks that another process is just opening.
///
/// They are closed, under the lock, when this process opens the same folder again or closes any environment. The system
/// closes the rest when the process ends.
enum PostponedClosing {
    @safe
    private struct Rest: @unchecked Sendable {
        // @unchecked Sendable and unsafe: the pointer is alive, and nothing else uses it, until the rest leaves
        // the list.
        let raw: OpaquePointer
        let path: String
        let folder: FileIdentity?
        let forkGeneration: Int
    }

    private static let rests = Monitor<[Rest]>([])

    /// Takes over an environment that nothing uses any more.
    static func add(_ raw: OpaquePointer, _ path: String) {
        let rest = unsafe Rest(
            raw: raw, path: path, folder: FileSystem.identity(of: path), forkGeneration: ForkWatch.generation)
        rests.withLock { $0.append(rest) }
    }

    /// Returns `true` if an environment of the folder is still to be closed.
    static func waits(in path: String) -> Bool {
        let folder = FileSystem.identity(of: path)
        return rests.withLock { $0.contains { isMeant($0, path, folder) } }
    }

    /// Closes what waits in a folder. The caller holds the folder's lock, so that no environment of the folder is
    /// opened in between: closing one would release the locks of the other.
    static func finish(in path: String) {
        let folder = FileSystem.identity(of: path)
        let ready = rests.withLock { list in
            let ready = list.filter { isMeant($0, path, folder) }
            list.removeAll { isMeant($0, path, folder) }
            return ready
        }
        // In a forked child they belong to the parent.
        for rest in ready where rest.forkGeneration == ForkWatch.generation { unsafe mdb_env_close(rest.raw) }
    }

    /// Closes what waits in folders whose lock is free now.
    static func finishAll() {
        for path in rests.withLock({ Set($0.map(\.path)) }) {
            _ = FolderLock.held(path, patience: .zero) { finish(in: path) }
        }
    }

    /// A folder that is gone has no lock.
    private static func isMeant(_ rest: Rest, _ path: String, _ folder: FileIdentity?) -> Bool {
        folder == nil ? rest.path == path : rest.folder == folder
    }
}
