/// The bytes of an archive, which are read at any offset.
final class ArchiveFile {
    private enum Storage {
        case handle(InputHandle)
        case memory([UInt8])
    }

    /// The path as the caller gave it, or "standard input".
    let name: String
    /// The size in bytes when the file was opened.
    let size: Int
    private let storage: Storage

    init(path: String, title: String? = nil) throws(ArchiveError) {
        let handle = try InputHandle(path: path, title: title)
        guard let size = handle.size else {
            throw ArchiveError(
                .unreadable, file: handle.name,
                "is a pipe, but a zip archive is read from its end. Save it to a file and name that.")
        }
        name = handle.name
        self.size = size
        storage = .handle(handle)
    }

    init(bytes: [UInt8], name: String) {
        self.name = name
        size = bytes.count
        storage = .memory(bytes)
    }

    /// Appends up to `count` bytes from `offset` on to `buffer` and returns how many, 0 at the end of the file.
    func read(at offset: Int, into buffer: inout [UInt8], atMost count: Int) throws(ArchiveError) -> Int {
        switch storage {
        case .handle(let handle):
            try handle.seek(to: offset)
            return try handle.read(into: &buffer, atMost: count)
        case .memory(let bytes):
            guard offset < bytes.count else { return 0 }
            let piece = bytes[offset..<min(bytes.count, offset + count)]
            buffer.append(contentsOf: piece)
            return piece.count
        }
    }

    /// Returns exactly `count` bytes from `offset` on. Throws if the file ends before.
    func bytes(at offset: Int, count: Int) throws(ArchiveError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let read = try read(at: offset + bytes.count, into: &bytes, atMost: count - bytes.count)
            if read == 0 { throw cutOff() }
        }
        return bytes
    }

    func cutOff(entry: String? = nil) -> ArchiveError {
        ArchiveError(.cutOff, file: name, entry: entry, "is cut off. Copy or export the archive again.")
    }

    func damaged(_ what: String, entry: String? = nil) -> ArchiveError {
        ArchiveError(.damaged, file: name, entry: entry, "is damaged: \(what). Copy or export the archive again.")
    }
}
