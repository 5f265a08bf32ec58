import ColumnFormat
import HealthModel
import LMDB

/// Copies a store while it is in use.
enum StoreCopy {
    /// Copies the store to a folder that does not exist or is empty.
    static func make(
        of core: StoreCore, to folder: String, compacting: Bool, _ progress: ((Int) -> Bool)?
    ) throws {
        try inPartialFolder(of: core, to: folder) { partial in
            try copyPresentFile(of: core, to: partial, compacting: compacting, progress)
        }
    }

    /// Copies the store value by value into a new file, sealed by another cipher than its own, or not at all.
    static func reseal(
        _ core: StoreCore, to folder: String, _ sealer: (any StoreSealer)?, _ progress: ((Int) -> Bool)?
    ) throws {
        try inPartialFolder(of: core, to: folder) { partial in
            try core.read { try reseal($0.snapshot, of: core, into: partial, sealer, progress) }
        }
    }

    /// Copies a snapshot to a new file in a folder, sealed by another cipher than its own, or not at all.
    static func reseal(
        _ snapshot: borrowing Snapshot, of core: StoreCore, into folder: String, _ sealer: (any StoreSealer)?,
        keepsPlace: Bool = false, _ progress: ((Int) -> Bool)? = nil
    ) throws {
        try write(snapshot, of: core, into: folder, sealer, progress)
        try settle(
            folder, compacting: true, keepsPlace: keepsPlace, JournaledCommits(transaction: 0), of: snapshot.tables,
            core.options.limits)
    }

    /// Writes all that a snapshot shows into a new file, which the next commit makes durable.
    private static func write(
        _ snapshot: borrowing Snapshot, of core: StoreCore, into folder: String, _ sealer: (any StoreSealer)?,
        _ progress: ((Int) -> Bool)?
    ) throws {
        var options = Environment.Options.unfinished
        options.cipher = sealer.map { SealedBodies($0, of: snapshot.header.storeID) }
        let source = core.environment.options.cipher as? SealedBodies
        let environment = try Environment(folder: folder, options: options)
        defer { _ = environment.close() }
        var (bytes, reported, committed) = (0, 0, 0)
        for (number, code) in TableCode.allCases.enumerated() {
            var transaction = try environment.beginWrite()
            let tables = try OpenTables(creatingIn: &transaction, environment)
            var cursor = try snapshot.view.cursor(snapshot.tables[code])
            while try cursor.next() {
                // Each file has its own journal, and its own seal.
                if code == .meta, [Journal.key, SealRecord.key].contains(cursor.key.copied()) { continue }
                // Not through the transaction, which would keep all that it opens.
                let stored = cursor.stored
                if let opened = try source?.opened(stored) {
                    try transaction.append(tables[code], key: cursor.key, value: opened.rawBytes)
                } else {
                    // Sealing gives a value new checksums, so the old ones must have been right.
                    if sealer != nil { try StoredValue(stored, table: code).verify() }
                    try transaction.append(tables[code], key: cursor.key, value: stored)
                }
                bytes += cursor.key.byteCount + stored.byteCount
                if bytes - committed > core.options.limits.copiedBytesAtOnce {
                    committed = bytes
                    try transaction.commit()
                    transaction = try environment.beginWrite()
                }
                guard bytes - reported > 1 << 20 else { continue }
                reported = bytes
                if let progress, !progress(bytes) {
                    throw LMDBError(.cancelled, operation: "copy", path: folder)
                }
            }
            if number == 0, let sealer {
                try transaction.put(
                    tables[.meta], SealRecord.key, SealRecord(sealing: sealer).value(stamp: snapshot.header.stamp))
            }
            try transaction.commit()
        }
    }

    private static func inPartialFolder(
        of core: StoreCore, to folder: String, _ body: (String) throws -> Void
    ) throws {
        guard !core.isWriting else {
            throw StoreError(.nested, path: core.path, "A copy cannot be made inside write")
        }
        let place = CopyDestination(folder)
        try place.check(against: core.path)
        place.removeLeftovers()
        // The copy gets its name only when it is complete: a process that finds the folder finds a store.
        let partial = place.newPartial()
        if let failure = FileSystem.makingFolderFails(partial) { throw StoreError.unmade(partial, failure) }
        guard let lock = FolderClaim(partial) else {
            throw StoreError(.storage, path: partial, "The folder for the copy cannot be locked")
        }
        defer { lock.release() }
        StoreAttributes(options: core.options, notices: core.notices).apply(toCopy: partial)
        do {
            try body(partial)
            guard FileSystem.rename(partial, to: place.folder) else {
                throw StoreError(.storage, path: folder, "The copy cannot be given its name")
            }
            // Another process may already have opened the copy by its name, so it stays.
            guard FileSystem.flush(folder: FileSystem.parent(of: place.folder)) else {
                throw StoreError(
                    .storage, path: folder,
                    "The copy is whole and in its folder, but its name cannot be made durable in the one above, "
                        + "which must be readable: "
                        + "a power cut may take the name away")
            }
        } catch {
            CopyDestination.remove(partial)
            throw StoreError.wrap(StoreError.ofCopy(error, store: core.path), path: folder)
        }
    }

