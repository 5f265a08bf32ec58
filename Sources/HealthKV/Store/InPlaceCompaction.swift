import ColumnFormat
import HealthModel
import LMDB

/// Puts a compacted copy in the place of the data file.
enum InPlaceCompaction {
    /// How the new file is sealed.
    enum Sealing {
        /// As the old one.
        case same
        /// With another cipher, or not at all. The store must be closed then: it goes on with its own.
        case changed(to: (any StoreSealer)?)
    }

    /// Forgets the contents of deleted samples and puts a compacted file in place, on the writing thread.
    static func run(in core: StoreCore, sealing: Sealing = .same) throws {
        try core.onWriter {
            try core.notices.holding {
                try Upkeep.forgetDeletedContents(in: core)
                if case .changed = sealing {
                    // What the journal holds must not outlive its key, also if the process ends on the way.
                    try Upkeep.moveJournal(in: core)
                    try scrubJournal(in: core)
                }
                try compactInPlace(in: core, sealing)
                try scrubJournal(in: core)
            }
        }
    }

    /// Overwrites what the journal's file has behind the present commits: former ones may have written what is deleted
    /// now.
    private static func scrubJournal(in core: StoreCore) throws {
        let file = try core.usableFile()
        // Other writers wait meanwhile.
        let lmdb = try core.beginWrite(file)
        let isRetired = try file.isRetired(in: lmdb)
        if isRetired { return }
        let offset = try file.journal(of: lmdb.view, transaction: lmdb.id - 1, isWriting: true).offset
        guard let journalFile = try file.presentJournalFile() else { return }
        let zeros = [UInt8](repeating: 0, count: journalFile.byteCount - offset)
        do {
            try journalFile.write(zeros, at: offset, flushes: !core.options.limits.skipsSync)
        } catch {
            throw StoreError.wrap(error, path: core.path)
        }
    }

    /// Runs on the writing thread. Holds the old file's write lock from before the copy until the old file is marked as
    /// retired, so no commit is lost.
    private static func compactInPlace(in core: StoreCore, _ sealing: Sealing) throws {
        _ = try Following.presentFile(in: core)
        try core.following.withLock { _ in
            let old = try core.usableFile()
            let replacement = FileReplacement(of: core)
            try retire(old, replacement, in: core, sealing)
            core.options.limits.atReplacement?(.retired)
            let new = try core.registry.moving(core) {
                try replacement.finish(old.data) { core.options.limits.atReplacement?($0) }
                return try openReplacement(in: core, sealing)
            }
            core.state.withLock { $0.file = new }
        }
    }

    /// Creates the successor of a file, and marks the file as retired.
    private static func retire(
        _ old: OpenFile, _ replacement: FileReplacement, in core: StoreCore, _ sealing: Sealing
    ) throws {
        var lmdb = try core.beginWrite(old)
        let isRetired = try old.isRetired(in: lmdb)
        guard !isRetired, old.isInPlace(core.path) else {
            throw StoreError(.busy, path: core.path, "Another process has just replaced the file")
        }
        let made = try UnfinishedFolder(in: core.path)
        defer { made.remove() }
        do {
            let journal = try old.journal(of: lmdb.view, transaction: lmdb.id - 1, isWriting: true)
            switch sealing {
            case .same:
                try old.environment.copy(toFolder: made.path, compacting: true)
                try StoreCopy.settle(
                    made.path, compacting: true, keepsPlace: true, journal, of: old.tables, core.options.limits)
            case .changed(let sealer):
                // Not as a read of the store, which would follow another file.
                var reader = try core.begin(old)
                reader.layer = journal.layer
                let context = try core.makeContext(of: reader, old, journal, verified: nil)
                let source = ReadTransaction(reader, context: context)
                try StoreCopy.reseal(source.snapshot, of: core, into: made.path, sealer, keepsPlace: true)
            }
        } catch {
            throw StoreError.retold(StoreError.ofCopy(error, store: core.path), of: core.path)
        }
        guard FileSystem.size(of: StoreFiles.dataPath(in: made.path)) != nil else {
            throw StoreError(.storage, path: core.path, "The compacted file was removed before it could take its place")
        }
        core.options.limits.atReplacement?(.copied)
        try replacement.prepare(StoreFiles.dataPath(in: made.path))
        core.options.limits.atReplacement?(.prepared)
        do throws(LMDBError) {
            try lmdb.put(
                old.tables[.meta], StoreHeader.key,
                StoreHeader.retiredValue(stamp: CommitStamp(commit: .max, session: .max)))
            try lmdb.commit()
        } catch {
            // If it is unknown whether the file is retired, the next process that opens it finds out.
            if !error.leavesOutcomeUnknown { replacement.giveUp() }
            throw core.failedCommit(error, old)
        }
    }

    private static func openReplacement(in core: StoreCore, _ sealing: Sealing) throws -> OpenFile {
        var options = core.options
        options.limits.ignoresPlace = true
        if case .changed(let sealer) = sealing { options.sealer = sealer }
        return try FileOpener(folder: core.path, options: options, notices: core.notices).open()
    }
}

extension FileReplacement {
    init(of core: StoreCore) { self.init(folder: core.path, patience: core.options.limits.folderPatience) }
}
