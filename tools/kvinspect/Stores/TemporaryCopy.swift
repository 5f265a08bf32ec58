#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV
import LMDB

/// A copy of a store in the system's folder for temporary files: what may not change the store is tried there.
struct TemporaryCopy {
    let store: SampleStore
    private let folder: String
    private let original: String

    init(of original: String) throws {
        self.original = original
        folder = FileSystem.temporaryFolder + "/healthkv-copy-" + SampleID().description
        let reader = try StoreAccess.openForReading(original)
        do {
            defer { try? reader.close() }
            try reader.backup(to: folder)
            var options = SampleStore.Options()
            options.createIfMissing = false
            store = try SampleStore.open(at: folder, options: options)
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw TemporaryCopy.naming(original, insteadOf: folder, error)
        }
    }

    /// A new store, in place of one that is not there.
    init(inPlaceOf original: String) throws {
        self.original = original
        folder = FileSystem.temporaryFolder + "/healthkv-copy-" + SampleID().description
        do {
            store = try StoreAccess.openForLoading(folder)
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw TemporaryCopy.naming(original, insteadOf: folder, error)
        }
    }

    /// Returns an error as one of the store that was copied: nobody finds the copy when it is read.
    func naming(_ error: any Error) -> any Error { TemporaryCopy.naming(original, insteadOf: folder, error) }

    private static func naming(_ original: String, insteadOf folder: String, _ error: any Error) -> any Error {
        guard let error = error as? StoreError, error.path.hasPrefix(folder) else { return error }
        // A disk without room is the one of the temporary folder, and that is all that can be wrong with the copy.
        if [.full, .storage, .outcomeUnknown].contains(error.code) {
            return Failure("The temporary copy in \(FileSystem.temporaryFolder) failed: \(error.detail)\(error.cause).")
        }
        return StoreError.retold(error, of: original)
    }

    /// Closes and removes the copy.
    func remove() {
        try? store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
