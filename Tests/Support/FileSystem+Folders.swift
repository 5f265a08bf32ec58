import LMDB

extension FileSystem {
    /// Creates a folder that only its owner can enter, with its parents. Returns `false` if that fails.
    package static func makeFolder(_ path: String) -> Bool { makingFolderFails(path) == nil }
}
