/// The contestants, with their names on the command line and in results.
enum ContestantName: String, CaseIterable, Codable {
    case healthKV = "HealthKV"
    case sealed = "HealthKV-sealed"
    case rows = "LMDB-rows"
    case sqlite = "SQLite"
    case sqliteDaily = "SQLite-daily"
    case rocksDB = "RocksDB"
    case duckDB = "DuckDB"
    case memcpy

    /// Opens this contestant's store, and creates it if needed; `nil` if the contestant has none. Without ids, identity
    /// is derived from content, which not all contestants support.
    func open(folder: String, hasIDs: Bool) throws -> (any Contestant)? {
        switch self {
        case .healthKV: try HealthKVStore(folder: folder, hasIDs: hasIDs)
        case .sealed: try HealthKVStore(folder: folder, hasIDs: hasIDs, sealer: AESSealer())
        case .rows: try LMDBRows(folder: folder, hasIDs: hasIDs)
        case .sqlite: hasIDs ? try SQLiteRows(folder: folder, keepsDays: false) : nil
        case .sqliteDaily: hasIDs ? try SQLiteRows(folder: folder, keepsDays: true) : nil
        case .rocksDB: hasIDs ? try RocksRows(folder: folder) : nil
        case .duckDB: hasIDs ? try DuckDBStore(folder: folder) : nil
        case .memcpy: nil
        }
    }

    private static let storeWorks = Set(Work.allCases).subtracting(Work.ofOwn)

    /// The works to measure. For SQLite with daily rows, only those that the daily rows affect.
    var works: Set<Work> {
        switch self {
        case .healthKV: Set(Work.allCases)
        case .sqliteDaily: [.importing, .bytes, .dayStats, .durableWrite, .edit, .delete]
        case .duckDB: ContestantName.storeWorks.subtracting([.openUnclean, .readAllRecycled])
        default: ContestantName.storeWorks
        }
    }
}
