#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file of a fixed size beside the data file, whose bytes are written over again and again.
///
/// It is mapped for reading, so that a look at it costs no system call. Its blocks are written once when it is made, so
/// that later writes need no room on the disk and flush nothing but themselves.
@safe
public final class JournalFile: @unchecked Sendable {
    // @unchecked Sendable: all properties are set once. Processes write to the file while others read it, so a reader
    // verifies what it has read.
    // unsafe: the map is alive until deinit, and every access is within its bounds.

    /// The name of the step after whose failure it is unknown what is on the disk.
    static let flush: StaticString = "fdatasync"

    private let descriptor: Int32
    private let map: UnsafeRawPointer
    private let path: String
    public let byteCount: Int
    /// Distinguishes the file from others on its file system.
    public let inode: UInt64

    /// A file that is longer was not made by a store: it would be read into memory.
    private static let greatestSize: off_t = 16 << 20

    /// Opens the file; `nil` if there is none. Throws if what is there cannot be read, or is no such file: it may hold
    /// what nothing else does.
    public static func open(_ path: String, readOnly: Bool) throws(LMDBError) -> JournalFile? {
        let descriptor = openFile(path, (readOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw LMDBError(errno, "open", path)
        }
        var found = stat()
        guard unsafe fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG, found.st_size >= 4_096,
            found.st_size <= greatestSize
        else {
            close(descriptor)
            throw LMDBError(.init(rawValue: EINVAL), operation: "open", path: path)
        }
        let size = Int(found.st_size)
        if let code = failureOfReading(descriptor, size) {
            close(descriptor)
            throw LMDBError(code, "pread", path)
        }
        guard let map = unsafe mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0), unsafe map != MAP_FAILED else {
            let code = errno
            close(descriptor)
            throw LMDBError(code, "mmap", path)
        }
        return unsafe JournalFile(descriptor, UnsafeRawPointer(map), size, UInt64(found.st_ino), path)
    }

    private init(_ descriptor: Int32, _ map: UnsafeRawPointer, _ byteCount: Int, _ inode: UInt64, _ path: String) {
        (self.descriptor, self.byteCount, self.inode, self.path) = (descriptor, byteCount, inode, path)
        unsafe self.map = map
    }

    deinit {
        _ = unsafe munmap(UnsafeMutableRawPointer(mutating: map), byteCount)
        close(descriptor)
    }

    /// Makes a file of zeros under a name that does not exist. Its name and its blocks are durable afterwards.
    public static func make(_ path: String, byteCount: Int, mode: mode_t) -> Bool {
        let partial = path + ".partial"
        FileSystem.remove(partial)
        let descriptor = createFile(partial, mode)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Page by page: a system that caches long writes in large pieces would write a whole piece for each frame.
        let page = 4_096
        let zeros = [UInt8](repeating: 0, count: page)
        var isWritten = byteCount % page == 0
        for offset in stride(from: 0, to: byteCount, by: page) where isWritten {
            // unsafe: C reads at most the array during the call.
            isWritten =
                unsafe zeros.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, page, off_t(offset)) } == page
        }
        guard isWritten, FileSystem.isFlushed(descriptor), FileSystem.link(partial, to: path) else {
            FileSystem.remove(partial)
            return false
        }
        FileSystem.remove(partial)
        return FileSystem.flush(folder: FileSystem.parent(of: path))
    }

    /// Makes the name of the file durable.
    public func flushName() throws(LMDBError) {
        guard FileSystem.flush(folder: FileSystem.parent(of: path)) else { throw LMDBError(errno, "fsync", path) }
    }

    /// Reads the file once, and returns the error for what cannot be read: through the map the process would end by a
    /// signal.
    private static func failureOfReading(_ descriptor: Int32, _ size: Int) -> Int32? {
        let piece = 1 << 18
        var buffer = [UInt8](repeating: 0, count: min(piece, size))
        var offset = 0
        while offset < size {
            // unsafe: C writes at most the array during the call.
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe pread(descriptor, $0.baseAddress, min($0.count, size - offset), off_t(offset))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            offset += count
        }
        return nil
    }

    /// Returns the eight bytes at an offset as they are at this moment; zero beyond the end.
    public func word(at offset: Int) -> UInt64 {
        guard offset >= 0, offset + 8 <= byteCount else { return 0 }
        return unsafe map.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
    }

    /// Returns the first offset, `start` or some eights beyond it, at which eight bytes hold a number at this moment.
    public func offset(of number: UInt64, from start: Int) -> Int? {
        guard start >= 0 else { return nil }
        var offset = start
        while offset <= byteCount - 8 {
            if unsafe map.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == number.littleEndian {
                return offset
            }
            offset &+= 8
        }
        return nil
    }

    /// Returns a copy of some bytes as they are at this moment; `nil` if they are not within the file.
    public func bytes(at offset: Int, count: Int) -> [UInt8]? {
        guard offset >= 0, count >= 0, count <= byteCount - offset else { return nil }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: map + offset, count: count))
    }

    /// Writes bytes and makes them durable.
    ///
    /// - Parameter flushes: whether to wait until the bytes are on the disk.
    public func write(_ bytes: [UInt8], at offset: Int, flushes: Bool) throws(LMDBError) {
        precondition(offset >= 0 && bytes.count <= byteCount - offset, "the bytes do not fit into the journal")
        var count: Int
        repeat {
            // unsafe: C reads at most the array during the call.
            count = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
        } while count < 0 && errno == EINTR
        guard count == bytes.count else { throw LMDBError(count < 0 ? errno : EIO, "pwrite", path) }
        guard flushes else { return }
        while !FileSystem.isDataFlushed(descriptor) {
            if errno == EINTR { continue }
            throw LMDBError(errno, JournalFile.flush, path)
        }
    }
}

// Inside the class the name would refer to its own method.
private func openFile(_ path: String, _ flags: Int32) -> Int32 { unsafe open(path, flags) }
private func createFile(_ path: String, _ mode: mode_t) -> Int32 {
    unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
}
