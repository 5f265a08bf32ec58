#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The status of a path, without following a symbolic link at its end.
public struct FileStatus: Sendable {
    public enum Kind: Sendable { case file, folder, symbolicLink, other }

    public let kind: Kind
    public let identity: FileIdentity
    public let size: Int
    public let owner: UInt32
    /// The permission bits, as in `chmod`.
    public let mode: UInt32

    /// Whether group or others may read or write it.
    public var isOpenToOthers: Bool { mode & 0o066 != 0 }
}

extension FileSystem {
    /// Returns the status of a path; `nil` if it does not exist, or if this process may not access it: see
    /// ``lookFailure(_:)``.
    public static func statusOfLink(_ path: String) -> FileStatus? {
        var status = stat()
        // unsafe: C fills the structure during the call.
        guard unsafe lstat(path, &status) == 0 else { return nil }
        let kind: FileStatus.Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .folder
            case S_IFLNK: .symbolicLink
            default: .other
            }
        return FileStatus(
            kind: kind,
            identity: FileIdentity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino)),
            size: Int(status.st_size), owner: UInt32(status.st_uid), mode: UInt32(status.st_mode) & 0o777)
    }

    /// Returns the system's error code if this process may not access a path; `nil` if it may, or if the path does not
    /// exist.
    public static func lookFailure(_ path: String) -> Int32? {
        var status = stat()
        // unsafe: C fills the structure during the call.
        guard unsafe lstat(path, &status) != 0 else { return nil }
        let code = errno
        return code == ENOENT || code == ENOTDIR ? nil : code
    }

    /// The effective user of this process.
    public static var effectiveUser: UInt32 { UInt32(geteuid()) }

    /// Returns `true` if this process may write to a file or folder; a read-only medium refuses even the superuser.
    public static func isWritable(_ path: String) -> Bool { unsafe access(path, W_OK) == 0 }

    /// Returns `true` if this process may read a file.
    public static func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

    /// Returns the free bytes for this user on the medium of a file; `nil` if the system does not report them.
    public static func freeBytes(at path: String) -> Int? {
        var status = statvfs()
        // unsafe: C fills the structure during the call.
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return Int(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }

    /// The maximum size to which this process may grow a file; `nil` for no limit.
    public static var fileSizeLimit: Int? {
        var limit = rlimit()
        #if canImport(Glibc)
            let code = unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        #else
            let code = unsafe getrlimit(RLIMIT_FSIZE, &limit)
        #endif
        guard code == 0, limit.rlim_cur < 1 << 62 else { return nil }
        return Int(limit.rlim_cur)
    }

    /// Returns the creation time of a file in nanoseconds since 1970; `nil` if the system does not record it.
    public static func birth(of path: String) -> Int64? {
        #if canImport(Darwin)
            var status = stat()
            // unsafe: C fills the structure during the call.
            guard unsafe stat(path, &status) == 0 else { return nil }
            return Int64(status.st_birthtimespec.tv_sec) * 1_000_000_000 + Int64(status.st_birthtimespec.tv_nsec)
        #else
            // Only GNU sources declare statx, so look it up by name. Offsets and mask are those of the kernel
            // interface.
            typealias Statx =
                @convention(c) (
                    Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer
                ) -> Int32
            guard let symbol = unsafe dlsym(nil, "statx") else { return nil }
            // unsafe: the function has this signature, and fills at most 256 bytes.
            let statx = unsafe unsafeBitCast(symbol, to: Statx.self)
            let birthMask: UInt32 = 0x800
            return unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
                guard let base = buffer.baseAddress, unsafe statx(AT_FDCWD, path, 0, birthMask, base) == 0,
                    unsafe buffer.load(as: UInt32.self) & birthMask != 0
                else { return nil }
                let seconds = unsafe buffer.load(fromByteOffset: 80, as: Int64.self)
                return unsafe seconds * 1_000_000_000 + Int64(buffer.load(fromByteOffset: 88, as: UInt32.self))
            }
        #endif
    }

    /// Sets the permission bits of a path.
    @discardableResult
    public static func protect(_ path: String, mode: UInt32) -> Bool { unsafe chmod(path, mode_t(mode)) == 0 }
}

/// A lock on a folder that ends with its holder, even if the holder is killed. A process holds it briefly: while LMDB
/// opens or closes the files of the folder, and while another data file replaces the current one.
///
/// LMDB lets the first process that opens a lock file initialize it, under a lock of that file. A second process waits
/// for that lock and then assumes that the file is initialized. If the first process is killed before it finishes, the
/// second finds an uninitialized file: it sees a wrong transaction number, or a file that looks like another release's.
/// So only one process at a time opens the folder, and the next one initializes the file again.
public enum FolderLock {
    /// Stores hold the lock for milliseconds, so who holds it for longer is another program, such as `flock`, or a
    /// process that was stopped.
    public static let patience: Duration = .seconds(10)

    /// Waits until no one else holds the lock of a folder, then runs `body`. Returns `nil`, and does not run it, if the
    /// lock is held for longer than `patience`. On a medium without such locks it does not wait.
    public static func held<Result, Failure>(
        _ folder: String, patience: Duration = FolderLock.patience, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return try body() }
        let mark = ForkMark()
        defer { mark.unlockAndClose(descriptor) }
        let end = ContinuousClock.now + patience
        var pause: Int64 = 50_000
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { break }
            guard ContinuousClock.now < end else { return nil }
            pauseThread(nanoseconds: pause)
            pause = min(2 * pause, 10_000_000)
        }
        return try body()
    }
}
