import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Puts a compacted copy in the place of the store's file: free pages are given back, and with them what deleted
    /// samples left in them. Readers go on meanwhile, writers wait; other processes go on with the new file.
    ///
    /// ```swift
    /// try store.write { try $0.purgeSource(Source(bundle: "app.example.old", name: "Old").identity) }
    /// while try store.maintain() {}
    /// try store.compactInPlace()
    /// ```
    ///
    /// The disk must have room for the copy. The old file's blocks are free once the last of its readers has ended; a disk may
    /// keep their bytes until it uses them again.
    public func compactInPlace() throws {
        try checkWritable()
        try core.onWriter { [core] in try core.notices.holding { try core.compactInPlace() } }
    }
}

extension StoreCore {
    /// Runs on the writing thread. The old file's lock is held from before the copy until the old file says that it is
    /// retired, so no commit is lost; the folder's lock keeps others from opening between two steps; and whoever has the
    /// old file open finds its name or its header changed at the next transaction.
    func compactInPlace() throws {
        _ = try presentFile()
        try following.withLock { _ in
            let old = try usableFile()
            var lmdb = try old.environment.beginWrite()
            let isRetired = try StoreCore.isRetired(lmdb, old)
            guard !isRetired, old.isInPlace(path) else {
                throw StoreError(.busy, path: path, "Another process has just replaced the file")
            }
            let made = try UnfinishedFolder(in: path)
            defer { made.remove() }
            try old.environment.copy(toFolder: made.path, compacting: true)
            try SampleStore.settleCopy(made.path, compacting: true, keepsPlace: true)
            try lmdb.put(old.tables[.meta], StoreHeader.key, StoreHeader.retiredValue(commit: .max))
            var isReplaced = false
            do {
                let new = try registry.moving(self) {
                    try takePlace(made.path)
                    isReplaced = true
                    return try openReplacement()
                }
                state.withLock { $0.file = new }
            } catch {
                // The old file has no name any more, whether the new one could be opened or not.
                if isReplaced { try? lmdb.commit() }
                throw error
            }
            // This only tells others, who would also find the name changed.
            try? lmdb.commit()
        }
    }

    /// Gives a new file the name of the old one, and does away with the old locks.
    private func takePlace(_ made: String) throws(StoreError) {
        let lock = FolderLock(path, exclusive: true)
        defer { _ = lock.isHeld }
        guard FileSystem.size(of: made + "/data.mdb") != nil else {
            throw StoreError(.storage, path: made, "The compacted file was removed before it could take its place")
        }
        // The locks first: a crash in between leaves the old file, and who opens it makes new locks for it.
        // They must go: the new file with them would make LMDB initialize locks that this thread holds.
        guard FileSystem.remove(path + "/lock.mdb") || FileSystem.identity(of: path + "/lock.mdb") == nil else {
            throw StoreError(.storage, path: path, "The lock file of the old file cannot be removed")
        }
        guard FileSystem.rename(made + "/data.mdb", to: path + "/data.mdb") else {
            throw StoreError(.storage, path: path, "The compacted file cannot take the place of the old one")
        }
        _ = FileSystem.flush(folder: path)
    }

    private func openReplacement() throws -> OpenFile {
        var options = options
        options.limits.ignoresPlace = true
        return try FileOpener(folder: path, options: options, notices: notices).open()
    }
}
