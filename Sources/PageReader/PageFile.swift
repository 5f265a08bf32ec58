#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file that is read in bounded pieces with ordinary reads, never through a map. Whatever the file contains, and
/// however it changes meanwhile, a read returns bytes or an error and never raises a signal.
///
/// ```swift
/// let file = try PageFile(path: "store/data.mdb")
/// print(try file.size())
/// ```
public final class PageFile: Sendable {
    private enum Storage: Sendable {
        case descriptor(Int32)
        case memory([UInt8])
        /// Another file, with other bytes from an offset on.
        case patched(PageFile, offset: UInt64, bytes: [UInt8])
    }

    private let storage: Storage

    /// Opens a file for reading. Throws ``PageFileError/noFile`` for a folder, a pipe or a device.
    public init(path: String) throws(PageFileError) {
        // Without O_NONBLOCK, opening a pipe would wait for a writer. unsafe: C reads the path during the call only.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .system(errno) }
        guard let status = try? PageFile.status(descriptor), status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .noFile
        }
        storage = .descriptor(descriptor)
    }

    /// Creates a file from bytes in memory.
    public init(bytes: [UInt8]) { storage = .memory(bytes) }

    /// Creates a view of another file in which some bytes are replaced. The file itself stays as it is.
    public init(_ file: PageFile, replacing bytes: [UInt8], at offset: UInt64) {
        storage = .patched(file, offset: offset, bytes: bytes)
    }

    deinit { if case .descriptor(let descriptor) = storage { close(descriptor) } }

    /// Returns the current size of the file in bytes.
    public func size() throws(PageFileError) -> UInt64 {
        switch storage {
        case .memory(let bytes): return UInt64(bytes.count)
        case .descriptor(let descriptor): return UInt64(max(0, try PageFile.status(descriptor).st_size))
        case .patched(let file, _, _): return try file.size()
        }
    }

    /// Returns device and inode, which distinguish this file from another file with the same name. `nil` for bytes in
    /// memory.
    public func identity() throws(PageFileError) -> (device: UInt64, inode: UInt64)? {
        guard case .descriptor(let descriptor) = storage else { return nil }
        let status = try PageFile.status(descriptor)
        return (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
    }

    /// Fills the buffer with the bytes from `offset` on. Throws ``PageFileError/ended`` if the file ends before the
    /// buffer is full.
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
        case .patched(let file, let place, let bytes):
            try file.read(at: offset, into: &buffer)
            for index in bytes.indices {
                let position = place + UInt64(index)
                if position >= offset, position - offset < UInt64(buffer.count) {
                    buffer[Int(position - offset)] = bytes[index]
                }
            }
        }
    }

    /// Returns the first place from `offset` on that is not in a hole of the file, as far as the file system tells; the
    /// end of the file if there is none. A file can be a million times longer than what it stores.
    public func dataOffset(from offset: UInt64) throws(PageFileError) -> UInt64 {
        let size = try size()
        guard case .descriptor(let descriptor) = storage, offset < size, let start = off_t(exactly: offset) else {
            return min(offset, size)
        }
        #if canImport(Darwin)
            let (seekData, none) = (SEEK_DATA, ENXIO)
        #else
            // Not among the constants of every C library.
            let (seekData, none) = (3 as Int32, ENXIO)
        #endif
        let found = lseek(descriptor, start, seekData)
        if found < 0 { return errno == none ? size : offset }
        return max(offset, min(UInt64(found), size))
    }

    /// Announces bytes that will be read soon, so that the disk can read them together. This is only a hint.
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

    // unsafe: each call writes at most the rest of the buffer, after the bytes read before.
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
    /// The file ends before the requested bytes.
    case ended
    /// The system refused, with this `errno`.
    case system(Int32)
    /// The path refers to a folder, a pipe or a device.
    case noFile

    public static let noSuchFile = PageFileError.system(ENOENT)

    /// Whether a permission is missing.
    public var isOfPermission: Bool { self == .system(EACCES) || self == .system(EPERM) }

    /// Whether the system failed, which says nothing about the content of the file.
    public var isOfSystem: Bool { if case .system = self { true } else { false } }
}

extension PageFileError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .ended: "the file ends before it"
        case .noFile: "it is no file"
        // unsafe: C returns a string that stays valid until it is copied here.
        case .system(let code): unsafe "it cannot be read: \(String(cString: strerror(code))) (errno \(code))"
        }
    }
}
