import CSQLite
import HealthKV

extension SQLiteRows {
    /// A row for each type and day of New York, which triggers update in the transaction of each change.
    static let dayRows = """
        CREATE TABLE IF NOT EXISTS days(
            type INTEGER NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL, sum REAL NOT NULL,
            PRIMARY KEY(type, day)) WITHOUT ROWID;
        CREATE TRIGGER IF NOT EXISTS sample_added AFTER INSERT ON samples BEGIN
            INSERT INTO days VALUES(new.type, local_day(new.start), 1, new.value)
                ON CONFLICT(type, day) DO UPDATE SET count = count + 1, sum = sum + excluded.sum;
        END;
        CREATE TRIGGER IF NOT EXISTS sample_removed AFTER DELETE ON samples BEGIN
            UPDATE days SET count = count - 1, sum = sum - old.value
                WHERE type = old.type AND day = local_day(old.start);
        END;
        CREATE TRIGGER IF NOT EXISTS sample_edited AFTER UPDATE OF value ON samples BEGIN
            UPDATE days SET sum = sum - old.value + new.value
                WHERE type = new.type AND day = local_day(new.start);
        END;
        """

    /// Defines `local_day(start)`: the number of the day in New York, which SQLite's own date functions cannot compute.
    ///
    /// SAFETY: SQLite calls the function with the one declared argument, and its context is valid during the call.
    static func defineLocalDay(_ database: OpaquePointer) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
        let code = unsafe sqlite3_create_function_v2(
            database, "local_day", 1, flags, nil,
            { context, _, arguments in
                let start = unsafe sqlite3_value_int64(arguments![0])
                unsafe sqlite3_result_int64(context, Int64(DayAxis.newYork.day(of: start)))
            }, nil, nil, nil)
        if code != SQLITE_OK { throw unsafe SQLiteFailure(database, code) }
    }
}
