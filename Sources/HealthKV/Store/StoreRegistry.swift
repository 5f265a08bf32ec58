import LMDB

/// The open stores of this process. LMDB's locks break when a process opens a file twice, so a second opening shares.
final class StoreRegistry: Sendable {
    static let shared = StoreRegistry()

    private struct Entry {
        let core: StoreCore
        var users: Int
    }

    private let entries = Monitor<[FileIdentity: Entry]>([:])

    func open(_ folder: String, _ options: SampleStore.Options) throws -> StoreCore {
        try entries.withLock { entries in
            let file = folder + "/data.mdb"
            if let identity = FileSystem.identity(of: file), var entry = entries[identity] {
                guard options.readOnly || !entry.core.options.readOnly else {
                    throw StoreError(
                        .readOnly, path: folder, "The store is already open in this process, for reading only")
                }
                entry.users += 1
                entries[identity] = entry
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
        let isLast = entries.withLock { entries in
            guard let identity = core.identity.withLock({ $0 }), var entry = entries[identity] else { return false }
            entry.users -= 1
            entries[identity] = entry.users > 0 ? entry : nil
            return entry.users == 0
        }
        if isLast { core.shutDown() }
    }
}
