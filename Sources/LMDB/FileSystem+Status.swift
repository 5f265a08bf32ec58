#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What a path leads to, without following a symbolic link at its end.
public struct FileStatus: Sendable {
    public enum Kind: Sendable { case file, folder, symbolicLink, other }

    public let kind: Kind
    public let identity: FileIdentity
    public let size: Int
    public let owner: UInt32
    /// The permission bits, as in `chmod`.
    public let mode: UInt32

    /// Whether others than the owner may read or change it.
    public var isOpenToOthers: Bool { mode & 0o066 != 0 }
}

extension FileSystem {
    /// What a path leads to; `nil` when there is nothing, or when this process may not look: see ``lookFailure(_:)``.
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

    /// The code of the system when it does not let this process look at a path; `nil` when it does, also when there is nothing.
    public static func lookFailure(_ path: String) -> Int32? {
        var status = stat()
        // unsafe: C fills the structure during the call.
        guard unsafe lstat(path, &status) != 0 else { return nil }
        let code = errno
        return code == ENOENT || code == ENOTDIR ? nil : code
    }

    /// The user on whose behalf this process works.
    public static var effectiveUser: UInt32 { UInt32(geteuid()) }

    /// Whether this process may write to a file or folder; a medium for reading only refuses even the superuser.
    public static func isWritable(_ path: String) -> Bool { unsafe access(path, W_OK) == 0 }

    /// Whether this process may read a file.
    public static func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }

    /// Whether the call that failed last was refused for want of a permission.
    public static var wasRefused: Bool { errno == EACCES || errno == EPERM || errno == EROFS }

    /// Free bytes on the medium of a file for this user; `nil` when the system does not say.
    public static func freeBytes(at path: String) -> Int? {
        var status = statvfs()
        // unsafe: C fills the structure during the call.
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return Int(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }

    /// The size beyond which this process may not let a file grow; `nil` for none.
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

    /// When a file was made, in nanoseconds since 1970; `nil` where the system does not keep it.
    public static func birth(of path: String) -> Int64? {
        #if canImport(Darwin)
            var status = stat()
            // unsafe: C fills the structure during the call.
            guard unsafe stat(path, &status) == 0 else { return nil }
            return Int64(status.st_birthtimespec.tv_sec) * 1_000_000_000 + Int64(status.st_birthtimespec.tv_nsec)
        #else
            // Only GNU sources see statx, so it is called by name. Offsets and mask are those of the kernel's interface.
            typealias Statx =
                @convention(c) (
                    Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer
                ) -> Int32
            guard let symbol = unsafe dlsym(nil, "statx") else { return nil }
            // unsafe: the function has this signature, and fills 256 bytes at most.
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

    /// Takes read and write permission for others away.
    @discardableResult
    public static func protect(_ path: String, mode: UInt32) -> Bool { unsafe chmod(path, mode_t(mode)) == 0 }
}

/// A lock on a folder that ends with its holder, even when that is killed. It is held for a moment: by whoever lets LMDB open or close the
/// files of the folder, and by whoever puts another data file in the place of the one there.
///
/// LMDB lets the first process that opens a lock file fill it in, under a lock of that file; a second process waits for it and then takes
/// the file for complete. Where the first one is killed before it is done, the second finds a file that is not filled in: a number of
/// another transaction, or what looks like another release's. So only one is there at a time, and the next one fills the file in again.
public enum FolderLock {
    /// Waits until nobody else holds the lock of a folder, and does something with it. On a medium without such locks nobody waits.
    public static func held<Result, Failure>(
        _ folder: String, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return try body() }
        let mark = ForkMark()
        defer { mark.unlockAndClose(descriptor) }
        while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        return try body()
    }
}
