import LMDB

extension StoreCore {
    /// Whether the file is open. A suspended store has closed it.
    var holdsFile: Bool { state.withLock { $0.phase != .suspended } }

    /// Returns `true` if a file in the folder is the store's own data or lock file.
    func hasFile(of folder: String) -> Bool {
        if let data = FileSystem.identity(of: folder + "/data.mdb"), identity.withLock({ $0 }) == data { return true }
        guard let lock = FileSystem.identity(of: folder + "/lock.mdb") else { return false }
        return file.lock == lock
    }
}
