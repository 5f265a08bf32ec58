import CRocksDB
import Foundation

/// An error message of RocksDB.
struct RocksFailure: Error, CustomStringConvertible {
    let description: String

    /// Runs a call and throws its error, if any.
    ///
    /// SAFETY: the text that RocksDB allocated is copied and freed.
    @inline(__always)
    static func check<R>(_ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R) throws -> R {
        var message: UnsafeMutablePointer<CChar>?
        let result = unsafe call(&message)
        if let text = unsafe message {
            let failure = unsafe RocksFailure(description: "RocksDB: \(String(cString: text))")
            unsafe rocksdb_free(text)
            throw failure
        }
        return result
    }
}

/// A database with its column families, opened with the settings that RocksDB's own guide recommends.
///
/// SAFETY: the handles live from `init` to `close`; RocksDB allows any thread to use them.
@safe final class RocksDatabase {
    /// The column families by number.
    enum Family: Int, CaseIterable {
        case names, samples, ids, sync, pending
        var name: String { self == .names ? "default" : "\(self)" }
    }

    let handle: OpaquePointer
    private let families: [OpaquePointer]
    let durably: OpaquePointer
    let reading: OpaquePointer
    private let options: OpaquePointer

    init(folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let settings = unsafe RocksDatabase.recommended()
        unsafe options = unsafe settings
        unsafe durably = unsafe rocksdb_writeoptions_create()
        unsafe rocksdb_writeoptions_set_sync(durably, 1)
        unsafe reading = unsafe rocksdb_readoptions_create()
        let names = unsafe Family.allCases.map { unsafe strdup($0.name) }
        defer { for index in 0..<Family.allCases.count { unsafe free(names[index]) } }
        var opened = unsafe [OpaquePointer?](repeating: nil, count: names.count)
        let constNames = unsafe names.map { unsafe UnsafePointer($0) }
        let all = unsafe [OpaquePointer?](repeating: settings, count: names.count)
        let database = try unsafe RocksFailure.check {
            unsafe rocksdb_open_column_families(
                settings, folder, Int32(names.count), constNames, all, &opened, $0)
        }
        guard let database = unsafe database else { throw BenchFailure("RocksDB could not be opened") }
        unsafe handle = unsafe database
        unsafe families = opened.compactMap { unsafe $0 }
    }

    subscript(family: Family) -> OpaquePointer { unsafe families[family.rawValue] }

    func close() {
        for family in Family.allCases { unsafe rocksdb_column_family_handle_destroy(self[family]) }
        unsafe rocksdb_close(handle)
        unsafe rocksdb_readoptions_destroy(reading)
        unsafe rocksdb_writeoptions_destroy(durably)
        unsafe rocksdb_options_destroy(options)
    }

    /// The starting point of RocksDB's guide to its options, with LZ4.
    private static func recommended() -> OpaquePointer {
        let table = unsafe rocksdb_block_based_options_create()
        unsafe rocksdb_block_based_options_set_block_size(table, 16 << 10)
        unsafe rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(256 << 20))
        unsafe rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1)
        unsafe rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1)
        unsafe rocksdb_block_based_options_set_format_version(table, 5)
        unsafe rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10))
        let options = unsafe rocksdb_options_create()!
        unsafe rocksdb_options_set_block_based_table_factory(options, table)
        unsafe rocksdb_options_set_create_if_missing(options, 1)
        unsafe rocksdb_options_set_create_missing_column_families(options, 1)
        unsafe rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1)
        unsafe rocksdb_options_set_max_background_jobs(options, 6)
        unsafe rocksdb_options_set_bytes_per_sync(options, 1 << 20)
        unsafe rocksdb_options_set_compression(options, Int32(rocksdb_lz4_compression))
        return unsafe options
    }

    /// Passes the value of a key to `body`, in place.
    @inline(__always)
    func get<R>(_ key: UnsafeRawBufferPointer, _ family: Family, _ body: (UnsafeRawBufferPointer) throws -> R) throws
        -> R?
    {
        let slice = try unsafe RocksFailure.check {
            unsafe rocksdb_get_pinned_cf(
                handle, reading, self[family], key.baseAddress!.assumingMemoryBound(to: CChar.self), key.count, $0)
        }
        guard let slice = unsafe slice else { return nil }
        defer { unsafe rocksdb_pinnableslice_destroy(slice) }
        var count = 0
        let base = unsafe rocksdb_pinnableslice_value(slice, &count)
        return try unsafe body(UnsafeRawBufferPointer(start: base, count: count))
    }

    func get(_ key: [UInt8], _ family: Family) throws -> [UInt8]? {
        try unsafe key.withUnsafeBytes { try unsafe get($0, family) { unsafe Array($0) } }
    }

    /// The values of 16-byte keys, which must be in ascending order; `nil` for a missing key.
    func values(of ids: [[UInt8]], _ family: Family) throws -> [[UInt8]?] {
        var packed = ids.flatMap { $0 }
        var found: [[UInt8]?] = []
        found.reserveCapacity(ids.count)
        try unsafe packed.withUnsafeMutableBytes { bytes in
            let base = unsafe bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
            for from in stride(from: 0, to: ids.count, by: 512) {
                let count = min(512, ids.count - from)
                let keys = unsafe (from..<from + count).map { unsafe UnsafePointer<CChar>?(base + $0 * 16) }
                let sizes = Array(repeating: 16, count: count)
                var slices = unsafe [OpaquePointer?](repeating: nil, count: count)
                var errors = unsafe [UnsafeMutablePointer<CChar>?](repeating: nil, count: count)
                unsafe rocksdb_batched_multi_get_cf(
                    handle, reading, self[family], count, keys, sizes, &slices, &errors, true)
                for index in 0..<count {
                    if unsafe errors[index] != nil { throw BenchFailure("RocksDB: a batch could not be read") }
                    guard let slice = unsafe slices[index] else {
                        found.append(nil)
                        continue
                    }
                    var size = 0
                    let value = unsafe rocksdb_pinnableslice_value(slice, &size)
                    unsafe found.append(Array(UnsafeRawBufferPointer(start: value, count: size)))
                    unsafe rocksdb_pinnableslice_destroy(slice)
                }
            }
        }
        return found
    }
}

/// Changes that are written in one step.
///
/// SAFETY: the handle lives as long as this object; keys and values are copied by each call.
@safe final class RocksBatch {
    private let handle: OpaquePointer = unsafe rocksdb_writebatch_create()
    private let database: RocksDatabase

    init(_ database: RocksDatabase) { self.database = database }
    deinit { unsafe rocksdb_writebatch_destroy(handle) }

    func put(_ key: [UInt8], _ value: [UInt8], _ family: RocksDatabase.Family) {
        unsafe key.withUnsafeBytes { key in
            unsafe value.withUnsafeBytes { value in
                // An empty array may have no base address; RocksDB then copies nothing.
                unsafe rocksdb_writebatch_put_cf(
                    handle, database[family], key.baseAddress?.assumingMemoryBound(to: CChar.self), key.count,
                    value.baseAddress?.assumingMemoryBound(to: CChar.self), value.count)
            }
        }
    }

    func delete(_ key: [UInt8], _ family: RocksDatabase.Family) {
        unsafe key.withUnsafeBytes { key in
            unsafe rocksdb_writebatch_delete_cf(
                handle, database[family], key.baseAddress?.assumingMemoryBound(to: CChar.self), key.count)
        }
    }

    /// Writes all changes durably, or none.
    func commit() throws {
        try unsafe RocksFailure.check { unsafe rocksdb_write(database.handle, database.durably, handle, $0) }
    }
}
