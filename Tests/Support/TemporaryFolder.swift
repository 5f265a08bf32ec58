import LMDB

/// An empty folder that goes, with all that is in it, when the value does.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() {
        path = FileSystem.temporaryFolder + "/healthkv-tests-\(UInt64.random(in: 0 ... .max))"
        guard FileSystem.makeFolder(path) else { fatalError("no temporary folder at \(path)") }
    }

    /// A folder inside, made on the spot.
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
