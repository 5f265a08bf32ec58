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
        guard holdsStore(folder) else {
            throw Failure(
                "There is no store in \(folder). Pass the folder that holds \(dataFile); 'kvinspect load' makes a new store."
            )
        }
        var options = SampleStore.Options()
        options.readOnly = true
        options.createIfMissing = false
        return try SampleStore.open(at: folder, options: options)
    }

    /// Opens a store for writing, and makes it where there is none.
    static func openForLoading(_ folder: String) throws -> SampleStore {
        var options = SampleStore.Options()
        options.source = Source(name: "kvinspect")
        return try SampleStore.open(at: folder, options: options)
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
