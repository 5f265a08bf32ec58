import HealthModel
import LMDB

/// The destination of a copy of a store. The copy is made beside the destination folder under a temporary name, and is
/// renamed once it is complete.
struct CopyDestination {
    /// The destination, without trailing slashes.
    let folder: String

    init(_ folder: String) {
        var folder = folder
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        self.folder = folder
    }

    /// Throws if the destination holds anything, or lies inside the folder of the store at `store`.
    func check(against store: String) throws(StoreError) {
        guard FileSystem.size(of: StoreFiles.dataPath(in: folder)) == nil else {
            throw StoreError(.exists, path: folder, "The folder holds a store already")
        }
        if let names = FileSystem.names(in: folder), !names.isEmpty {
            throw StoreError(.exists, path: folder, "The folder is not empty")
        }
        if isInside(store) {
            throw StoreError(.insideStore, path: folder, "A copy cannot lie in the store's own folder")
        }
    }

    /// Returns `true` if the destination lies inside the folder `other`. Compares the identities of folders, not their
    /// names, so links do not mislead it.
    private func isInside(_ other: String) -> Bool {
        let wanted = FileSystem.identity(of: other)
        // Folders that do not exist yet will be created in the nearest ancestor that does.
        var above = folder
        while !FileSystem.isFolder(above) {
            let next = FileSystem.parent(of: above)
            if next == above { return false }
            above = next
        }
        while let identity = FileSystem.identity(of: above) {
            if identity == wanted { return true }
            above += "/.."
            // The root is its own parent.
            if FileSystem.identity(of: above) == identity { return false }
        }
        return false
    }

    private var prefix: String { folder + ".partial-" }

    /// Returns a name for an unfinished copy.
    func newPartial() -> String { prefix + SampleID().description }

    /// Removes what killed copies to this destination left. An unfinished copy of a live process holds a lock and is
    /// kept; folders that no copy made are not touched.
    func removeLeftovers() {
        let parent = FileSystem.parent(of: folder)
        let start = String(prefix.dropFirst(parent == "." ? 0 : parent == "/" ? 1 : parent.count + 1))
        for name in FileSystem.names(in: parent) ?? [] where name.hasPrefix(start) {
            let path = parent + "/" + name
            guard SampleID(canonical: String(name.dropFirst(start.count))) != nil,
                UnfinishedFolder.isOwn(path), let names = FileSystem.names(in: path),
                Set(names).isSubset(of: CopyDestination.files), let lock = FolderClaim(path)
            else { continue }
            CopyDestination.remove(path)
            lock.release()
        }
    }

    private static let files: Set<String> = [
        StoreFiles.data, StoreFiles.lock, StoreFiles.journal, StoreFiles.stamp, inner,
    ]
    /// A folder in an unfinished copy, for a copy that is opened as a store before it is complete: opening takes the
    /// lock of the folder, and the lock of the folder above shows that somebody is at work.
    static let inner = "store"

    /// Removes an unfinished copy.
    static func remove(_ partial: String) {
        empty(partial + "/" + inner)
        FileSystem.removeFolder(partial + "/" + inner)
        empty(partial)
        FileSystem.removeFolder(partial)
    }

    static func empty(_ partial: String) {
        for name in files { FileSystem.remove(partial + "/" + name) }
    }
}
