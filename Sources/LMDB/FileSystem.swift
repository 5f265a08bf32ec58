#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The identity of a file, independent of the path.
public struct FileIdentity: Hashable, Sendable {
    public let device: UInt64
    public let inode: UInt64
}

/// The state of a file, as the system reports it. It changes with every write, within the resolution of the system's
/// file times.
public struct FileState: Hashable, Sendable {
    public let identity: FileIdentity
    public let size: Int64
    /// Nanoseconds since 1970.
    public let modified: Int64
    public let changed: Int64
}

/// The few file and folder operations that a store needs in addition to LMDB's own.
public enum FileSystem {
    /// Returns the identity of a file or folder; `nil` if it does not exist.
    public static func identity(of path: String) -> FileIdentity? {
        status(of: path).map { FileIdentity(device: UInt64(truncatingIfNeeded: $0.st_dev), inode: UInt64($0.st_ino)) }
    }

    /// Returns the size of a file in bytes; `nil` if it does not exist.
    public static func size(of path: String) -> Int? { status(of: path).map { Int($0.st_size) } }

    /// Returns how many bytes of a file take room on the disk: fewer than its size if it has holes.
    public static func storedBytes(of path: String) -> Int? {
        status(of: path).map { min(Int($0.st_size), Int($0.st_blocks) * 512) }
    }

    /// Returns `true` if a path leads to a regular file.
    public static func isFile(_ path: String) -> Bool {
        status(of: path).map { $0.st_mode & S_IFMT == S_IFREG } ?? false
    }

