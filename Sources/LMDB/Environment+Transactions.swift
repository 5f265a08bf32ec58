import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A reset read transaction: it keeps its memory and its slot in the lock file, but has no snapshot.
@safe
struct IdleReader: @unchecked Sendable {
    // @unchecked Sendable: with MDB_NOTLS a read transaction belongs to no thread, and only its holder accesses it.
    let raw: OpaquePointer
}

extension Environment {
    /// The number of idle readers kept for reuse. Each occupies one of the `maxReaders` slots that all processes share.
    private static let idleReaderLimit = 32

    /// Begins to read the last committed state. It never waits.
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

    /// Does the same, but returns a failure instead of throwing it, so that the caller can fix the cause and repeat the
    /// call.
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
        // In a forked child the slot in the lock file is the parent's, and ending would take away the parent's
        // snapshot.
        guard !isForked else { return }
        defer { leave() }
        if unsafe isOpening(reader) {
            // Only a commit keeps the tables that the reader opened.
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

    /// Begins to write, after other writers of this and other processes have ended. End the transaction on the same
    /// thread. For this reason it cannot begin in an asynchronous function, where a suspension may change the thread.
    @available(*, noasync, message: "a write transaction belongs to its thread: begin it in a synchronous function")
    public func beginWrite() throws(LMDBError) -> WriteTransaction {
        try enter("mdb_txn_begin")
        guard !isWritingThread else {
            leave()
            throw error(EDEADLK, "mdb_txn_begin")
        }
        do throws(LMDBError) { try gate?.enter() } catch {
            leave()
            throw error
        }
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

    /// Does the same, but returns a failure instead of throwing it.
    @available(*, noasync, message: "a write transaction belongs to its thread: begin it in a synchronous function")
    public func beginWrite(failure: inout LMDBError?) -> WriteTransaction? {
        do throws(LMDBError) {
            return try beginWrite()
        } catch {
            failure = error
            return nil
        }
    }

    func endWrite(_ writer: OpaquePointer, commits: Bool, then: () -> Void = {}) throws(LMDBError) {
        // In a forked child the lock belongs to the parent.
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
            // After a failed write of the meta page LMDB refuses every transaction. This distinguishes it from earlier
            // failures, after which the old meta page is still valid.
            throw error(code, commits && isFailedForGood ? Self.metaWrite : "mdb_txn_commit")
        }
        if commits { then() }
    }

    /// Returns `true` if no process writes now, or the one that does ends within a period. No thread of this process
    /// may be writing.
    public func isFreeToWrite(within period: Duration) -> Bool { gate?.isFree(within: period) ?? true }

    /// The operation of an error after which the outcome of the commit is unknown.
    static let metaWrite: StaticString = "mdb_env_write_meta"

    private var isFailedForGood: Bool {
        var probe: OpaquePointer?
        let code = unsafe mdb_txn_begin(raw, nil, UInt32(MDB_RDONLY), &probe)
        if let probe = unsafe probe { unsafe mdb_txn_abort(probe) }
        return code == MDB_PANIC
    }

    /// Whether the calling thread holds the write transaction, so that waiting for that transaction would deadlock.
    public var isWritingThread: Bool { writingThread.load(ordering: .relaxed) == currentThread() }
}

/// Returns the identity of the calling thread among the live threads; never zero.
func currentThread() -> UInt {
    #if canImport(Darwin)
        // unsafe: only the address is taken.
        unsafe UInt(bitPattern: pthread_self())
    #else
        UInt(pthread_self())
    #endif
}
