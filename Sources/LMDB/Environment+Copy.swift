import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Environment {
    /// Copies one snapshot to `data.mdb` in a folder that exists and has none, and waits until it is on the disk. What
    /// is left of a copy that failed is removed. A compacting copy omits free pages and whatever deleted entries left in
    /// others, and numbers transactions from 1; the other waits for the writer to end.
    public func copy(toFolder folder: String, compacting: Bool) throws(LMDBError) {
        if !compacting, isWritingThread { throw LMDBError(.wouldDeadlock, operation: "mdb_env_copyfd2", path: path) }
        try using("mdb_env_copyfd2") { () throws(LMDBError) in
            // LMDB would create the file with all permissions that the process mask leaves.
            let file = folder + "/data.mdb"
            let descriptor = openFile(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, options.fileMode)
            guard descriptor >= 0 else { throw LMDBError(errno, "open", folder) }
            var failure: (code: Int32, operation: StaticString)?
            let code = copy(to: descriptor, compacting)
            if code != MDB_SUCCESS {
                failure = (code, "mdb_env_copyfd2")
            } else if !isFlushed(descriptor) {
                failure = (errno, "fsync")
            }
            if closeFile(descriptor) != 0, failure == nil { failure = (errno, "close") }
            if let failure {
                unsafe unlink(file)
                throw LMDBError(failure.code, failure.operation, folder)
            }
            if compacting {
                do throws(LMDBError) {
                    try DataFile.clearUnused(file)
                } catch {
                    unsafe unlink(file)
                    throw error
                }
            }
            try flush(folder: folder)
        }
    }

    /// LMDB gives up a copy when a signal interrupts one of its writes; such a copy begins again, a few times.
    private func copy(to descriptor: Int32, _ compacting: Bool) -> Int32 {
        var code = EINTR
        for _ in 0..<3 where code == EINTR {
            guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { return errno }
            code = unsafe mdb_env_copyfd2(raw, descriptor, compacting ? UInt32(MDB_CP_COMPACT) : 0)
        }
        return code
    }

    /// Makes the name of a new file durable.
    private func flush(folder: String) throws(LMDBError) {
        let descriptor = openFile(folder, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw LMDBError(errno, "open", folder) }
        defer { _ = closeFile(descriptor) }
        guard isFlushed(descriptor) else { throw LMDBError(errno, "fsync", folder) }
    }

    private func isFlushed(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            // Plain fsync on Apple systems does not flush the drive.
            fcntl(descriptor, F_FULLFSYNC) == 0 || fsync(descriptor) == 0
        #else
            fsync(descriptor) == 0
        #endif
    }
}

// Inside Environment the names of the C functions mean its own methods.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { unsafe open(path, flags, mode) }
private func closeFile(_ descriptor: Int32) -> Int32 { close(descriptor) }
