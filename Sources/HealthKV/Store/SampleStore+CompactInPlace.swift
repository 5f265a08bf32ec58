import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Replaces the store's file with a compacted copy. This frees unused pages, and with them what deleted samples
    /// left in them; samples that were deleted before can no longer be undeleted. Readers continue meanwhile, and
    /// writers wait; other processes continue with the new file.
    ///
    /// ```swift
    /// try store.write { try $0.purgeSource(Source(bundle: "app.example.old", name: "Old").identity) }
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
                try core.forgetDeletedContents()
                try core.compactInPlace()
            }
        }
    }
}

extension StoreCore {
    /// Runs on the writing thread. Holds the old file's write lock from before the copy until the old file is marked as
    /// retired, so no commit is lost.
    func compactInPlace() throws {
        _ = try presentFile()
        try following.withLock { _ in
            let old = try usableFile()
            let replacement = FileReplacement(folder: path)
            try retire(old, replacement)
            options.limits.atReplacement?(.retired)
            let new = try registry.moving(self) {
                try replacement.finish(old.data) { options.limits.atReplacement?($0) }
                return try openReplacement()
            }
            state.withLock { $0.file = new }
        }
    }

    /// Creates the successor of a file, and marks the file as retired.
    private func retire(_ old: OpenFile, _ replacement: FileReplacement) throws {
        var lmdb = try beginWrite(old)
        let isRetired = try old.isRetired(in: lmdb)
        guard !isRetired, old.isInPlace(path) else {
            throw StoreError(.busy, path: path, "Another process has just replaced the file")
        }
        let made = try UnfinishedFolder(in: path)
        defer { made.remove() }
        do {
            try old.environment.copy(toFolder: made.path, compacting: true)
            try SampleStore.settleCopy(made.path, compacting: true, keepsPlace: true, options.limits)
        } catch {
            throw StoreError.retold(StoreError.ofCopy(error, store: path), of: path)
        }
        guard FileSystem.size(of: made.path + "/data.mdb") != nil else {
            throw StoreError(.storage, path: path, "The compacted file was removed before it could take its place")
        }
        options.limits.atReplacement?(.copied)
        try replacement.prepare(made.path + "/data.mdb")
        options.limits.atReplacement?(.prepared)
        do throws(LMDBError) {
            try lmdb.put(old.tables[.meta], StoreHeader.key, StoreHeader.retiredValue(commit: .max))
            try lmdb.commit()
        } catch {
            // If it is unknown whether the file is retired, the next process that opens it finds out.
            if !error.leavesOutcomeUnknown { replacement.giveUp() }
            throw failedCommit(error, old)
        }
    }

    private func openReplacement() throws -> OpenFile {
        var options = options
        options.limits.ignoresPlace = true
        return try FileOpener(folder: path, options: options, notices: notices).open()
    }
}
