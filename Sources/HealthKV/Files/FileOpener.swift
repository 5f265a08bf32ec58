import ColumnFormat
import HealthModel
import LMDB
import PageReader
import Synchronization

/// Opens the data file of a folder.
struct FileOpener {
    let folder: String
    let options: StoreOptions
    let notices: NoticeBoard

    private var data: String { StoreFiles.dataPath(in: folder) }

    /// Opens the file. Creates the store if there is none and the options allow it.
    func open() throws -> OpenFile {
        let rules = OpeningRules(folder: folder, options: options, notices: notices)
        try rules.check()
        if FileSystem.size(of: data) == nil {
            try create()
        } else if !options.readOnly {
            attributes.apply(toFolder: folder)
        }
        if !options.readOnly { UnfinishedFolder.removeLeftovers(in: folder) }
        if options.readOnly, !rules.canLock { return try openPresent() }
        for _ in 0..<FileOpener.attempts {
            do {
                let file = try openShared()
                // Not under the folder's lock: this could wait for a process that waits for that lock.
                if file.access == .locked, !options.readOnly {
                    try settle(file)
                    attributes.apply(toFilesIn: folder)
                }
                return file
            } catch let retired as RetiredFile {
                if let file = retired.file { try replacement.finish(file) }
            }
        }
        throw StoreError(.busy, path: folder, "Other processes replace the file again and again")
    }

    private static let attempts = 32

    private var replacement: FileReplacement {
        FileReplacement(folder: folder, patience: options.limits.folderPatience)
    }

    private func openShared() throws -> OpenFile {
        do {
            return try openLocked()
        } catch let error as LMDBError where options.readOnly && (error.isRefusal || error.meansNoRoom) {
            return try openPresent()
        }
    }

    private func openPresent() throws -> OpenFile {
        do {
            return try openUnlocked()
        } catch let retired as RetiredFile {
            guard retired.file != nil else {
                throw StoreError(.busy, path: folder, "Another process has just replaced the file")
            }
            throw StoreError(
                .storage, path: folder,
                "A compaction was cut short, and this process may not finish it: open the store once where it may write"
            )
        }
    }

    /// Does the work that a file needs once when it is opened for writing.
    private func settle(_ file: OpenFile) throws {
        do {
            try FileOpener.catchingUp(file.environment) {
                if !options.limits.ignoresPlace {
                    try RestoreMark.settle(
                        file.environment, file.tables, { try file.presentJournalFile() }, folder, options, notices)
                }
                try replacement.removeLeftover(file.environment, file.tables)
                try file.written.begin(folder, at: file.header().token)
            }
        } catch {
            // Another process may meanwhile have put a compacted file in the place of this one.
            let isRetired = (try? file.isRetired()) ?? false
            file.environment.close()
            throw isRetired ? RetiredFile(file: file.data) : error
        }
        file.noteOwnWrite()
    }

    private func create() throws {
        guard options.createIfMissing, !options.readOnly else {
            throw StoreError(.noStore, path: folder, "There is no store in this folder")
        }
        if let failure = FileSystem.makingFolderFails(folder) { throw StoreError.unmade(folder, failure) }
        if let stranger = FileSystem.names(in: folder)?.first(where: { !StoreFiles.isOwnName($0) }) {
            // Another process may have created the store just now.
            if FileSystem.size(of: data) != nil { return }
            throw StoreError(
                .notAStore, path: folder, "The folder holds other things (\(stranger)) and no store")
        }
        attributes.apply(toFolder: folder)
        try StoreFiles.create(in: folder, options)
    }

    private var attributes: StoreAttributes { StoreAttributes(options: options, notices: notices) }

    private var lmdbOptions: Environment.Options {
        var lmdb = Environment.Options()
        // A map within the limit makes LMDB return an error where the system would otherwise end the process by a
        // signal.
        lmdb.mapSize = max(1 << 20, min(options.mapSize, FileSystem.fileSizeLimit ?? .max))
        lmdb.readOnly = options.readOnly
        lmdb.scratch = options.limits.skipsSync
        lmdb.isPrivate = options.limits.opensTogether
        lmdb.patience = options.limits.folderPatience
        lmdb.cipher = options.sealer.map { SealedBodies($0) }
        return lmdb
    }

    private func openLocked() throws -> OpenFile {
        let environment = try CheckedOpening.open(folder, lmdbOptions, options.limits)
        let file: OpenFile
        do {
            let (opened, lock) = (try environment.dataFile(), FileSystem.identity(of: StoreFiles.lockPath(in: folder)))
            guard let present = FileSystem.identity(of: data) else {
                throw StoreError(.noStore, path: folder, "The data file vanished while it was opened")
            }
            // If another file has taken its place, the lock file is not its own either.
            if present != opened { throw RetiredFile(file: nil) }
            file = try FileOpener.catchingUp(environment) {
                try finish(environment, .locked, data: opened, lock: lock)
            }
        } catch {
            environment.close()
            throw error
        }
        if !options.readOnly {
            let stale = try environment.clearStaleReaders()
            if stale > 0 {
                notices.post(.staleReaders, folder, "Cleared \(stale) stale reader slots of ended processes")
            }
        }
        return file
    }

