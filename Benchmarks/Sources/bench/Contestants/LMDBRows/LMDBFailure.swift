import CLMDBRows

/// What an LMDB call answered when it did not succeed.
struct LMDBFailure: Error, CustomStringConvertible {
    let code: Int32

    // SAFETY: mdb_strerror returns a pointer to a static text.
    var description: String { unsafe "LMDB rows: \(String(cString: mdb_strerror(code)))" }

    /// Throws unless `code` says success.
    @inline(__always)
    static func check(_ code: Int32) throws(LMDBFailure) {
        if code != MDB_SUCCESS { throw LMDBFailure(code: code) }
    }
}
