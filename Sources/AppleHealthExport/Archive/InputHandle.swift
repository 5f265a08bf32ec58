#if canImport(Foundation)
    // The small Foundation has no FileHandle.
    import Foundation
#endif

/// A file or standard input, opened for reading.
struct InputHandle {
    /// The path as the caller gave it, or "standard input".
    let name: String
    /// The bytes of a regular file from its start to its end. `nil` for a pipe.
    let size: Int?
    private let handle: FileHandle

    /// Opens a file by its path, or standard input for "-". Refuses folders, devices and sockets.
    ///
    /// - Parameter title: What errors call the file, instead of its path.
    init(path: String, title: String? = nil) throws(ArchiveError) {
        if path == "-" {
            name = "standard input"
            handle = .standardInput
        } else {
            name = title ?? path
            try Self.refuseOthers(path)
            do {
                handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            } catch {
                throw Self.failure(error, path)
            }
        }
        size = Self.size(of: handle)
    }

    /// Returns `true` for a pipe with a name, which must not be opened in vain: that would interrupt its writer. The
    /// pipe of a shell is a link under `/dev/fd` to what has no path.
    static func isNamedPipe(_ path: String) -> Bool {
        guard path != "-" else { return false }
        let type = type(of: path)
        return type == .typeUnknown || type == .typeSymbolicLink && FileManager.default.fileExists(atPath: path)
    }

    /// Appends up to `count` bytes from the current position to `buffer` and returns how many, 0 at the end.
    func read(into buffer: inout [UInt8], atMost count: Int) throws(ArchiveError) -> Int {
        while true {
            do {
                return try Self.withoutLeftovers {
                    guard let piece = try handle.read(upToCount: count) else { return 0 }
                    buffer.append(contentsOf: piece)
                    return piece.count
                }
            } catch {
                if !SystemReason.isInterruption(error) { throw Self.failure(error, name) }
            }
        }
    }

    /// Continues reading at this offset from the start of the file.
    func seek(to offset: Int) throws(ArchiveError) {
        do {
            try handle.seek(toOffset: UInt64(offset))
        } catch {
            throw Self.failure(error, name)
        }
    }

    /// Returns the current position in a regular file, and `nil` for a pipe.
    func position() -> Int? { (try? handle.offset()).flatMap { Int(exactly: $0) } }

    private static func size(of handle: FileHandle) -> Int? {
        guard let start = try? handle.offset(), let end = try? handle.seekToEnd() else { return nil }
        guard (try? handle.seek(toOffset: start)) != nil else { return nil }
        return Int(exactly: end)
    }

    private static func type(of path: String) -> FileAttributeType? {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: target)
        return attributes?[.type] as? FileAttributeType
    }

    /// A device may block forever or never end. What has no type of its own, such as the pipe of a shell behind
    /// /dev/fd, is opened.
    private static func refuseOthers(_ path: String) throws(ArchiveError) {
        switch type(of: path) {
        case .typeDirectory: throw ArchiveError(.unreadable, file: path, "is a folder. Name a file in it.")
        case .typeCharacterSpecial, .typeBlockSpecial, .typeSocket:
            throw ArchiveError(
                .unreadable, file: path, "is a device or a socket. Name a file, or - for standard input.")
        default: break
        }
    }

    private static func failure(_ error: any Error, _ name: String) -> ArchiveError {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile, .fileNoSuchFile:
            ArchiveError(.missing, file: name, "does not exist. Check the path.")
        case .fileReadNoPermission:
            ArchiveError(.unreadable, file: name, "may not be read. Change its permissions, or run as its owner.")
        default:
            ArchiveError(
                .unreadable, file: name, "cannot be read (\(SystemReason(error))). Copy the file and try the copy.")
        }
    }

    /// Apple's Foundation leaves each piece to the enclosing pool, which a long loop would never empty.
    private static func withoutLeftovers<Value>(_ body: () throws -> Value) rethrows -> Value {
        #if canImport(ObjectiveC)
            try autoreleasepool(invoking: body)
        #else
            try body()
        #endif
    }
}