    /// Runs `work` on an environment that no other thread uses yet. If another process lets the file grow in between,
    /// adopts the larger map and runs `work` again.
    static func catchingUp<Result>(_ environment: Environment, _ work: () throws -> Result) throws -> Result {
        for _ in 0..<attempts {
            do {
                return try work()
            } catch let error as LMDBError where error.code == .mapResized {
                try environment.adoptSize()
            }
        }
        return try work()
    }

    /// Opens the file without locks: the file itself if nothing can write to it, else a private copy.
    private func openUnlocked() throws -> OpenFile {
        guard let identity = FileSystem.identity(of: data) else {
            throw StoreError(.noStore, path: folder, "There is no store in this folder")
        }
        var lmdb = lmdbOptions
        lmdb.immutable = true
        if FileSystem.isImmutable(data) {
            notices.post(.withoutLocks, folder, "The medium is for reading only: the store is read without locks")
            let environment = try CheckedOpening.open(folder, lmdb, options.limits)
            return try finish(environment, .immutable, data: identity, lock: nil)
        }
        let temporary = FileSystem.temporaryFolder
        UnfinishedFolder.removeCopies(in: temporary)
        let copy = try UnfinishedFolder(in: temporary, prefix: UnfinishedFolder.copyPrefix)
        // The map keeps the file alive; its name is not needed.
        defer { copy.remove() }
        try copyStore(to: copy.path)
        notices.post(
            .withoutLocks, folder, "The lock file cannot be used: a copy is read, made when the store was opened")
        do {
            let environment = try CheckedOpening.open(copy.path, lmdb, options.limits)
            let file = try finish(environment, .copy, data: identity, lock: nil)
            _ = try file.presentJournalFile()
            return file
        } catch {
            throw StoreError.retold(error, of: folder)
        }
    }

    /// Copies the tables and the journal over them. Starts over if another process has moved the journal into the
    /// tables meanwhile, since it may have written over what belongs to the copied tables.
    private func copyStore(to target: String) throws {
        let copied = StoreFiles.journalPath(in: target)
        for _ in 0..<options.limits.copyAttempts {
            try copySnapshot(to: StoreFiles.dataPath(in: target))
            guard let source = try JournalFile.open(StoreFiles.journalPath(in: folder), readOnly: true) else { return }
            let bytes = source.bytes(at: 0, count: source.byteCount) ?? []
            FileSystem.remove(copied)
            guard FileSystem.writeSmallFile(copied, bytes) else {
                throw StoreError(.storage, path: target, "The copy to read from cannot be written")
            }
            if DataFile(data)?.metas()?.newestTransaction
                == DataFile(StoreFiles.dataPath(in: target))?.metas()?.newestTransaction
            {
                return
            }
        }
        throw StoreError(
            .busy, path: folder, "A writer changed the file again and again while it was read without locks")
    }

    private func copySnapshot(to target: String) throws(StoreError) {
        let (data, attempts) = (data, options.limits.copyAttempts)
        let outcome = WriterThread.apart { DataFile(data)?.copySnapshot(to: target, attempts: attempts) }
        guard let outcome else {
            throw StoreError(.storage, path: data, "The system has no thread to give that would copy the file")
        }
        switch outcome {
        case nil: throw StoreError(.accessDenied, path: data, "The file may not be read by this process")
        case .copied: return
        case .busy:
            throw StoreError(
                .busy, path: data, "A writer changed the file again and again while it was read without locks")
        case .invalid:
            try StoreError.refuseOtherFile(folder)
            throw StoreError(.damaged, path: data, "The file does not begin with the meta pages of LMDB")
        case .unreadable(let code): throw StoreError.unreadable(folder, .system(code))
        case .failed(let code):
            throw StoreError(
                .storage, path: target, "The copy to read from cannot be written",
                underlying: LMDBError(.init(rawValue: code), operation: "pwrite", path: target))
        }
    }

    private func finish(
        _ environment: Environment, _ access: OpenFile.Access, data: FileIdentity, lock: FileIdentity?
    ) throws -> OpenFile {
        while true {
            if let opened = try ExistingStore.find(environment, folder, readOnly: options.readOnly) {
                try SealRecord.verify(
                    opened.seal, options.sealer, ignoresSeal: options.limits.ignoresSeal, folder)
                if options.sealer != nil, let bodies = environment.options.cipher as? SealedBodies {
                    bodies.begin(opened.storeID)
                }
                return OpenFile(
                    environment: environment, tables: opened.tables, access: access, data: data, lock: lock,
                    storeID: opened.storeID, seal: opened.seal)
            }
            _ = try StoreFiles.create(environment, options)
        }
    }
}
