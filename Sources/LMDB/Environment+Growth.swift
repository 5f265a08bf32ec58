import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Environment {
    /// Reserves disk space for a part of the file without changing its size. Returns `false` if there is not enough
    /// space. Returns `true` where the system cannot reserve space.
    public func reserveDisk(from start: Int, to end: Int) -> Bool {
        guard (try? enter("mdb_env_get_fd")) != nil else { return true }
        defer { leave() }
        var descriptor: Int32 = -1
        guard unsafe mdb_env_get_fd(raw, &descriptor) == MDB_SUCCESS else { return true }
        return DiskSpace.reserve(descriptor, from: start, to: end)
    }
}

/// Growth while readers are active: a map can be replaced only while this process has no open transaction.
extension Environment {
    private func retry(
        until deadline: ContinuousClock.Instant, _ body: () throws(LMDBError) -> Void
    ) throws(LMDBError) {
        while true {
            do throws(LMDBError) {
                return try body()
            } catch  where error.code == .busy && ContinuousClock.now < deadline {
                pause(milliseconds: 1)
            }
        }
    }

    /// Does the same as `resize(to:)`, but waits for the transactions of this process to end.
    public func resize(to mapSize: Int, waitingUntil deadline: ContinuousClock.Instant) throws(LMDBError) {
        try retry(until: deadline) { () throws(LMDBError) in try resize(to: mapSize) }
    }

    /// Does the same as `adoptSize()`, but waits for the transactions of this process to end.
    public func adoptSize(waitingUntil deadline: ContinuousClock.Instant) throws(LMDBError) {
        try retry(until: deadline) { () throws(LMDBError) in try adoptSize() }
    }
}
