import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Environment {
    /// Asks the disk for space for a part of the file, without a change of its size; answers false when there is none.
    /// Where the system cannot do that nobody is the worse for it.
    public func reserveDisk(from start: Int, to end: Int) -> Bool {
        guard (try? enter("mdb_env_get_fd")) != nil else { return true }
        defer { leave() }
        var descriptor: Int32 = -1
        guard unsafe mdb_env_get_fd(raw, &descriptor) == MDB_SUCCESS else { return true }
        return DiskSpace.reserve(descriptor, from: start, to: end)
    }
}

/// Growing under the eyes of readers: a map can be replaced only while no transaction of this process is open.
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

    /// Like `resize(to:)`, but waits for the transactions of this process to end.
    public func resize(to mapSize: Int, waitingUntil deadline: ContinuousClock.Instant) throws(LMDBError) {
        try retry(until: deadline) { () throws(LMDBError) in try resize(to: mapSize) }
    }

    /// Like `adoptSize()`, but waits for the transactions of this process to end.
    public func adoptSize(waitingUntil deadline: ContinuousClock.Instant) throws(LMDBError) {
        try retry(until: deadline) { () throws(LMDBError) in try adoptSize() }
    }
}
