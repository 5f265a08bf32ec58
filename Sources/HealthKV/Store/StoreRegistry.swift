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
        while true {
            if let core = try openUnlessClosing(folder, options) { return core }
            let file = FileSystem.identity(of: folder + "/data.mdb")
            closing.wait { file.map($0.contains) != true }
        }
    }

    /// Answers nil when the file is being closed.
    private func openUnlessClosing(_ folder: String, _ options: SampleStore.Options) throws -> StoreCore? {
        try entries.withLock { entries in
            let file = folder + "/data.mdb"
            let known = FileSystem.identity(of: file)
            if let known, closing.withLock({ $0.contains(known) }) { return nil }
            if let known, var entry = entries[known] {
                guard options.readOnly || !entry.core.options.readOnly else {
                    throw StoreError(
                        .readOnly, path: folder, "The store is already open in this process, for reading only")
                }
                entry.users += 1
                entries[known] = entry
                return entry.core
            }
            let core = try StoreCore(folder: folder, options: options, registry: self)
            guard let identity = FileSystem.identity(of: file) else {
                throw StoreError(.noStore, path: folder, "The data file vanished while it was opened")
            }
            core.identity.withLock { $0 = identity }
            entries[identity] = Entry(core: core, users: 1)
            return core
        }
    }

    /// Gives one use back; the last one closes.
    func release(_ core: StoreCore) throws {
        let last: FileIdentity? = entries.withLock { entries in
            guard let identity = core.identity.withLock({ $0 }), var entry = entries[identity] else { return nil }
            entry.users -= 1
            entries[identity] = entry.users > 0 ? entry : nil
            guard entry.users == 0 else { return nil }
            // Before anybody can open the file again: LMDB must not have it open twice.
            closing.withLock { _ = $0.insert(identity) }
            return identity
        }
        guard let last else { return }
        core.shutDown()
        closing.update { _ = $0.remove(last) }
    }
}
