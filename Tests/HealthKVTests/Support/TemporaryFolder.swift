import LMDB

/// An empty folder that goes, with all that is in it, when the value does.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        path = FileSystem.temporaryFolder + "/healthkv-tests-\(UInt64.random(in: 0 ... .max))"
        guard FileSystem.makeFolder(path) else { fatalError("no temporary folder at \(path)") }
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