    /// Returns the state of a file, which changes with every write to it; `nil` if the file does not exist.
    public static func state(of path: String) -> FileState? {
        guard let status = status(of: path) else { return nil }
        #if canImport(Darwin)
            let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        return FileState(
            identity: FileIdentity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino)),
            size: Int64(status.st_size), modified: nanoseconds(modified), changed: nanoseconds(changed))
    }

    /// The identity of the current boot of the system; `nil` if the system does not report it.
    public static var bootIdentity: String? {
        #if canImport(Darwin)
            var bytes = [UInt8](repeating: 0, count: 64)
            var count = bytes.count
            // unsafe: C fills at most `count` bytes during the call.
            let code = unsafe bytes.withUnsafeMutableBytes {
                unsafe sysctlbyname("kern.bootsessionuuid", $0.baseAddress, &count, nil, 0)
            }
            guard code == 0 else { return nil }
        #else
            guard let bytes = smallFile("/proc/sys/kernel/random/boot_id") else { return nil }
        #endif
        let text = String(decoding: bytes.prefix { $0 != 0 && $0 != 10 }, as: UTF8.self)
        return text.isEmpty ? nil : text
    }

    /// Returns the first bytes of a regular file, at most 4 KB; `nil` if it cannot be read.
    public static func smallFile(_ path: String) -> [UInt8]? {
        let descriptor = openRegular(path)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        // unsafe: C fills at most the array during the call.
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// Writes a new small file that only its owner can read. If that fails, returns `false` and leaves no file.
    public static func writeSmallFile(_ path: String, _ bytes: [UInt8]) -> Bool {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        // unsafe: C only reads the array during the call.
        let count = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        if close(descriptor) == 0, count == bytes.count { return true }
        remove(path)
        return false
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    public static func isFolder(_ path: String) -> Bool {
        status(of: path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        // unsafe: C fills the structure during the call.
        return unsafe stat(path, &status) == 0 ? status : nil
    }

    /// Creates a folder that only its owner can enter, with its parents. Returns the system's error code if that fails.
    public static func makingFolderFails(_ path: String) -> Int32? {
        if isFolder(path) { return nil }
        if let slash = path.lastIndex(of: "/"), slash > path.startIndex,
            let failure = makingFolderFails(String(path[..<slash]))
        {
            // Something else has the name of a parent.
            return failure == EEXIST ? ENOTDIR : failure
        }
        guard unsafe mkdir(path, 0o700) == 0 else {
            let failure = errno
            return isFolder(path) ? nil : failure
        }
        // A parent without read permission cannot be flushed; its new name becomes durable when the system writes it
        // back.
        _ = flush(folder: parent(of: path))
        return nil
    }

    /// Returns `true` if an open file is a regular file. Reads from a pipe would wait for a writer.
    static func isRegular(_ descriptor: Int32) -> Bool {
        var status = stat()
        // unsafe: C fills the structure during the call.
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Opens a regular file for reading without waiting; -1 if that fails, with the reason in `errno`.
    static func openRegular(_ path: String) -> Int32 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0, !isRegular(descriptor) else { return descriptor }
        close(descriptor)
        errno = EINVAL
        return -1
    }

    /// Returns the folder that contains a file or folder.
    public static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Creates a hard link to a file. Returns `false` if that fails, for example if the name exists.
    public static func link(_ from: String, to: String) -> Bool {
        #if canImport(Glibc)
            unsafe Glibc.link(from, to) == 0
        #elseif canImport(Musl)
            unsafe Musl.link(from, to) == 0
        #else
            unsafe Darwin.link(from, to) == 0
        #endif
    }

    /// Removes a file. Returns `false` if it does not exist or cannot be removed.
    @discardableResult
    public static func remove(_ path: String) -> Bool { unsafe unlink(path) == 0 }

    /// Removes an empty folder.
    @discardableResult
    public static func removeFolder(_ path: String) -> Bool { unsafe rmdir(path) == 0 }

    /// Makes the names of a folder's files durable.
    public static func flush(folder: String) -> Bool {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return isFlushed(descriptor)
    }

    /// Waits until all writes to an open file or folder are on the disk. Returns `false` if that fails.
    static func isFlushed(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            // Plain fsync on Apple systems does not flush the drive.
            fcntl(descriptor, F_FULLFSYNC) == 0 || fsync(descriptor) == 0
        #else
            fsync(descriptor) == 0
        #endif
    }

    /// Waits until what was written to an open file is on the disk, without times that nobody needs. Returns `false` if
    /// that fails.
    static func isDataFlushed(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            isFlushed(descriptor)
        #else
            fdatasync(descriptor) == 0
        #endif
    }

    /// Returns the names in a folder; `nil` if it cannot be read.
    public static func names(in folder: String) -> [String]? {
        guard let stream = unsafe opendir(folder) else { return nil }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            // unsafe: the entry is valid until the next call, and its name ends with a zero byte.
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    /// The folder for temporary files.
    public static var temporaryFolder: String {
        // unsafe: the string is copied immediately.
        guard let folder = unsafe getenv("TMPDIR") else { return "/tmp" }
        return unsafe String(cString: folder)
    }

    /// The number of this process.
    public static var processID: Int32 { getpid() }

    /// Nanoseconds since an arbitrary moment, by a clock that cannot be set.
    public static var monotonicNanoseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Nanoseconds since 1970, by the system clock.
    public static var nanosecondsSince1970: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The identity of the calling thread among the live threads.
public struct ThreadIdentity: Hashable, Sendable {
    private let value: UInt
    public static var current: ThreadIdentity { ThreadIdentity(value: currentThread()) }
}

/// Suspends the calling thread for less than a second.
public func pauseThread(nanoseconds: Int64) {
    var time = timespec(tv_sec: 0, tv_nsec: Int(max(0, min(nanoseconds, 999_999_999))))
    unsafe nanosleep(&time, nil)
}

/// Yields to other threads.
public func yieldThread() { sched_yield() }

extension FileSystem {
    /// Renames a file or folder, and replaces an empty folder at the new name. Returns `false` if that fails.
    public static func rename(_ from: String, to: String) -> Bool {
        #if canImport(Glibc)
            unsafe Glibc.rename(from, to) == 0
        #elseif canImport(Musl)
            unsafe Musl.rename(from, to) == 0
        #else
            unsafe Darwin.rename(from, to) == 0
        #endif
    }
}
