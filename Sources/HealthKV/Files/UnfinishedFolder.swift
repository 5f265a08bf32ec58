import HealthModel
import LMDB

/// A folder in which a data file is made: inside a store's folder until the file is complete and renamed, or in the
/// folder for temporary files until a private copy is open. The folder is claimed while a process works in it, so that
/// no other process takes it for the leftover of a killed one.
struct UnfinishedFolder {
    static let prefix = "unfinished-"
    /// The prefix of the names of private copies.
    static let copyPrefix = "healthkv-copy-"
    private static let attempts = 16

    let path: String
    private let claim: FolderClaim

    init(in folder: String, prefix: String = UnfinishedFolder.prefix) throws(StoreError) {
        for _ in 0..<UnfinishedFolder.attempts {
            let made = folder + "/" + prefix + SampleID().description
            if let failure = FileSystem.makingFolderFails(made) { throw StoreError.unmade(made, failure) }
            guard let claim = FolderClaim(made) else { continue }
            // Another process may have removed the folder before it was claimed.
            if FileSystem.isFolder(made) {
                (path, self.claim) = (made, claim)
                return
            }
            claim.release()
        }
        throw StoreError(.storage, path: folder, "The folder for a new data file cannot be made in it")
    }

    /// Removes the folder with the files in it.
    func remove() {
        UnfinishedFolder.remove(path)
        claim.release()
    }

    /// Removes what killed processes left in a store's folder.
    static func removeLeftovers(in folder: String) {
        for name in FileSystem.names(in: folder) ?? [] where name.hasPrefix(prefix) {
            let path = folder + "/" + name
            // A claim on what a link leads to would lock a living store.
            guard isOwn(path) else { continue }
            let claim = FolderClaim(path)
            guard claim != nil else { continue }
            remove(path)
            claim?.release()
        }
    }

    /// Returns `true` for a folder of this user. What a link leads to may be somebody's store, and is not removed.
    static func isOwn(_ path: String) -> Bool {
        FileSystem.statusOfLink(path).map { $0.kind == .folder && $0.owner == FileSystem.effectiveUser } ?? false
    }

    /// Removes private copies that killed processes of this user left in a folder that others use, too. Follows no
    /// links, and removes nothing that no copy made.
    static func removeCopies(in folder: String) {
        for name in FileSystem.names(in: folder) ?? [] where name.hasPrefix(copyPrefix) {
            let path = folder + "/" + name
            guard SampleID(canonical: String(name.dropFirst(copyPrefix.count))) != nil,
                isOwn(path), let names = FileSystem.names(in: path),
                Set(names).isSubset(of: [StoreFiles.data, StoreFiles.lock, StoreFiles.journal]),
                let claim = FolderClaim(path)
            else { continue }
            remove(path)
            claim.release()
        }
    }

    private static func remove(_ path: String) {
        FileSystem.remove(StoreFiles.dataPath(in: path))
        FileSystem.remove(StoreFiles.lockPath(in: path))
        FileSystem.remove(StoreFiles.journalPath(in: path))
        FileSystem.removeFolder(path)
    }
}