    /// Walks the pages of a copy, updates its header to its transaction id, which compaction restarts, and verifies it.
    /// A copy that replaces the original keeps its identity, so it records its new place. Any other copy records a
    /// place that fits no file, so that it is recognized as a copy even if it is written over the file that it was made
    /// from.
    static func settle(
        _ folder: String, compacting: Bool, keepsPlace: Bool = false, _ journal: JournaledCommits,
        of source: OpenTables, _ limits: EngineLimits
    ) throws {
        limits.atCopy?(folder)
        var lmdb = Environment.Options.unfinished
        lmdb.scratch = false
        let environment = try CheckedOpening.open(folder, lmdb, limits)
        defer { _ = environment.close() }
        // The write below would hide a header that was wrong in the original.
        if !compacting { try verifyHeader(environment, folder) }
        var transaction = try environment.beginWrite()
        let tables = try OpenTables(creatingIn: &transaction, environment)
        try Journal.put(journal, of: source, into: &transaction, tables)
        var header = try StoreHeader.read(transaction.view, tables)
        header.transaction = UInt64(transaction.id)
        try transaction.put(tables[.meta], StoreHeader.key, header.value)
        if let place = keepsPlace ? RestoreMark(of: StoreFiles.dataPath(in: folder)) : .ofCopy {
            try transaction.put(tables[.meta], RestoreMark.key, place.value(stamp: header.stamp))
        }
        try transaction.commit()
        try verifyHeader(environment, folder)
        _ = environment.close()
        FileSystem.remove(StoreFiles.lockPath(in: folder))
    }

    private static func verifyHeader(_ environment: Environment, _ folder: String) throws {
        let transaction = try environment.beginRead()
        guard let tables = try OpenTables(in: transaction, environment),
            try StoreHeader.read(transaction.view, tables).transaction == UInt64(transaction.id)
        else { throw StoreError(.damaged, path: folder, "The copy does not agree with itself") }
    }

    /// Returns what lies over the tables now. A copy that is made later either has the same tables, or has it all.
    private static func presentJournal(of file: OpenFile, in core: StoreCore) throws -> JournaledCommits {
        let transaction = try core.begin(file)
        let isRetired = try file.isRetired(in: transaction)
        if isRetired { return JournaledCommits(transaction: transaction.id) }
        return try file.journal(of: transaction.view, transaction: transaction.id)
    }

    /// Copies the file. If another process replaces the file meanwhile, starts over with its successor.
    private static func copyPresentFile(
        of core: StoreCore, to folder: String, compacting: Bool, _ progress: ((Int) -> Bool)?
    ) throws {
        while true {
            let file = try Following.presentFile(in: core)
            do {
                let journal = try presentJournal(of: file, in: core)
                try file.environment.copy(toFolder: folder, compacting: compacting, progress: progress)
                return try settle(folder, compacting: compacting, journal, of: file.tables, core.options.limits)
            } catch {
                let isRetired = (try? file.isRetired()) ?? false
                if file.isInPlace(core.path), !isRetired { throw error }
                CopyDestination.empty(folder)
                if isRetired { _ = try Following.follow(file, in: core) }
            }
        }
    }
}

extension StoreError {
    /// Converts an error of copying a store. Reports damage with the path of the store: the copy is gone by the time
    /// the error is read.
    static func ofCopy(_ error: any Error, store: String) -> any Error {
        if let error = error as? StoreError, error.code == .damaged {
            return StoreError(
                .damaged, path: store, "The copy is damaged and was removed, and the store may be too: \(error.detail)"
            )
        }
        // Damage that LMDB finds while it copies is in the store itself.
        return isDamage(error) ? wrap(error, path: store) : error
    }
}
