import Foundation
import LMDB

/// A copy of a store's data file, to write back over it as `cp` does: the inode stays the same.
package struct FileCopy: Sendable {
    private let bytes: Data

    package init(of path: String) throws { bytes = try Data(contentsOf: URL(fileURLWithPath: path)) }

    /// Without `keepsAttribute`, removes the attribute that records how far the file was written, as on a file system
    /// without attributes.
    package func write(over path: String, keepsAttribute: Bool) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
        if !keepsAttribute { FileSystem.setAttribute("user.healthkv.written", of: path, []) }
    }
}
