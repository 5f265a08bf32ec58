import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Copies the store as it is to a new folder while it is in use. The copy is durable and verified when this returns.
    public func backup(to folder: String) throws { try copy(to: folder, compacting: false) }

    /// Copies the store without its free pages to a new folder, while it is in use.
    public func compact(to folder: String) throws { try copy(to: folder, compacting: true) }

    private func copy(to folder: String, compacting: Bool) throws {
        try checkOpen()
        guard !core.isWriting else {
            throw StoreError(.nested, path: path, "A copy cannot be made inside write")
        }
        guard FileSystem.size(of: folder + "/data.mdb") == nil else {
            throw StoreError(.exists, path: folder, "The folder holds a store already")
        }
        if let names = FileSystem.names(in: folder), !names.isEmpty {
            throw StoreError(.exists, path: folder, "The folder is not empty")
        }
        // The copy gets its name only when it is whole: whoever finds the folder finds a store.
        let partial = folder + ".partial-" + SampleID().description
        guard FileSystem.makeFolder(partial) else {
            throw StoreError(.storage, path: partial, "The folder cannot be made")
        }
        do {
            try core.environment.copy(toFolder: partial, compacting: compacting)
            try SampleStore.settleCopy(partial, pageSize: core.environment.pageSize, compacting: compacting)
            guard FileSystem.rename(partial, to: folder) else {
                throw StoreError(.storage, path: folder, "The copy cannot be given its name")
            }
            _ = FileSystem.flush(folder: FileSystem.parent(of: folder))
        } catch {
            FileSystem.remove(partial + "/data.mdb")
            FileSystem.remove(partial + "/lock.mdb")
            FileSystem.removeFolder(partial)
            throw StoreError.wrap(error, path: folder)
        }
    }

    /// Brings the header of a copy in step with its transaction id, which compaction starts anew, and verifies it.
    private static func settleCopy(_ folder: String, pageSize: Int, compacting: Bool) throws {
        let environment = try Environment(folder: folder)
        if compacting {
            var transaction = try environment.beginWrite()
            let tables = try Tables(creatingIn: &transaction, environment)
            var header = try StoreHeader.read(transaction.view, tables)
            header.transaction = UInt64(transaction.id)
            try transaction.put(tables[.meta], StoreHeader.key, header.value)
            try transaction.commit()
        }
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
