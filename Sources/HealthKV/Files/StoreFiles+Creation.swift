import HealthModel
import LMDB

extension Environment.Options {
    /// For a file that nobody else knows: it is synced before it gets its name. Within the limit of the process LMDB
    /// returns an error where the system would otherwise end the process by a signal.
    static var unfinished: Environment.Options {
        var options = Environment.Options()
        (options.isPrivate, options.scratch) = (true, true)
        options.mapSize = max(1 << 20, min(options.mapSize, FileSystem.fileSizeLimit ?? .max))
        return options
    }
}

/// How a store's data file is created. LMDB writes a new file's first pages without a sync, and a crash in between
/// leaves a file that it refuses forever. So the file is created under another name and renamed once it is complete: a
/// process that finds `data.mdb` finds a store.
extension StoreFiles {
    /// Returns `true` if a store leaves files or folders of this name. Files of anyone else are neither touched nor
    /// mixed with.
    static func isOwnName(_ name: String) -> Bool {
        name.hasPrefix(UnfinishedFolder.prefix) || name == lock || name.hasPrefix(journal) || name.hasPrefix(stamp)
            || name.hasPrefix(".")
    }

    /// Creates the data file in a folder that exists. If another process creates one meanwhile, leaves that one alone.
    static func create(in folder: String, _ options: StoreOptions) throws {
        let made = try UnfinishedFolder(in: folder)
        defer { made.remove() }
        var lmdb = Environment.Options()
        lmdb.isPrivate = true
        lmdb.mapSize = options.mapSize
        let environment = try Environment(folder: made.path, options: lmdb)
        defer { environment.close() }
        _ = try create(environment, options)
        let file = StoreFiles.dataPath(in: folder)
        // A hard link, since a rename would replace a file that another process created.
        guard FileSystem.link(StoreFiles.dataPath(in: made.path), to: file) || FileSystem.size(of: file) != nil else {
            throw StoreError(.storage, path: folder, "The data file cannot be given its name")
        }
        guard FileSystem.flush(folder: folder) else {
            throw StoreError(.storage, path: folder, "The name of the data file cannot be made durable")
        }
    }

    /// Fills an empty environment with the tables and the header.
    static func create(_ environment: Environment, _ options: StoreOptions) throws -> OpenTables {
        var transaction = try environment.beginWrite()
        let tables = try OpenTables(creatingIn: &transaction, environment)
        var header = options.limits.header ?? StoreHeader(drawing: options.limits.draw)
        header.prunedAt = options.clock().nanoseconds
        header.believedTime = header.prunedAt
        header.transaction = UInt64(transaction.id)
        try transaction.put(tables[.meta], StoreHeader.key, header.value)
        if let sealer = options.sealer {
            try transaction.put(
                tables[.meta], SealRecord.key, SealRecord(sealing: sealer).value(stamp: header.stamp))
        }
        if let place = RestoreMark(of: StoreFiles.dataPath(in: environment.path)) {
            try transaction.put(tables[.meta], RestoreMark.key, place.value(stamp: header.stamp))
        }
        try transaction.commit()
        return tables
    }
}
