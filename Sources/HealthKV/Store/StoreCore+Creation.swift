import HealthModel
import LMDB

/// Making the data file of a store. LMDB writes a new file's first pages without a sync, and a crash in between leaves a
/// file that it refuses for ever. So the file is made under another name and gets its own when it is whole: whoever
/// finds it finds a store.
extension StoreCore {
    /// Whether a name in a folder is one that a store leaves: nothing of anybody else is touched or mixed with.
    static func isOwnName(_ name: String) -> Bool {
        name.hasPrefix(UnfinishedFolder.prefix) || name == "lock.mdb" || name.hasPrefix("closed.stamp")
            || name.hasPrefix(".")
    }

    /// Makes the data file in a folder that exists; one that another process made meanwhile is left as it is.
    static func create(in folder: String, _ options: SampleStore.Options) throws {
        let made = try UnfinishedFolder(in: folder)
        defer { made.remove() }
        var lmdb = Environment.Options()
        lmdb.isPrivate = true
        lmdb.mapSize = options.mapSize
        let environment = try Environment(folder: made.path, options: lmdb)
        defer { environment.close() }
        _ = try create(environment, options)
        let file = folder + "/data.mdb"
        // A link, since a rename would take the place of a file that another process made.
        guard FileSystem.link(made.path + "/data.mdb", to: file) || FileSystem.size(of: file) != nil else {
            throw StoreError(.storage, path: folder, "The data file cannot be given its name")
        }
        guard FileSystem.flush(folder: folder) else {
            throw StoreError(.storage, path: folder, "The name of the data file cannot be made durable")
        }
    }

    /// Fills an empty environment with the tables and the header.
    static func create(_ environment: Environment, _ options: SampleStore.Options) throws -> Tables {
        var transaction = try environment.beginWrite()
        let tables = try Tables(creatingIn: &transaction, environment)
        var header = options.limits.header ?? StoreHeader(drawing: options.limits.draw)
        header.prunedAt = options.clock().nanoseconds
        header.transaction = UInt64(transaction.id)
        try transaction.put(tables[.meta], StoreHeader.key, header.value)
        if let place = StorePlace(of: environment.path + "/data.mdb") {
            try transaction.put(tables[.meta], StorePlace.key, place.value(commit: header.commit))
        }
        try transaction.commit()
        return tables
    }
}
