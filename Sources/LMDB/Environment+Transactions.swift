import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A reading transaction that was reset: it keeps its memory and its slot in the lock file, but no snapshot.
@safe
struct IdleReader: @unchecked Sendable {
    // @unchecked Sendable: with MDB_NOTLS a reading transaction belongs to no thread, and only its holder touches it.
    let raw: OpaquePointer
}

extension Environment {
    /// Idle readers kept for reuse. Each takes a slot of `maxReaders`, which all processes share.
    private static let idleReaderLimit = 32

    /// Begins to read the last committed state. It waits for nobody.
    public func beginRead() throws(LMDBError) -> ReadTransaction {
        try enter("mdb_txn_begin")
        do throws(LMDBError) {
            let idle = idleReaders.withLock { $0.popLast() }
            let reader = if let idle { try unsafe renew(idle) } else { try unsafe newReader() }
            return unsafe ReadTransaction(raw: reader, environment: self)
        } catch {
            leave()
            throw error
        }
    }

    /// The same; a failure is given back instead of thrown, so that it can be remedied and the call repeated.
    public func beginRead(failure: inout LMDBError?) -> ReadTransaction? {
        do throws(LMDBError) {
            return try beginRead()
        } catch {
            failure = error
            return nil
        }
    }

    private func renew(_ reader: IdleReader) throws(LMDBError) -> OpaquePointer {
        let code = unsafe mdb_txn_renew(reader.raw)
        guard code == MDB_SUCCESS else {
            unsafe mdb_txn_abort(reader.raw)
            throw error(code, "mdb_txn_renew")
        }
        return unsafe reader.raw
    }

    private func newReader() throws(LMDBError) -> OpaquePointer {
        var reader: OpaquePointer?
        let code = unsafe mdb_txn_begin(raw, nil, UInt32(MDB_RDONLY), &reader)
        guard code == MDB_SUCCESS, let reader = unsafe reader else { throw error(code, "mdb_txn_begin") }
        return unsafe reader
    }

    func endRead(_ reader: OpaquePointer) {
        // In a forked child the slot in the lock file is the parent's, and ending would take its snapshot away.
        guard !isForked else { return }
        defer { leave() }
        if unsafe isOpening(reader) {
            // Only a commit keeps the tables that it opened.
            _ = unsafe endOpening(reader, commits: true) { unsafe mdb_txn_commit(reader) }
            return
        }
        unsafe mdb_txn_reset(reader)
        let idle = unsafe IdleReader(raw: reader)
        let isKept = idleReaders.withLock { readers in
            guard readers.count < Self.idleReaderLimit else { return false }
            readers.append(idle)
            return true
        }
        if !isKept { unsafe mdb_txn_abort(reader) }
    }

    /// Begins to write, once other writers of this and other processes have ended. End it on the same
    /// thread; so it cannot be begun where a suspension may change the thread.
    @available(*, noasync, message: "a write transaction belongs to its thread: begin it in a synchronous function")
    public func beginWrite() throws(LMDBError) -> WriteTransaction {
        try enter("mdb_txn_begin")
        guard !isWritingThread else {
            leave()
            throw error(EDEADLK, "mdb_txn_begin")
        }
        gate?.enter()
        var writer: OpaquePointer?
        let code = unsafe mdb_txn_begin(raw, nil, 0, &writer)
        guard code == MDB_SUCCESS, let writer = unsafe writer else {
            gate?.leave()
            leave()
            throw error(code, "mdb_txn_begin")
        }
        writingThread.store(currentThread(), ordering: .relaxed)
        return unsafe WriteTransaction(raw: writer, environment: self, root: writer, mapped: mapped(writer))
    }

    /// The same; a failure is given back instead of thrown.
    @available(*, noasync, message: "a write transaction belongs to its thread: begin it in a synchronous function")
    public func beginWrite(failure: inout LMDBError?) -> WriteTransaction? {
        do throws(LMDBError) {
            return try beginWrite()
        } catch {
            failure = error
            return nil
        }
    }

    func endWrite(_ writer: OpaquePointer, commits: Bool) throws(LMDBError) {
        // In a forked child the lock is the parent's.
        guard !isForked else { throw error(.forked, "mdb_txn_commit") }
        precondition(isWritingThread, "a write transaction must end on the thread that began it")
        writingThread.store(0, ordering: .relaxed)
        defer {
            gate?.leave()
            leave()
        }
        let code = unsafe endOpening(writer, commits: commits) {
            if commits { return unsafe mdb_txn_commit(writer) }
            unsafe mdb_txn_abort(writer)
            return MDB_SUCCESS
        }
        guard code == MDB_SUCCESS else {
            // After a failed write of the meta page LMDB refuses every transaction: by that it is told from failures
            // before it, after which the old meta page still stands.
            throw error(code, commits && isFailedForGood ? Self.metaWrite : "mdb_txn_commit")
        }
    }

    /// The operation of an error after which nobody knows whether the commit happened.
    static let metaWrite: StaticString = "mdb_env_write_meta"

    private var isFailedForGood: Bool {
        var probe: OpaquePointer?
        let code = unsafe mdb_txn_begin(raw, nil, UInt32(MDB_RDONLY), &probe)
        if let probe = unsafe probe { unsafe mdb_txn_abort(probe) }
        return code == MDB_PANIC
    }

    /// Whether the caller's thread holds the write transaction, so that waiting for it would never end.
    public var isWritingThread: Bool { writingThread.load(ordering: .relaxed) == currentThread() }
}

/// The identity of the calling thread among the living ones; never zero.
func currentThread() -> UInt {
    #if canImport(Darwin)
        // unsafe: only the address is taken.
        unsafe UInt(bitPattern: pthread_self())
    #else
        UInt(pthread_self())
    #endif
}
