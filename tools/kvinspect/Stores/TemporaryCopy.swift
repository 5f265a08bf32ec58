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

    init(of original: String) throws {
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
            throw error
        }
    }

    /// Closes and removes the copy.
    func remove() {
        try? store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
