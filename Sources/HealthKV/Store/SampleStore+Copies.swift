import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Copies the store as it is to a new folder while it is in use. When this returns the copy is durable, and its pages have been
    /// read back and looked at as those of a store that is opened.
    ///
    /// The folder must not be there or be empty, and must not lie in the store's own. Wherever the copy is used, also when its
    /// `data.mdb` is written over the store's to restore it, it goes on as another replica with a new epoch: change tokens from
    /// before are refused, and peers are compared anew.
    ///
    /// ```swift
    /// try store.backup(to: folder + "-backup")
    /// ```
    ///
    /// - Parameter progress: called now and then with the bytes copied so far. Answer false to stop: then nothing of the copy stays,
    ///   and the error's code is ``StoreError/Code/cancelled``.
    public func backup(to folder: String, progress: ((Int) -> Bool)? = nil) throws {
        try copy(to: folder, compacting: false, progress)
    }

    /// Copies the store without its free pages to a new folder, while it is in use. See ``backup(to:progress:)``.
    public func compact(to folder: String, progress: ((Int) -> Bool)? = nil) throws {
        try copy(to: folder, compacting: true, progress)
    }

    private func copy(to folder: String, compacting: Bool, _ progress: ((Int) -> Bool)?) throws {
        try checkOpen()
        guard !core.isWriting else {
            throw StoreError(.nested, path: path, "A copy cannot be made inside write")
        }
        let place = CopyPlace(folder)
        try place.check(against: path)
        place.removeLeftovers()
        // The copy gets its name only when it is whole: whoever finds the folder finds a store.
        let partial = place.newPartial()
        guard FileSystem.makeFolder(partial), let lock = FolderClaim(partial) else {
            throw StoreError(.storage, path: partial, "The folder cannot be made")
        }
        defer { lock.release() }
        StoreAttributes(options: core.options, notices: core.notices).apply(toCopy: partial)
        do {
            try core.copyPresentFile(to: partial, compacting: compacting, progress)
            guard FileSystem.rename(partial, to: place.folder) else {
                throw StoreError(.storage, path: folder, "The copy cannot be given its name")
            }
            // Somebody may have opened it by its name already, so it stays.
            guard FileSystem.flush(folder: FileSystem.parent(of: place.folder)) else {
                throw StoreError(
                    .storage, path: folder,
                    "The copy is whole and in its folder, but its name cannot be made durable in the one above, which must be readable: "
                        + "a power cut may take the name away")
            }
        } catch {
            CopyPlace.remove(partial)
            throw StoreError.wrap(StoreError.ofCopy(error, store: path), path: folder)
        }
    }

    /// Walks the pages of a copy, brings its header in step with its transaction id, which compaction starts anew, and verifies it.
    /// A copy that takes the place of the original keeps its identity, so it gets the record of its new place; any other gets
    /// one that fits no file, so that it is known as a copy also where it is written over the file that it was made of.
    static func settleCopy(
        _ folder: String, compacting: Bool, keepsPlace: Bool = false, _ limits: EngineLimits
    ) throws {
        limits.atCopy?(folder)
        var lmdb = Environment.Options()
        lmdb.isPrivate = true
        // As for a store: beyond the limit LMDB refuses what would otherwise end the process by a signal.
        lmdb.mapSize = max(1 << 20, min(lmdb.mapSize, FileSystem.fileSizeLimit ?? .max))
        let environment = try StoreCore.openChecked(folder, lmdb, limits)
        defer { _ = environment.close() }
        // What is written below would make up for a header that was wrong in the original.
        if !compacting { try verifyHeader(environment, folder) }
        var transaction = try environment.beginWrite()
        let tables = try Tables(creatingIn: &transaction, environment)
        var header = try StoreHeader.read(transaction.view, tables)
        header.transaction = UInt64(transaction.id)
        try transaction.put(tables[.meta], StoreHeader.key, header.value)
        if let place = keepsPlace ? StorePlace(of: folder + "/data.mdb") : .ofCopy {
            try transaction.put(tables[.meta], StorePlace.key, place.value(commit: header.commit))
        }
        try transaction.commit()
        try verifyHeader(environment, folder)
        _ = environment.close()
        FileSystem.remove(folder + "/lock.mdb")
    }

    private static func verifyHeader(_ environment: Environment, _ folder: String) throws {
        let transaction = try environment.beginRead()
        guard let tables = try Tables(in: transaction, environment),
            try StoreHeader.read(transaction.view, tables).transaction == UInt64(transaction.id)
        else { throw StoreError(.damaged, path: folder, "The copy does not agree with itself") }
    }
}

extension StoreError {
    /// An error that was met while a store was copied. Damage is told of the store: the copy is gone when somebody reads of it.
    static func ofCopy(_ error: any Error, store: String) -> any Error {
        if let error = error as? StoreError, error.code == .damaged {
            return StoreError(
                .damaged, path: store, "The copy is damaged and was removed, and the store may be too: \(error.detail)"
            )
        }
        // What LMDB finds damaged while it copies stands in the store itself.
        return isDamage(error) ? wrap(error, path: store) : error
    }
}

extension StoreCore {
    /// Copies the file; one that another process replaced meanwhile is left for its successor.
    fileprivate func copyPresentFile(
        to folder: String, compacting: Bool, _ progress: ((Int) -> Bool)?
    ) throws {
        while true {
            let file = try presentFile()
            do {
                try file.environment.copy(toFolder: folder, compacting: compacting, progress: progress)
                return try SampleStore.settleCopy(folder, compacting: compacting, options.limits)
            } catch {
                let isRetired = (try? StoreCore.isRetired(file)) ?? false
                if file.isInPlace(path), !isRetired { throw error }
                CopyPlace.empty(folder)
                if isRetired { _ = try follow(file) }
            }
        }
    }
}
