import CLMDBRows
import Foundation
import Histories

/// The baseline of durable writes: two committed 100-byte puts at random keys in two LMDB tables, in a file of equal
/// size.
///
/// SAFETY: as in LMDBRows, pointers are valid during the call that they are passed to.
@safe final class TwoPuts {
    static let name = "two puts"
    private static let valueBytes = 100
    private var environment: OpaquePointer
    private var tables: [MDB_dbi] = []
    private var random: SplitMix64
    private let folder: String

    /// Fills two tables with random keys until the file has about this size; this need not be durable.
    init(folder: String, bytes: Int, seed: UInt64) throws {
        self.folder = folder
        random = SplitMix64(seed: seed, stream: 71)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        unsafe environment = try unsafe TwoPuts.open(folder, UInt32(MDB_NOSYNC))
        try openTables()
        while try Session.bytes(of: folder) < bytes { try fill(5_000) }
        try unsafe LMDBFailure.check(mdb_env_sync(environment, 1))
        unsafe mdb_env_close(environment)
        unsafe environment = try unsafe TwoPuts.open(folder, 0)
        try openTables()
    }

    private func openTables() throws {
        var writer: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_txn_begin(environment, nil, 0, &writer))
        tables = try ["first", "second"].map { try unsafe LMDBRows.table($0, writer!) }
        try unsafe LMDBFailure.check(mdb_txn_commit(writer))
    }

    func close() throws {
        unsafe mdb_env_close(environment)
        try FileManager.default.removeItem(atPath: folder)
    }

    /// One durable write.
    func write() throws {
        var writer: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_txn_begin(environment, nil, 0, &writer))
        for table in tables { try unsafe put(key: (random.next(), random.next()), table, writer!) }
        try unsafe LMDBFailure.check(mdb_txn_commit(writer))
    }

    private static func open(_ folder: String, _ flags: UInt32) throws -> OpaquePointer {
        var handle: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_env_create(&handle))
        try unsafe LMDBFailure.check(mdb_env_set_mapsize(handle, 32 << 30))
        try unsafe LMDBFailure.check(mdb_env_set_maxdbs(handle, 2))
        try unsafe LMDBFailure.check(mdb_env_open(handle, folder, flags | UInt32(MDB_NOTLS), 0o644))
        return unsafe handle!
    }

    private func fill(_ count: Int) throws {
        var writer: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_txn_begin(environment, nil, 0, &writer))
        for table in tables {
            for _ in 0..<count { try unsafe put(key: (random.next(), random.next()), table, writer!) }
        }
        try unsafe LMDBFailure.check(mdb_txn_commit(writer))
    }

    private func put(key words: (UInt64, UInt64), _ table: MDB_dbi, _ writer: OpaquePointer) throws {
        try unsafe withUnsafeTemporaryAllocation(byteCount: 16 + TwoPuts.valueBytes, alignment: 8) { bytes in
            unsafe bytes.storeBytes(of: words.0, as: UInt64.self)
            unsafe bytes.storeBytes(of: words.1, toByteOffset: 8, as: UInt64.self)
            unsafe bytes[16...].indices.forEach { unsafe bytes[$0] = UInt8(truncatingIfNeeded: $0) }
            var key = unsafe MDB_val(mv_size: 16, mv_data: bytes.baseAddress)
            var value = unsafe MDB_val(mv_size: TwoPuts.valueBytes, mv_data: bytes.baseAddress! + 16)
            try unsafe LMDBFailure.check(mdb_put(writer, table, &key, &value, 0))
        }
    }
}
