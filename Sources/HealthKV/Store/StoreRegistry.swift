import LMDB

/// The open stores of this process. LMDB's locks break when a process opens a file twice, so a second opening shares
/// the first one's store.
final class StoreRegistry: Sendable {
    static let shared = StoreRegistry()

    private struct Entry {
        let core: StoreCore
        var users: Int
        /// Whether its only user gives it another key.
        var isClaimed = false
    }

    /// Unordered, since few are open at a time. A suspended store holds no file open, so another file may have its
    /// file's number.
    private let entries = Monitor<[Entry]>([])

    /// Stores whose last user is gone but whose closing is not finished. Opening their files waits for it.
    private let closing = Monitor<[StoreCore]>([])

    func open(_ folder: String, _ options: StoreOptions) throws -> StoreCore {
        let notices = NoticeBoard(options.onNotice)
        return try notices.holding {
            followReplaced(folder)
            while true {
                if let core = try openUnlessClosing(folder, options, notices) { return core }
                closing.wait { !$0.contains { $0.hasFile(of: folder) } }
            }
        }
    }

    /// Lets an open store continue with the file that another process has put in place of its own, so that the folder
    /// is not opened a second time.
    private func followReplaced(_ folder: String) {
        guard let place = FileSystem.identity(of: folder),
            let present = FileSystem.identity(of: StoreFiles.dataPath(in: folder))
        else { return }
        let others = entries.withLock { entries in
            entries.map(\.core).filter { $0.identity.withLock { $0 } != present && !$0.fork.isForked }
        }
        for core in others where FileSystem.identity(of: core.path) == place {
            // A store that cannot continue throws by itself, and is not shared.
            _ = try? Following.presentFile(in: core)
        }
    }

    /// Returns `nil` if the file is being closed.
    private func openUnlessClosing(
        _ folder: String, _ options: StoreOptions, _ notices: NoticeBoard
    ) throws -> StoreCore? {
        // Before sharing an open store: its rules were checked for another path.
        try OpeningRules.refuseLinks(folder)
        return try entries.withLock { entries in
            if closing.withLock({ $0.contains { $0.hasFile(of: folder) } }) { return nil }
            let known = FileSystem.identity(of: StoreFiles.dataPath(in: folder))
            if let known, let index = StoreRegistry.index(of: known, in: folder, entries) {
                guard !entries[index].isClaimed else {
                    throw StoreError(.busy, path: folder, "The store is being given another key in this process")
                }
                try StoreRegistry.checkShareable(entries[index].core, folder, options)
                entries[index].users += 1
                return entries[index].core
            }
            try StoreRegistry.refuseSharedLock(folder, entries.map(\.core))
            let core = try StoreCore(folder: folder, options: options, registry: self, notices: notices)
            let opened = core.file
            // Without locks nothing is shared and nothing can break.
            guard opened.access == .locked else { return core }
            core.identity.withLock { $0 = opened.data }
            entries.append(Entry(core: core, users: 1))
            return core
        }
    }

    /// Returns the index of the store that has a file open, or that has released it by suspending and will reopen it
    /// from this folder.
    private static func index(of file: FileIdentity, in folder: String, _ entries: [Entry]) -> Int? {
        entries.firstIndex { entry in
            let core = entry.core
            guard core.identity.withLock({ $0 }) == file, !core.fork.isForked else { return false }
            return core.holdsFile || FileSystem.identity(of: core.path) == FileSystem.identity(of: folder)
        }
    }

    private static func checkShareable(
        _ core: StoreCore, _ folder: String, _ options: StoreOptions
    ) throws(StoreError) {
        if core.isPoisoned.load(ordering: .acquiring) {
            throw StoreError(
                .poisoned, path: folder, "The store is open in this process, and a commit of it has failed")
        }
        if core.state.withLock({ $0.replaced }) != nil {
            throw StoreError(
                .replaced, path: folder, "A handle of this process has found its file replaced: close that handle first"
            )
        }
        guard options.readOnly || !core.options.readOnly else {
            throw StoreError(.readOnly, path: folder, "The store is already open in this process, for reading only")
        }
        try SealRecord.verify(core.file.seal, options.sealer, ignoresSeal: options.limits.ignoresSeal, folder)
        guard options.sealer == nil || core.options.sealer != nil else {
            throw StoreError(.wrongKey, path: folder, "The store is already open in this process, without a sealer")
        }
    }

    /// Throws if this process has the lock file open with another data file. Closing either would drop the locks of
    /// both, and LMDB would reinitialize the reader table while readers use it.
    private static func refuseSharedLock(_ folder: String, _ others: [StoreCore]) throws(StoreError) {
        guard let lock = FileSystem.identity(of: StoreFiles.lockPath(in: folder)) else { return }
        for other in others where other.holdsFile && other.file.lock == lock && !other.fork.isForked {
            throw StoreError(
                .replaced, path: folder,
                "data.mdb was replaced or removed while this process had it open: "
                    + "close the handle that has the old file first"
            )
        }
    }

    /// Lets a store open another file of its folder, and registers the store under that file. No other thread of this
    /// process opens a store meanwhile.
    func moving(_ core: StoreCore, _ open: () throws -> OpenFile) throws -> OpenFile {
        try entries.withLock { entries in
            let others = entries.map(\.core).filter { $0 !== core && $0.holdsFile && !$0.fork.isForked }
            // LMDB must not have the file open twice.
            if let found = FileSystem.identity(of: StoreFiles.dataPath(in: core.path)),
                others.contains(where: { $0.identity.withLock { $0 } == found })
            {
                throw StoreError(
                    .replaced, path: core.path, "The file that took its place is open in this process already")
            }
            try StoreRegistry.refuseSharedLock(core.path, others)
            let new = try open()
            // A store without an identity is not registered here.
            core.identity.withLock { if $0 != nil { $0 = new.data } }
            return new
        }
    }

    /// Keeps other handles of this process away from a store until it is closed. Throws if it has any.
    func claim(_ core: StoreCore) throws(StoreError) {
        try entries.withLock { (entries) throws(StoreError) in
            guard let index = entries.firstIndex(where: { $0.core === core }) else { return }
            guard entries[index].users == 1 else {
                throw StoreError(.busy, path: core.path, "The store is open in this process: close it first")
            }
            entries[index].isClaimed = true
        }
    }

    /// Releases one use of a store. The last one closes it.
    func release(_ core: StoreCore) throws {
        guard core.identity.withLock({ $0 }) != nil else { return core.shutDown() }
        let isLast = entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.core === core }) else { return false }
            entries[index].users -= 1
            guard entries[index].users == 0 else { return false }
            entries.remove(at: index)
            // Before another thread can open the file again: LMDB must not have it open twice.
            closing.withLock { $0.append(core) }
            return true
        }
        guard isLast else { return }
        core.shutDown()
        closing.update { $0.removeAll { $0 === core } }
    }
}
