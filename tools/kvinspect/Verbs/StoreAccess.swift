#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

/// How the verbs come to a store.
enum StoreAccess {
    /// The name of the file that makes a folder a store.
    private static let dataFile = "data.mdb"

    /// Opens a store that is there, for reading only.
    static func openForReading(_ folder: String) throws -> SampleStore {
        guard holdsStore(folder) else { throw noStore(in: folder) }
        var options = SampleStore.Options()
        options.readOnly = true
        options.createIfMissing = false
        // What is read is another thing than with locks, and so is said.
        options.onNotice = { notice in
            guard notice.code == .withoutLocks || notice.code == .fileSystem else { return }
            try? OutputStream.error.send(Array("kvinspect: \(notice)\n".utf8))
        }
        return try SampleStore.open(at: folder, options: options)
    }

    /// Opens a store that is there, for writing.
    static func openForMending(_ folder: String) throws -> SampleStore {
        guard holdsStore(folder) else { throw noStore(in: folder) }
        var options = SampleStore.Options()
        options.createIfMissing = false
        return try SampleStore.open(at: folder, options: options)
    }

    static func noStore(in folder: String) -> Failure {
        Failure(
            "There is no store in \(folder). Pass the folder that holds \(dataFile); 'kvinspect load' makes a new store."
        )
    }

    /// Opens a store for writing, and makes it where there is none.
    static func openForLoading(_ folder: String) throws -> SampleStore {
        var options = SampleStore.Options()
        options.source = Source(name: "kvinspect")
        return try SampleStore.open(at: folder, options: options)
    }

    /// Removes the files of a store, and its folder if it holds nothing else and was not there before.
    static func remove(_ folder: String, withFolder: Bool) {
        for name in [dataFile, "lock.mdb"] { try? FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
        guard withFolder, (try? FileManager.default.contentsOfDirectory(atPath: folder))?.isEmpty ?? false else {
            return
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    static func holdsStore(_ folder: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(folder)/\(dataFile)")
    }

    /// The exit code of an error that the store gave.
    static func code(for error: any Error) -> ExitCode {
        guard let error = error as? StoreError else { return .failed }
        return error.code == .damaged ? .damage : .failed
    }
}

/// A store that a verb is about to make. When the verb fails before anything is in it, nothing is left of it.
struct NewStore {
    private let folder: String
    private let folderIsNew: Bool

    init(_ folder: String) {
        self.folder = folder
        folderIsNew = !FileManager.default.fileExists(atPath: folder)
    }

    func removeIfEmpty(_ store: SampleStore) {
        guard let count = try? store.read({ try $0.count() }), count == 0, (try? store.close()) != nil else { return }
        StoreAccess.remove(folder, withFolder: folderIsNew)
    }
}
