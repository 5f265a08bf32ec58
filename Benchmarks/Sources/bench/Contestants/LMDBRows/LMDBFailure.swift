import CLMDBRows

/// The error code of an LMDB call.
struct LMDBFailure: Error, CustomStringConvertible {
    let code: Int32

    // SAFETY: mdb_strerror returns a pointer to a static text.
    var description: String { unsafe "LMDB rows: \(String(cString: mdb_strerror(code)))" }

    /// Throws unless `code` means success.
    @inline(__always)
    static func check(_ code: Int32) throws(LMDBFailure) {
        if code != MDB_SUCCESS { throw LMDBFailure(code: code) }
    }
}
