import CLMDBRows
import Foundation
import HealthKV

/// One row per sample in LMDB: one table per type in the order of time, and an index by UUID.
///
/// Set up as LMDB's documentation recommends: sorted puts through a cursor, appended where the order allows it, one
/// read transaction renewed for each read, every commit synchronous. It is used from one thread only.
///
/// SAFETY: all pointers passed to LMDB are valid during the call, and results of LMDB are used only inside their
/// transaction.
@safe final class LMDBRows {
    let hasIDs: Bool
    private let environment: OpaquePointer
    private let reader: OpaquePointer
    let ids: MDB_dbi
    private let names: MDB_dbi
    /// The places by sync identifier, which several samples may share.
    let syncs: MDB_dbi
    /// The ids of samples with a pending operation for a peer, in the order of saving.
    let pending: MDB_dbi
    private(set) var tables: [SampleType: MDB_dbi] = [:]
    private(set) var kinds: [RowKind] = []
    /// The unit to which columns of a kind are converted; `nil` if no conversion is needed.
    private(set) var targetUnits: [HealthUnit?] = []
    private var kindNumbers: [RowKind: UInt16] = [:]
    /// The longest duration of each type, which limits how far a range looks back.
    private(set) var longest: [SampleType: Int64] = [:]
    let keyBuffer = RowBuffer()
    let valueBuffer = RowBuffer()

    init(folder: String, hasIDs: Bool) throws {
        self.hasIDs = hasIDs
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var handle: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_env_create(&handle))
        unsafe environment = unsafe handle!
        try unsafe LMDBFailure.check(mdb_env_set_mapsize(environment, 64 << 30))
        try unsafe LMDBFailure.check(mdb_env_set_maxdbs(environment, 64))
        try unsafe LMDBFailure.check(mdb_env_open(environment, folder, UInt32(MDB_NOTLS), 0o644))
        var writer: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_txn_begin(environment, nil, 0, &writer))
        ids = try unsafe LMDBRows.table("ids", writer!)
        names = try unsafe LMDBRows.table("names", writer!)
        pending = try unsafe LMDBRows.table("pending", writer!)
        syncs = try unsafe LMDBRows.table("syncs", writer!, MDB_CREATE | MDB_DUPSORT)
        try unsafe LMDBFailure.check(mdb_txn_commit(writer))
        var snapshot: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &snapshot))
        unsafe reader = unsafe snapshot!
        unsafe mdb_txn_reset(reader)
        try loadNames()
    }

    func close() {
        unsafe mdb_txn_abort(reader)
        unsafe mdb_env_close(environment)
    }

    /// Copies the store without its free pages.
    func compact(to folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try unsafe LMDBFailure.check(mdb_env_copy2(environment, folder, UInt32(MDB_CP_COMPACT)))
    }

    /// Runs `body` in a read transaction.
    func reading<R>(_ body: (OpaquePointer) throws -> R) throws -> R {
        try unsafe LMDBFailure.check(mdb_txn_renew(reader))
        defer { unsafe mdb_txn_reset(reader) }
        return try unsafe body(reader)
    }

    /// Runs `body` in a write transaction and commits it durably.
    func writing<R>(_ body: (OpaquePointer) throws -> R) throws -> R {
        var writer: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_txn_begin(environment, nil, 0, &writer))
        let result: R
        do {
            result = try unsafe body(writer!)
        } catch {
            unsafe mdb_txn_abort(writer)
            throw error
        }
        try unsafe LMDBFailure.check(mdb_txn_commit(writer))
        return result
    }

    /// Runs `body` with a cursor over a table.
    func scanning<R>(_ table: MDB_dbi, _ txn: OpaquePointer, _ body: (OpaquePointer) throws -> R) throws -> R {
        var cursor: OpaquePointer?
        try unsafe LMDBFailure.check(mdb_cursor_open(txn, table, &cursor))
        defer { unsafe mdb_cursor_close(cursor) }
        return try unsafe body(cursor!)
    }

    static func table(_ name: String, _ txn: OpaquePointer, _ flags: Int32 = MDB_CREATE) throws -> MDB_dbi {
        var table: MDB_dbi = 0
        try unsafe LMDBFailure.check(mdb_dbi_open(txn, name, UInt32(flags), &table))
        return table
    }
}

extension LMDBRows {
    /// The number of a kind, which is stored with the type's table if it is new.
    func number(of kind: RowKind, _ txn: OpaquePointer) throws -> UInt16 {
        if let number = kindNumbers[kind] { return number }
        if tables[kind.type] == nil { tables[kind.type] = try unsafe LMDBRows.table(kind.type.identifier, txn) }
        try unsafe put(name: "kind \(kinds.count)", JSONEncoder().encode(kind), txn)
        return add(kind)
    }

    private func add(_ kind: RowKind) -> UInt16 {
        kindNumbers[kind] = UInt16(kinds.count)
        kinds.append(kind)
        let target = kind.type.canonicalUnit
        targetUnits.append(target == kind.unit ? nil : target)
        return UInt16(kinds.count - 1)
    }

    /// Notes a duration if it is the longest of its type.
    func note(duration: Int64, of type: SampleType, _ txn: OpaquePointer) throws {
        guard duration > longest[type] ?? -1 else { return }
        longest[type] = duration
        try unsafe put(name: "longest \(type.identifier)", JSONEncoder().encode(duration), txn)
    }

    private func put(name: String, _ data: Data, _ txn: OpaquePointer) throws {
        var name = Array(name.utf8)
        var bytes = Array(data)
        try unsafe name.withUnsafeMutableBytes { name in
            try unsafe bytes.withUnsafeMutableBytes { bytes in
                var key = unsafe MDB_val(mv_size: name.count, mv_data: name.baseAddress)
                var value = unsafe MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
                try unsafe LMDBFailure.check(mdb_put(txn, names, &key, &value, 0))
            }
        }
    }

    private func loadNames() throws {
        var entries: [String: Data] = [:]
        try unsafe reading { txn in
            try unsafe scanning(names, txn) { cursor in
                var (key, value) = unsafe (MDB_val(), MDB_val())
                while unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS {
                    let name = unsafe String(
                        decoding: UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size), as: UTF8.self)
                    entries[name] = unsafe Data(bytes: value.mv_data, count: value.mv_size)
                }
            }
        }
        while let data = entries["kind \(kinds.count)"] {
            let kind = try JSONDecoder().decode(RowKind.self, from: data)
            _ = add(kind)
        }
        try unsafe writing { txn in
            for type in Set(kinds.map(\.type)) { tables[type] = try unsafe LMDBRows.table(type.identifier, txn) }
        }
        for type in tables.keys {
            longest[type] = try entries["longest \(type.identifier)"].map {
                try JSONDecoder().decode(Int64.self, from: $0)
            }
        }
    }
}
