import CSQLite
import HealthKV

/// The error of an SQLite call.
struct SQLiteFailure: Error, CustomStringConvertible {
    let description: String

    // SAFETY: sqlite3_errmsg returns a text that lives until the next call on the connection; it is copied here.
    init(_ database: OpaquePointer?, _ code: Int32) {
        description = unsafe "SQLite: \(String(cString: sqlite3_errmsg(database))) (\(code))"
    }
}

/// A prepared statement, reused on one thread.
///
/// SAFETY: the statement and the buffer for ids are valid from `init` to `finalize`. SQLite copies bound texts and
/// blobs, except ids, which are in the buffer; values of columns are copied before the next step.
@safe final class SQLiteStatement {
    private let database: OpaquePointer
    private let handle: OpaquePointer
    private let idBytes = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 8)

    init(_ sql: String, _ database: OpaquePointer) throws {
        unsafe self.database = unsafe database
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared = unsafe prepared else { throw unsafe SQLiteFailure(database, code) }
        unsafe handle = unsafe prepared
    }

    deinit {
        unsafe sqlite3_finalize(handle)
        unsafe idBytes.deallocate()
    }

    @inline(__always)
    @discardableResult
    func bind(_ number: Int64, _ place: Int32) -> SQLiteStatement {
        unsafe sqlite3_bind_int64(handle, place, number)
        return self
    }

    @inline(__always)
    @discardableResult
    func bind(_ number: Double, _ place: Int32) -> SQLiteStatement {
        unsafe sqlite3_bind_double(handle, place, number)
        return self
    }

    @inline(__always)
    @discardableResult
    func bind(_ id: SampleID, _ place: Int32) -> SQLiteStatement {
        unsafe idBytes.storeBytes(of: id.high.bigEndian, as: UInt64.self)
        unsafe idBytes.storeBytes(of: id.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        unsafe sqlite3_bind_blob(handle, place, idBytes, 16, nil)
        return self
    }

    @discardableResult
    func bind(_ text: String?, _ place: Int32) -> SQLiteStatement {
        guard let text else {
            unsafe sqlite3_bind_null(handle, place)
            return self
        }
        unsafe sqlite3_bind_text(handle, place, text, -1, SQLiteStatement.copied)
        return self
    }

    @discardableResult
    func bind(_ bytes: [UInt8], _ place: Int32) -> SQLiteStatement {
        if bytes.isEmpty {
            unsafe sqlite3_bind_null(handle, place)
        } else {
            unsafe sqlite3_bind_blob(handle, place, bytes, Int32(bytes.count), SQLiteStatement.copied)
        }
        return self
    }

    // SAFETY: -1 is SQLite's marker for "copy before the call returns", and is never called.
    private static var copied: sqlite3_destructor_type {
        unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    /// Steps to the next row; returns `false` at the end.
    @inline(__always)
    func step() throws -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        let failure = unsafe SQLiteFailure(database, code)
        unsafe sqlite3_reset(handle)
        throw failure
    }

    @inline(__always)
    func reset() { unsafe sqlite3_reset(handle) }

    /// Runs to the end.
    func run() throws {
        while try step() {}
        reset()
    }

    @inline(__always)
    func int(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    @inline(__always)
    func double(_ column: Int32) -> Double { unsafe sqlite3_column_double(handle, column) }

    func text(_ column: Int32) -> String? {
        unsafe sqlite3_column_text(handle, column).map { unsafe String(cString: $0) }
    }

    func bytes(_ column: Int32) -> [UInt8] {
        guard let base = unsafe sqlite3_column_blob(handle, column) else { return [] }
        return unsafe Array(
            UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, column))))
    }

    @inline(__always)
    func id(_ column: Int32) -> SampleID {
        guard let base = unsafe sqlite3_column_blob(handle, column), unsafe sqlite3_column_bytes(handle, column) == 16
        else { return .zero }
        return unsafe SampleID(
            high: UInt64(bigEndian: base.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: base.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}
