/// The bytes of a file, of a pipe or of standard input.
package final class FileSource: ByteSource {
    /// A piece is never larger, whatever count the caller names.
    private static let pieceSizeMax = 1 << 20

    private let handle: InputHandle

    /// Opens a file or a named pipe, or standard input for "-". Refuses folders, devices and sockets.
    package init(path: String) throws(ArchiveError) { handle = try InputHandle(path: path) }

    /// The path as the caller gave it, or "standard input".
    package var name: String { handle.name }

    /// The size of a regular file in bytes, and `nil` for a pipe.
    package var size: Int? { handle.size }

    package func read(into buffer: inout [UInt8], atMost count: Int) throws(ArchiveError) -> Int {
        guard count > 0 else { return 0 }
        return try handle.read(into: &buffer, atMost: min(count, Self.pieceSizeMax))
    }
}
