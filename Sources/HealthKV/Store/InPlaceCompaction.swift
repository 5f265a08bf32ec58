import ColumnFormat
import HealthModel
import LMDB

/// Puts a compacted copy in the place of the data file.
enum InPlaceCompaction {
    /// Runs on the writing thread. Holds the old file's write lock from before the copy until the old file is marked as
    /// retired, so no commit is lost.
    static func compactInPlace(in core: StoreCore) throws {
        _ = try Following.presentFile(in: core)
        try core.following.withLock { _ in
            let old = try core.usableFile()
            let replacement = FileReplacement(of: core)
            try retire(old, replacement, in: core)
            core.options.limits.atReplacement?(.retired)
            let new = try core.registry.moving(core) {
                try replacement.finish(old.data) { core.options.limits.atReplacement?($0) }
                return try openReplacement(in: core)
            }
            core.state.withLock { $0.file = new }
        }
    }

    /// Creates the successor of a file, and marks the file as retired.
    private static func retire(_ old: OpenFile, _ replacement: FileReplacement, in core: StoreCore) throws {
        var lmdb = try core.beginWrite(old)
        let isRetired = try old.isRetired(in: lmdb)
        guard !isRetired, old.isInPlace(core.path) else {
            throw StoreError(.busy, path: core.path, "Another process has just replaced the file")
        }
        let made = try UnfinishedFolder(in: core.path)
        defer { made.remove() }
        do {
            try old.environment.copy(toFolder: made.path, compacting: true)
            try SampleStore.settleCopy(made.path, compacting: true, keepsPlace: true, core.options.limits)
        } catch {
            throw StoreError.retold(StoreError.ofCopy(error, store: core.path), of: core.path)
        }
        guard FileSystem.size(of: made.path + "/data.mdb") != nil else {
            throw StoreError(.storage, path: core.path, "The compacted file was removed before it could take its place")
        }
        core.options.limits.atReplacement?(.copied)
        try replacement.prepare(made.path + "/data.mdb")
        core.options.limits.atReplacement?(.prepared)
        do throws(LMDBError) {
            try lmdb.put(old.tables[.meta], StoreHeader.key, StoreHeader.retiredValue(commit: .max))
            try lmdb.commit()
        } catch {
            // If it is unknown whether the file is retired, the next process that opens it finds out.
            if !error.leavesOutcomeUnknown { replacement.giveUp() }
            throw core.failedCommit(error, old)
        }
    }

    private static func openReplacement(in core: StoreCore) throws -> OpenFile {
        var options = core.options
        options.limits.ignoresPlace = true
        return try FileOpener(folder: core.path, options: options, notices: core.notices).open()
    }
}

extension FileReplacement {
    init(of core: StoreCore) { self.init(folder: core.path, patience: core.options.limits.folderPatience) }
}

extension SampleStore {
    /// Replaces the store's file with a compacted copy. This frees unused pages, and with them what deleted samples
    /// left in them; samples that were deleted before can no longer be undeleted. Readers continue meanwhile, and
    /// writers wait; other processes continue with the new file.
    ///
    /// ```swift
    /// try store.write { try $0.purge(.source(Source(bundle: "app.example.old", name: "Old").identity)) }
    /// while try store.maintain() {}
    /// try store.compactInPlace()
    /// ```
    ///
    /// The disk must have room for the copy. The old file's blocks become free once the last of its readers has ended;
    /// a disk may keep their bytes until it reuses them.
    public func compactInPlace() throws {
        try checkWritable()
        try core.onWriter { [core] in
            try core.notices.holding {
                try Upkeep.forgetDeletedContents(in: core)
                try InPlaceCompaction.compactInPlace(in: core)
            }
        }
    }
}
