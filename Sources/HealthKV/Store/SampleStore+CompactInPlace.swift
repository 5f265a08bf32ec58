import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Puts a compacted copy in the place of the store's file: free pages are given back, and with them what deleted
    /// samples left in them; what was deleted before cannot be undeleted any more. Readers go on meanwhile, writers wait; other processes go on with the new file.
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
        try core.onWriter { [core] in
            try core.notices.holding {
                try core.forgetDeletedContents()
                try core.compactInPlace()
            }
        }
    }
}

extension StoreCore {
    /// Runs on the writing thread. The old file's lock is held from before the copy until the old file says that it is
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

    /// Makes the successor of a file, and lets the file say that it is retired.
    private func retire(_ old: OpenFile, _ replacement: FileReplacement) throws {
        var lmdb = try beginWrite(old)
        let isRetired = try StoreCore.isRetired(lmdb, old)
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
            // Where nobody knows whether the file is retired, whoever opens it next sees.
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
