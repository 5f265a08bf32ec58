import Foundation
import LMDB

/// The bytes of a store's file, to be written over it again as `cp` does: it stays the same file to the system.
package struct FileCopy: Sendable {
    private let bytes: Data

    package init(of path: String) throws { bytes = try Data(contentsOf: URL(fileURLWithPath: path)) }

    /// Without `keepsAttribute` the file tells no more how far it was written, as where the file system keeps no
    /// attributes.
    package func write(over path: String, keepsAttribute: Bool) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
        if !keepsAttribute { FileSystem.setAttribute("user.healthkv.written", of: path, []) }
    }
}
