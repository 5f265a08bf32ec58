#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The kind of file system under a store: LMDB needs shared memory maps and locks that all its users see.
public enum FileSystemKind: Hashable, Sendable {
    case local
    /// Shared by several machines or served by a user process: its maps and locks are unreliable.
    case remote(String)
    /// Works, but writes go to another layer than the one read, and are lost with that layer.
    case overlay

    /// Creates the kind from Linux's number for a file system.
    public init(magic: UInt32) {
        self =
            switch magic {
            case 0x6969: .remote("NFS")
            case 0x517B, 0xFE53_4D42, 0xFF53_4D42: .remote("SMB")
            case 0x0102_1997: .remote("9p")
            case 0x6573_5546: .remote("FUSE")
            case 0x5346_414F, 0x6B41_4653: .remote("AFS")
            case 0x00C3_6400: .remote("Ceph")
            case 0x7375_7245: .remote("Coda")
            case 0x564C: .remote("NCP")
            case 0x786F_4256: .remote("VirtualBox's shared folders")
            case 0x794C_7630: .overlay
            default: .local
            }
    }

    /// Creates the kind from the name on Apple's systems.
    public init(name: String) {
        let remote = ["nfs": "NFS", "smbfs": "SMB", "afpfs": "AFP", "webdav": "WebDAV", "ftp": "FTP"]
        if let known = remote[name] {
            self = .remote(known)
        } else {
            self = name.contains("fuse") ? .remote("FUSE") : .local
        }
    }
}

extension FileSystem {
    /// Returns the kind of file system of a file or folder; local if the system does not report it.
    public static func kind(of path: String) -> FileSystemKind {
        #if canImport(Darwin)
            var status = statfs()
            // unsafe: C fills the structure during the call, and the name in it ends with a zero byte.
            guard unsafe statfs(path, &status) == 0 else { return .local }
            let name = unsafe withUnsafeBytes(of: &status.f_fstypename) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            return FileSystemKind(name: name)
        #else
            // The C library's module omits statfs, so look it up by name. Its first word is the kind.
            typealias Statfs = @convention(c) (UnsafePointer<CChar>, UnsafeMutableRawPointer) -> Int32
            guard let symbol = unsafe dlsym(nil, "statfs") else { return .local }
            // unsafe: the function has this signature, and fills fewer than 256 bytes.
            let statfs = unsafe unsafeBitCast(symbol, to: Statfs.self)
            return unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
                guard let base = buffer.baseAddress, unsafe statfs(path, base) == 0 else { return .local }
                return unsafe FileSystemKind(magic: UInt32(truncatingIfNeeded: buffer.load(as: Int.self)))
            }
        #endif
    }

    /// Returns `true` if nothing can write to the medium of a file: the file system itself, not only this mount of it,
    /// is read-only. Returns `false` if the system does not report it.
    public static func isImmutable(_ path: String) -> Bool {
        #if canImport(Darwin)
            // A read-only mount does not exclude that the same volume is mounted for writing elsewhere.
            return false
        #else
            guard let real = realPath(of: path), let mounts = wholeFile("/proc/self/mountinfo") else { return false }
            return MountTable(mounts).isImmutable(real)
        #endif
    }

    private static func realPath(of path: String) -> String? {
        // unsafe: the string is copied, then freed.
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }

    private static func wholeFile(_ path: String) -> [UInt8]? {
        let descriptor = openRegular(path)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while true {
            var piece = [UInt8](repeating: 0, count: 1 << 16)
            // unsafe: C fills at most the array during the call.
            let count = unsafe piece.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else { return nil }
            if count == 0 { return bytes }
            bytes += piece.prefix(count)
        }
    }
}

/// The lines of `/proc/self/mountinfo`.
struct MountTable {
    private var mounts: [(point: String, isImmutable: Bool)] = []

    init(_ bytes: [UInt8]) {
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            // number parent device root point options [tags] - kind source options
            let words = line.split(separator: " ")
            guard let dash = words.firstIndex(of: "-"), words.count > dash + 3, words.count > 4 else { continue }
            let kind = words[dash + 1]
            // The options of a layered or remote file system do not show whether another host or layer writes to it.
            let isLocal = [
                "ext4", "ext3", "ext2", "xfs", "btrfs", "squashfs", "erofs", "iso9660", "udf", "vfat", "tmpfs",
            ]
            .contains(String(kind))
            let isReadOnly = words[dash + 3].split(separator: ",").contains("ro")
            mounts.append((MountTable.unescaped(words[4]), isLocal && isReadOnly))
        }
    }

    /// Uses the mount with the longest path prefix, the last among equals: it holds the file.
    func isImmutable(_ path: String) -> Bool {
        var best: (length: Int, isImmutable: Bool)?
        for mount in mounts {
            let folder = mount.point == "/" ? "/" : mount.point + "/"
            guard path == mount.point || path.hasPrefix(folder) else { continue }
            if best.map({ folder.utf8.count >= $0.length }) ?? true { best = (folder.utf8.count, mount.isImmutable) }
        }
        return best?.isImmutable ?? false
    }

    /// Decodes a word: blanks and other special characters are written as a backslash and three octal digits.
    private static func unescaped(_ word: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(word.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
