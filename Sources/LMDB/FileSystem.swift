#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What tells one file from another, whatever path leads to it.
public struct FileIdentity: Hashable, Sendable {
    public let device: UInt64
    public let inode: UInt64
}

/// The few calls on files and folders that a store needs beside LMDB's own.
public enum FileSystem {
    /// The identity of a file or folder; `nil` when there is none.
    public static func identity(of path: String) -> FileIdentity? {
        status(of: path).map { FileIdentity(device: UInt64(truncatingIfNeeded: $0.st_dev), inode: UInt64($0.st_ino)) }
    }

    /// The size of a file in bytes; `nil` when there is none.
    public static func size(of path: String) -> Int? { status(of: path).map { Int($0.st_size) } }

    public static func isFolder(_ path: String) -> Bool {
        status(of: path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        // unsafe: C fills the structure during the call.
        return unsafe stat(path, &status) == 0 ? status : nil
    }

    /// Makes a folder that only its owner may enter, and those above it. Answers false when that fails.
    public static func makeFolder(_ path: String) -> Bool {
        if isFolder(path) { return true }
        if let slash = path.lastIndex(of: "/"), slash > path.startIndex, !makeFolder(String(path[..<slash])) {
            return false
        }
        guard unsafe mkdir(path, 0o700) == 0 else { return isFolder(path) }
        // A parent that may not be read cannot be flushed; then the name becomes durable when the system sees fit.
        _ = flush(folder: parent(of: path))
        return true
    }

    /// The folder that a file or folder is in.
    public static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Gives a file a second name; answers false when that fails, so when the name is taken.
    public static func link(_ from: String, to: String) -> Bool {
        #if canImport(Glibc)
            unsafe Glibc.link(from, to) == 0
        #elseif canImport(Musl)
            unsafe Musl.link(from, to) == 0
        #else
            unsafe Darwin.link(from, to) == 0
        #endif
    }

    /// Removes a file; answers false when there is none or it cannot be removed.
    @discardableResult
    public static func remove(_ path: String) -> Bool { unsafe unlink(path) == 0 }

    /// Removes an empty folder.
    @discardableResult
    public static func removeFolder(_ path: String) -> Bool { unsafe rmdir(path) == 0 }

    /// Makes the name of a file durable in its folder.
    public static func flush(folder: String) -> Bool {
        let descriptor = unsafe open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }

    /// The names in a folder; `nil` when it cannot be read.
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
        // unsafe: the string is copied at once.
        guard let folder = unsafe getenv("TMPDIR") else { return "/tmp" }
        return unsafe String(cString: folder)
    }

    /// Nanoseconds since 1970 by the system's clock.
    public static var nanosecondsSince1970: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The identity of the calling thread among the living ones.
public struct ThreadIdentity: Hashable, Sendable {
    private let value: UInt
    public static var current: ThreadIdentity { ThreadIdentity(value: currentThread()) }
}

/// Lets other threads run.
public func yieldThread() { sched_yield() }

extension FileSystem {
    /// Gives a file or folder another name, in place of an empty folder there; answers false when that fails.
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
