import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Environment {
    /// Copies one snapshot to `data.mdb` in an existing folder that has no such file, and waits until the copy is on
    /// the disk. Removes the remains of a failed copy. A compacting copy omits free pages and the remains of deleted
    /// entries in other pages, and numbers transactions from 1. It fails with `.corrupted` if the file has leaked pages
    /// or the header of a long value says a wrong number of pages. A non-compacting copy waits for the current write
    /// transaction to end.
    ///
    /// - Parameter progress: called repeatedly with the bytes copied so far. If it returns `false`, the copy fails with
    ///   `.cancelled`.
    public func copy(
        toFolder folder: String, compacting: Bool, progress: ((Int) -> Bool)? = nil
    ) throws(LMDBError) {
        if !compacting, isWritingThread { throw LMDBError(.wouldDeadlock, operation: "mdb_env_copyfd2", path: path) }
        try using("mdb_env_copyfd2") { () throws(LMDBError) in
            // LMDB would create the file with all permissions that the umask allows.
            let file = StoreFiles.dataPath(in: folder)
            let descriptor = openFile(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, options.fileMode)
            guard descriptor >= 0 else { throw LMDBError(errno, "open", folder) }
            var failure: (code: Int32, operation: StaticString)?
            let code = watchedCopy(to: descriptor, compacting, progress ?? { _ in true })
            if code != MDB_SUCCESS {
                failure = (meaning(of: code, compacting), "mdb_env_copyfd2")
            } else if !FileSystem.isFlushed(descriptor) {
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

    /// Translates an error code: a compacting copy that finds another number of pages than the meta page reports
    /// `MDB_INCOMPATIBLE`, and one of a long value whose header leads it behind the end of the file reports `EFAULT`.
    private func meaning(of code: Int32, _ compacting: Bool) -> Int32 {
        compacting && (code == MDB_INCOMPATIBLE || code == EFAULT) ? MDB_CORRUPTED : code
    }

    /// LMDB abandons a copy when a signal interrupts one of its writes; this restarts such a copy a few times.
    private func copy(to descriptor: Int32, _ compacting: Bool) -> Int32 {
        var code = EINTR
        for _ in 0..<3 where code == EINTR {
            guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { return errno }
            code = unsafe mdb_env_copyfd2(raw, descriptor, compacting ? UInt32(MDB_CP_COMPACT) : 0)
        }
        return code
    }

    /// Copies on a separate thread, for two reasons: LMDB has no callback that could stop it, and on other threads a
    /// write beyond the process's file size limit would end the process.
    private func watchedCopy(to descriptor: Int32, _ compacting: Bool, _ progress: (Int) -> Bool) -> Int32 {
        guard progress(0) else { return ECANCELED }
        let outcome = Monitor<Int32?>(nil)
        let thread = WriterThread(name: "copy", idlePeriod: .zero)
        let starts = thread.perform {
            let code = self.copy(to: descriptor, compacting)
            outcome.update { $0 = code }
        }
        guard starts else { return EAGAIN }
        defer { thread.stop() }
        var isStopped = false
        while true {
            if let code = outcome.wait(atMost: .milliseconds(50), until: { $0 != nil }, then: { $0 }) {
                return isStopped ? ECANCELED : code
            }
            if !isStopped, !progress(fileSize(descriptor)) {
                isStopped = true
                makeUnwritable(descriptor)
            }
        }
    }

    /// Makes the new file's name durable.
    private func flush(folder: String) throws(LMDBError) {
        let descriptor = openFile(folder, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw LMDBError(errno, "open", folder) }
        defer { _ = closeFile(descriptor) }
        guard FileSystem.isFlushed(descriptor) else { throw LMDBError(errno, "fsync", folder) }
    }
}

// Inside Environment the names of the C functions refer to its own methods.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { unsafe open(path, flags, mode) }
private func closeFile(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func fileSize(_ descriptor: Int32) -> Int {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
}

/// Replaces the file of a descriptor with one that cannot be written: the next write to it fails, and no other file
/// gets the descriptor number meanwhile.
private func makeUnwritable(_ descriptor: Int32) {
    let nothing = openFile("/dev/null", O_RDONLY | O_CLOEXEC, 0)
    guard nothing >= 0 else { return }
    _ = dup2(nothing, descriptor)
    _ = closeFile(nothing)
}
