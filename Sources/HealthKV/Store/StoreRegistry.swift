import LMDB

/// The open stores of this process. LMDB's locks break when a process opens a file twice, so a second opening shares.
final class StoreRegistry: Sendable {
    static let shared = StoreRegistry()

    private struct Entry {
        let core: StoreCore
        var users: Int
    }

    private let entries = Monitor<[FileIdentity: Entry]>([:])

    /// Files whose last user is gone and whose closing is not finished: opening one waits for it.
    private let closing = Monitor<Set<FileIdentity>>([])

    func open(_ folder: String, _ options: SampleStore.Options) throws -> StoreCore {
        let notices = NoticeBoard(options.onNotice)
        return try notices.holding {
            followReplaced(folder)
            while true {
                if let core = try openUnlessClosing(folder, options, notices) { return core }
                let file = FileSystem.identity(of: folder + "/data.mdb")
                closing.wait { file.map($0.contains) != true }
            }
        }
    }

    /// Lets a store that is open go on with the file that another process has put in place of its own, so that the folder
    /// is not opened beside it.
    private func followReplaced(_ folder: String) {
        guard let place = FileSystem.identity(of: folder), let present = FileSystem.identity(of: folder + "/data.mdb")
        else { return }
        let others = entries.withLock { entries in
            entries.filter { $0.key != present && !$0.value.core.environment.isForked }.map(\.value.core)
        }
        for core in others where FileSystem.identity(of: core.path) == place {
            // One that cannot go on says so itself, and is not shared.
            _ = try? core.presentFile()
        }
    }

    /// Answers nil when the file is being closed.
    private func openUnlessClosing(
        _ folder: String, _ options: SampleStore.Options, _ notices: NoticeBoard
    ) throws -> StoreCore? {
        // Before a store that is open is shared, whose rules were checked by another path.
        try OpeningRules.refuseLinks(folder)
        return try entries.withLock { entries in
            let file = folder + "/data.mdb"
            let known = FileSystem.identity(of: file)
            if let known, closing.withLock({ $0.contains(known) }) { return nil }
            if let known, var entry = entries[known], !entry.core.environment.isForked {
                guard !entry.core.isPoisoned.load(ordering: .acquiring) else {
                    throw StoreError(
                        .poisoned, path: folder, "The store is open in this process, and a commit of it has failed")
                }
                guard options.readOnly || !entry.core.options.readOnly else {
                    throw StoreError(
                        .readOnly, path: folder, "The store is already open in this process, for reading only")
                }
                entry.users += 1
                entries[known] = entry
                return entry.core
            }
            let core = try StoreCore(folder: folder, options: options, registry: self, notices: notices)
            let opened = core.file
            // Without locks nothing is shared and nothing can be broken.
            guard opened.access == .locked else { return core }
            core.identity.withLock { $0 = opened.data }
            entries[opened.data] = Entry(core: core, users: 1)
            return core
        }
    }

    /// Lets a store open another file of its folder, and knows it by that from then on. Nobody in this process opens a
    /// store meanwhile.
    func moving(_ core: StoreCore, _ open: () throws -> OpenFile) throws -> OpenFile {
        try entries.withLock { entries in
            // LMDB must not have it open twice.
            if let found = FileSystem.identity(of: core.path + "/data.mdb"), let other = entries[found],
                other.core !== core
            {
                throw StoreError(
                    .replaced, path: core.path, "The file that took its place is open in this process already")
            }
            let new = try open()
            guard let old = core.identity.withLock({ $0 }), old != new.data else { return new }
            if let entry = entries.removeValue(forKey: old) {
                entries[new.data] = entry
            } else {
                // Its last user has just let go of it, and it is closed when this has ended.
                closing.withLock { _ = $0.insert(new.data) }
            }
            core.identity.withLock { $0 = new.data }
            return new
        }
    }

    /// Gives one use back; the last one closes.
    func release(_ core: StoreCore) throws {
        guard core.identity.withLock({ $0 }) != nil else { return core.shutDown() }
        let last: FileIdentity? = entries.withLock { entries in
            guard let identity = core.identity.withLock({ $0 }), var entry = entries[identity], entry.core === core
            else { return nil }
            entry.users -= 1
            entries[identity] = entry.users > 0 ? entry : nil
            guard entry.users == 0 else { return nil }
            // Before anybody can open the file again: LMDB must not have it open twice.
            closing.withLock { _ = $0.insert(identity) }
            return identity
        }
        guard let last else { return }
        core.shutDown()
        closing.update { files in
            files.remove(last)
            if let moved = core.identity.withLock({ $0 }) { files.remove(moved) }
        }
    }
}
