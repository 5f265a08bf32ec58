#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Prepares LMDB's lock file before LMDB opens it.
enum LockFile {
    /// The size of one reader slot, and an upper bound for LMDB's other data in the file, in bytes.
    private static let readerBytes = 64
    private static let otherBytes = 4_096

    /// Reserves disk space for the lock file. LMDB only sets its size and then writes through a map: on a full disk,
    /// the first write would end the process. Returns the system's error code if there is not enough space. LMDB
    /// reports all other errors.
    ///
    /// Call it only while this process does not have the file open: closing it releases all locks of the process on it.
    static func reserve(in folder: String, _ options: Environment.Options) -> Int32 {
        let file = StoreFiles.lockPath(in: folder)
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe open(file, flags, options.fileMode)
        guard descriptor >= 0 else { return errno == ENOSPC || errno == EDQUOT ? errno : 0 }
        defer { close(descriptor) }
        guard FileSystem.isRegular(descriptor) else { return EINVAL }
        let bytes = Int(options.maxReaders) * readerBytes + otherBytes
        return DiskSpace.reserve(descriptor, from: 0, to: bytes) ? 0 : ENOSPC
    }
}

/// Reserves disk space for a part of a file without changing its size.
enum DiskSpace {
    /// Returns `false` if there is not enough space. Returns `true` where the system cannot reserve space.
    static func reserve(_ descriptor: Int32, from start: Int, to end: Int) -> Bool {
        #if canImport(Darwin)
            var request = fstore_t(
                fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
                fst_length: off_t(end - start), fst_bytesalloc: 0)
            return unsafe fcntl(descriptor, F_PREALLOCATE, &request) == 0 || errno != ENOSPC
        #else
            // Only GNU sources declare fallocate, so look it up by name.
            typealias Allocate = @convention(c) (Int32, Int32, off_t, off_t) -> Int32
            guard let symbol = unsafe dlsym(nil, "fallocate") else { return true }
            // unsafe: the function has this signature.
            let allocate = unsafe unsafeBitCast(symbol, to: Allocate.self)
            let keepsSize: Int32 = 1
            return allocate(descriptor, keepsSize, off_t(start), off_t(end - start)) == 0
                || ![ENOSPC, EDQUOT].contains(errno)
        #endif
    }
}
