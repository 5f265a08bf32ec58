import HealthModel
import LMDB

/// A folder inside a store's in which a data file is made, until it is whole and gets its name. It is claimed while somebody
/// works in it, so that nobody who opens the store takes it for what a killed process left.
struct UnfinishedFolder {
    static let prefix = "unfinished-"
    private static let attempts = 16

    let path: String
    private let claim: FolderClaim

    init(in folder: String) throws(StoreError) {
        for _ in 0..<UnfinishedFolder.attempts {
            let made = folder + "/" + UnfinishedFolder.prefix + SampleID().description
            guard FileSystem.makeFolder(made) else { break }
            guard let claim = FolderClaim(made) else { continue }
            // Before it was claimed another may have removed it.
            if FileSystem.isFolder(made) {
                (path, self.claim) = (made, claim)
                return
            }
            claim.release()
        }
        throw StoreError(.storage, path: folder, "The folder for a new data file cannot be made in it")
    }

    /// Removes the folder with what is left in it.
    func remove() {
        UnfinishedFolder.remove(path)
        claim.release()
    }

    /// Removes what killed processes left in a store's folder.
    static func removeLeftovers(in folder: String) {
        for name in FileSystem.names(in: folder) ?? [] where name.hasPrefix(prefix) {
            let path = folder + "/" + name
            let claim = FolderClaim(path)
            guard claim != nil else { continue }
            remove(path)
            claim?.release()
        }
    }

    private static func remove(_ path: String) {
        FileSystem.remove(path + "/data.mdb")
        FileSystem.remove(path + "/lock.mdb")
        FileSystem.removeFolder(path)
    }
}
