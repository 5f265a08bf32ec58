import LMDB

/// An empty folder that is deleted with its content when the value is deallocated.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() {
        path = FileSystem.temporaryFolder + "/healthkv-tests-\(UInt64.random(in: 0 ... .max))"
        guard FileSystem.makeFolder(path) else { fatalError("no temporary folder at \(path)") }
    }

    /// Creates a folder inside this one and returns its path.
    package func inner(_ name: String) -> String {
        let inner = path + "/" + name
        _ = FileSystem.makeFolder(inner)
        return inner
    }

    private static func remove(_ folder: String) {
        for name in FileSystem.names(in: folder) ?? [] {
            let entry = folder + "/" + name
            if !FileSystem.remove(entry) { remove(entry) }
        }
        FileSystem.removeFolder(folder)
    }

    deinit { Self.remove(path) }
}
