import HealthModel
import LMDB

/// Where a copy of a store goes: it is made beside its folder under another name, and gets its own when it is whole.
struct CopyPlace {
    /// The destination, without slashes at its end.
    let folder: String

    init(_ folder: String) {
        var folder = folder
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        self.folder = folder
    }

    /// Refuses a destination that holds something, or that lies in the folder of the store at `store`.
    func check(against store: String) throws(StoreError) {
        guard FileSystem.size(of: folder + "/data.mdb") == nil else {
            throw StoreError(.exists, path: folder, "The folder holds a store already")
        }
        if let names = FileSystem.names(in: folder), !names.isEmpty {
            throw StoreError(.exists, path: folder, "The folder is not empty")
        }
        if isInside(store) {
            throw StoreError(.insideStore, path: folder, "A copy cannot lie in the store's own folder")
        }
    }

    /// Whether the destination lies in a folder, whatever links lead to it: judged by what the folders are, not by names.
    private func isInside(_ other: String) -> Bool {
        let wanted = FileSystem.identity(of: other)
        // What is not there yet will be made in the first folder above it that is.
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

    /// A name for a copy under way.
    func newPartial() -> String { prefix + SampleID().description }

    /// Removes what copies to this place left that were killed. One under way holds a lock; what no copy made is not touched.
    func removeLeftovers() {
        let parent = FileSystem.parent(of: folder)
        let start = String(prefix.dropFirst(parent == "." ? 0 : parent == "/" ? 1 : parent.count + 1))
        for name in FileSystem.names(in: parent) ?? [] where name.hasPrefix(start) {
            let path = parent + "/" + name
            guard SampleID(canonical: String(name.dropFirst(start.count))) != nil,
                let names = FileSystem.names(in: path),
                Set(names).isSubset(of: CopyPlace.files), let lock = FolderClaim(path)
            else { continue }
            CopyPlace.remove(path)
            lock.release()
        }
    }

    private static let files: Set<String> = ["data.mdb", "lock.mdb"]

    /// Removes a copy that is not whole.
    static func remove(_ partial: String) {
        empty(partial)
        FileSystem.removeFolder(partial)
    }

    static func empty(_ partial: String) {
        for name in files { FileSystem.remove(partial + "/" + name) }
    }
}
