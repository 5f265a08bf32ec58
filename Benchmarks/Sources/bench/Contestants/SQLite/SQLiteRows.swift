import CSQLite
import Foundation
import HealthKV

/// One row per sample in SQLite: one table in the order of type and time, indexes by UUID and by sync identifier.
///
/// Set up as SQLite's documentation recommends: WAL with full synchronisation, WITHOUT ROWID since rows are short and
/// have their own key, prepared statements, a mapped file, and a page cache for the whole index by UUID, which every
/// batch changes at random places.
///
/// SAFETY: the connection lives from `init` to `close`, and one thread uses it.
@safe final class SQLiteRows {
    private let database: OpaquePointer
    /// Whether triggers maintain a row for each day.
    let keepsDays: Bool
    private var statements: [String: SQLiteStatement] = [:]
    var book = KindBook()
    /// Whether checkpoints are deferred, as SQLite's documentation recommends during bulk writes.
    var isImporting = false
    /// The number of rows in the last read of a type, as the capacity for the next.
    var lastCounts: [SampleType: Int] = [:]

    static let schema = """
        CREATE TABLE IF NOT EXISTS book(number INTEGER PRIMARY KEY, json BLOB NOT NULL);
        CREATE TABLE IF NOT EXISTS samples(
            type INTEGER NOT NULL, start INTEGER NOT NULL, id BLOB NOT NULL, "end" INTEGER NOT NULL,
            value REAL NOT NULL, kind INTEGER NOT NULL, sync TEXT, extras BLOB,
            PRIMARY KEY(type, start, id)) WITHOUT ROWID;
        CREATE UNIQUE INDEX IF NOT EXISTS by_id ON samples(id);
        CREATE INDEX IF NOT EXISTS by_sync ON samples(sync) WHERE sync IS NOT NULL;
        CREATE TABLE IF NOT EXISTS pending(sequence INTEGER PRIMARY KEY, id BLOB NOT NULL);
        """

    init(folder: String, keepsDays: Bool) throws {
        self.keepsDays = keepsDays
        _ = SQLiteRows.isWithoutStatistics
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = unsafe sqlite3_open_v2(folder + "/store.db", &handle, flags, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else { throw unsafe SQLiteFailure(handle, code) }
        unsafe database = unsafe handle
        for setting in [
            "journal_mode = WAL", "synchronous = FULL", "mmap_size = 17179869184", "cache_size = -1048576",
            "temp_store = MEMORY", "busy_timeout = 10000",
        ] { try execute("PRAGMA " + setting) }
        try unsafe SQLiteRows.defineLocalDay(database)
        try execute(SQLiteRows.schema + (keepsDays ? SQLiteRows.dayRows : ""))
        let saved = try statement("SELECT json FROM book WHERE number = 1")
        if try saved.step() { book = try JSONDecoder().decode(KindBook.self, from: Data(saved.bytes(0))) }
        saved.reset()
    }

    /// Called before the first connection: disables SQLite's memory statistics, as its documentation recommends,
    /// because each malloc would take a lock for them.
    private static let isWithoutStatistics = sqlite_stop_counting_memory() == SQLITE_OK

    func close() {
        statements = [:]
        unsafe sqlite3_close_v2(database)
    }

    /// Copies the store without its free pages.
    func compact(to folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try execute("VACUUM INTO '\(folder)/store.db'")
    }

    func execute(_ sql: String) throws {
        let code = unsafe sqlite3_exec(database, sql, nil, nil, nil)
        if code != SQLITE_OK { throw unsafe SQLiteFailure(database, code) }
    }

    /// A statement that is prepared once.
    func statement(_ sql: String) throws -> SQLiteStatement {
        if let known = statements[sql] { return known }
        let new = try unsafe SQLiteStatement(sql, database)
        statements[sql] = new
        return new
    }

    /// The number of rows that the last statement changed.
    var changes: Int { unsafe Int(sqlite3_changes(database)) }

    /// Runs `body` in a transaction and commits it durably.
    func writing<R>(_ body: () throws -> R) throws -> R {
        try statement("BEGIN IMMEDIATE").run()
        do {
            let result = try body()
            if book.isChanged {
                try statement("INSERT OR REPLACE INTO book VALUES(1, ?1)").bind(Array(book.bytes()), 1).run()
            }
            try statement("COMMIT").run()
            return result
        } catch {
            try execute("ROLLBACK")
            throw error
        }
    }

    /// Runs `body` over one snapshot.
    func reading<R>(_ body: () throws -> R) throws -> R {
        try statement("BEGIN").run()
        defer { try? statement("COMMIT").run() }
        return try body()
    }
}
