import ColumnFormat
import HealthModel
import LMDB

/// Handles a data file that was replaced while it is open. After a compaction by this or another process, the store
/// continues with the new file; after any other replacement it throws.
enum Following {
    /// Opens the file that has taken the place of `old`, and returns it.
    static func follow(_ old: OpenFile, in core: StoreCore) throws -> OpenFile {
        try core.notices.holding { try followLocked(old, in: core) }
    }

    private static func followLocked(_ old: OpenFile, in core: StoreCore) throws -> OpenFile {
        try core.following.withLock { _ in
            let present = try core.usableFile()
            if present !== old { return present }
            let isRetired = try? old.isRetired()
            if isRetired == true { try FileReplacement(of: core).finish(old.data) }
            if isRetired == false { try refuseLostLock(old, in: core) }
            do {
                // A legitimate replacement also unlinks lock.mdb. Opening another file with locks that this process
                // holds would break those locks.
                guard old.lock == nil || FileSystem.identity(of: StoreFiles.lockPath(in: core.path)) != old.lock else {
                    throw StoreError(.replaced, path: core.path, "data.mdb was exchanged, and its lock file was not")
                }
                let before = try? old.header()
                let new = try core.registry.moving(core) { try openSuccessor(of: old, from: before, in: core) }
                core.state.withLock { $0.file = new }
                core.notices.post(
                    .reopened, core.path, "Another file took the place of data.mdb, and the store went on with it")
                return new
            } catch let error as StoreError where Following.isLasting(error) {
                let wrapped = StoreError(
                    .replaced, path: core.path, "data.mdb was replaced or removed while it was open", underlying: error)
                core.state.withLock { $0.replaced = wrapped }
                throw wrapped
            }
        }
    }

    /// Throws if the data file is still in place but its lock file is not. With a new lock file, writers would not see
    /// readers that use the old one, and would reuse the pages that these readers see. The replacement of a retired
    /// file removes the lock file legitimately.
    private static func refuseLostLock(_ old: OpenFile, in core: StoreCore) throws(StoreError) {
        guard FileSystem.identity(of: StoreFiles.dataPath(in: core.path)) == old.data,
            FileSystem.identity(of: StoreFiles.lockPath(in: core.path)) != old.lock
        else { return }
        let error = StoreError(
            .replaced, path: core.path,
            "lock.mdb was removed or exchanged while the store was open: close the store in every process, then open it"
        )
        core.state.withLock { $0.replaced = error }
        throw error
    }

    /// Returns `true` if the error means that the store cannot continue with the contents of the folder. Other
    /// failures, such as lack of memory, may pass.
    private static func isLasting(_ error: StoreError) -> Bool {
        [.replaced, .noStore, .notAStore, .damaged, .newerFormat, .olderFormat, .unsafeFolder, .wrongKey]
            .contains(error.code)
    }

    /// Returns the file that is in the folder now, for operations that need no transaction.
    static func presentFile(in core: StoreCore) throws -> OpenFile {
        var file = try core.usableFile()
        while !file.isInPlace(core.path) { file = try follow(file, in: core) }
        return file
    }

    /// Opens the file in the folder, which must belong to the same store and must not be an earlier state than
    /// `before`.
    static func openSuccessor(of old: OpenFile, from before: StoreHeader?, in core: StoreCore) throws -> OpenFile {
        var options = core.options
        options.createIfMissing = false
        options.limits.ignoresPlace = true
        let new = try FileOpener(folder: core.path, options: options, notices: core.notices).open()
        guard new.storeID == old.storeID else {
            throw StoreError(.replaced, path: core.path, "The folder holds another store now")
        }
        if let before, let goesOn = try? FileOpener.catchingUp(new.environment, { try new.goesOn(from: before) }),
            !goesOn
        {
            new.environment.close()
            throw StoreError(.replaced, path: core.path, "The folder holds an earlier state or a copy of the store now")
        }
        return new
    }
}
