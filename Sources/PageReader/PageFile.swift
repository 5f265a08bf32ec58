#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file that is read in bounded pieces by ordinary reads, never through a map: whatever it holds or becomes meanwhile,
/// a read gives bytes or an error, and no signal.
///
/// ```swift
/// let file = try PageFile(path: "store/data.mdb")
/// print(try file.size())
/// ```
public final class PageFile: Sendable {
    private enum Storage: Sendable {
        case descriptor(Int32)
        case memory([UInt8])
    }

    private let storage: Storage

    /// Opens a file for reading; throws ``PageFileError/noFile`` for a folder, a pipe or a device.
    public init(path: String) throws(PageFileError) {
        // A pipe would let the call wait for whoever writes to it. unsafe: C reads the path during the call only.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .system(errno) }
        guard let status = try? PageFile.status(descriptor), status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .noFile
        }
        storage = .descriptor(descriptor)
    }

    /// A file that is bytes in memory.
    public init(bytes: [UInt8]) { storage = .memory(bytes) }

    deinit { if case .descriptor(let descriptor) = storage { close(descriptor) } }

    /// How many bytes the file has now.
    public func size() throws(PageFileError) -> UInt64 {
        switch storage {
        case .memory(let bytes): return UInt64(bytes.count)
        case .descriptor(let descriptor): return UInt64(max(0, try PageFile.status(descriptor).st_size))
        }
    }

    /// Device and inode: what tells this file from another one under the same name. `nil` for bytes in memory.
    public func identity() throws(PageFileError) -> (device: UInt64, inode: UInt64)? {
        guard case .descriptor(let descriptor) = storage else { return nil }
        let status = try PageFile.status(descriptor)
        return (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
    }

    /// Fills the buffer with the bytes from `offset` on; throws ``PageFileError/ended`` when the file has not as many.
    public func read(at offset: UInt64, into buffer: inout [UInt8]) throws(PageFileError) {
        guard let start = Int(exactly: offset), start <= Int.max - buffer.count else { throw .ended }
        switch storage {
        case .memory(let bytes):
            guard start <= bytes.count, bytes.count - start >= buffer.count else { throw .ended }
            buffer.replaceSubrange(0..., with: bytes[start..<start + buffer.count])
        case .descriptor(let descriptor):
            let failure = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe PageFile.fill(bytes, from: descriptor, at: start)
            }
            if let failure { throw failure }
        }
    }

    /// Says which bytes will be read soon, so that a disk may fetch them together. Nothing depends on it.
    func prefetch(_ range: Range<UInt64>) {
        guard case .descriptor(let descriptor) = storage, let start = Int(exactly: range.lowerBound),
            let end = Int(exactly: range.upperBound)
        else { return }
        #if canImport(Darwin)
            var advice = radvisory(ra_offset: off_t(start), ra_count: Int32(clamping: end - start))
            // unsafe: C reads the structure during the call.
            _ = unsafe fcntl(descriptor, F_RDADVISE, &advice)
        #else
            _ = posix_fadvise(descriptor, off_t(start), off_t(end - start), POSIX_FADV_WILLNEED)
        #endif
    }

    // unsafe: each call writes at most what is left of the buffer, behind what was read before.
    private static func fill(
        _ bytes: UnsafeMutableRawBufferPointer, from descriptor: Int32, at start: Int
    ) -> PageFileError? {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(start + done))
            if count == 0 { return .ended }
            if count > 0 { done += count } else if errno != EINTR { return .system(errno) }
        }
        return nil
    }

    private static func status(_ descriptor: Int32) throws(PageFileError) -> stat {
        var status = stat()
        // unsafe: C fills the structure during the call.
        guard unsafe fstat(descriptor, &status) == 0 else { throw .system(errno) }
        return status
    }
}

/// Why bytes could not be read.
public enum PageFileError: Error, Hashable, Sendable {
    /// The file ends before them.
    case ended
    /// The system refused, with this `errno`.
    case system(Int32)
    /// What was to be opened is a folder, a pipe or a device.
    case noFile

    public static let noSuchFile = PageFileError.system(ENOENT)

    /// Whether a permission is wanting.
    public var isOfPermission: Bool { self == .system(EACCES) || self == .system(EPERM) }

    /// Whether the system refused: that says nothing of what the file holds.
    public var isOfSystem: Bool { if case .system = self { true } else { false } }
}

extension PageFileError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .ended: "the file ends before it"
        case .noFile: "it is no file"
        // unsafe: C answers a string that lives on, and it is copied at once.
        case .system(let code): unsafe "it cannot be read: \(String(cString: strerror(code))) (errno \(code))"
        }
    }
}
