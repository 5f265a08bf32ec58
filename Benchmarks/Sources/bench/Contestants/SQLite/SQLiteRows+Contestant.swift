import HealthKV

extension SQLiteRows: Contestant {
    /// Moves the content of the log into the file, and re-enables automatic checkpoints.
    func finishImport() throws {
        guard isImporting else { return }
        isImporting = false
        try execute("PRAGMA wal_autocheckpoint = 1000; PRAGMA wal_checkpoint(TRUNCATE)")
    }

    func finishWrites() throws { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }

    var keepsSummaries: Bool { keepsDays }

    /// Sums each day by its own range of the table, which is faster than computing the day of each row.
    func daySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? {
        guard let number = book.number(of: type) else { return nil }
        if keepsDays { return try keptDaySums(number, days) }
        let rows = try statement("SELECT sum(value) FROM samples WHERE type = ?1 AND start >= ?2 AND start < ?3")
        var sums = DaySums(count: days.count)
        for day in 0..<days.count {
            rows.bind(Int64(number), 1).bind(days.bounds[day], 2).bind(days.bounds[day + 1], 3)
            if try rows.step() { sums.values[day] = rows.double(0) }
            rows.reset()
        }
        return sums
    }

    /// The sums that triggers maintain.
    private func keptDaySums(_ type: UInt16, _ days: DayAxis) throws -> DaySums {
        let rows = try statement("SELECT day, sum FROM days WHERE type = ?1 AND day BETWEEN 0 AND ?2")
        rows.bind(Int64(type), 1).bind(Int64(days.count - 1), 2)
        var sums = DaySums(count: days.count)
        while try rows.step() { sums.values[Int(rows.int(0))] = rows.double(1) }
        rows.reset()
        return sums
    }

    func seriesPoints(_ type: SampleType, _ points: PointAxis) throws -> [SeriesPoint]? {
        guard let number = book.number(of: type), !book.converts(number) else { return nil }
        let rows = try statement(
            "SELECT (start - ?2) / ?3, count(*), min(value), max(value), avg(value) FROM samples "
                + "WHERE type = ?1 AND start >= ?2 AND start < ?4 GROUP BY 1")
        rows.bind(Int64(number), 1).bind(points.from, 2).bind(points.width, 3)
        rows.bind(points.end, 4)
        var found = Array(repeating: SeriesPoint(), count: points.count)
        while try rows.step() {
            found[Int(rows.int(0))] = SeriesPoint(
                count: Int(rows.int(1)), low: rows.double(2), high: rows.double(3), mean: rows.double(4))
        }
        rows.reset()
        return found
    }

    /// SQLite's own check of its pages.
    func check() throws {
        let rows = try statement("PRAGMA quick_check(1)")
        defer { rows.reset() }
        guard try rows.step(), rows.text(0) == "ok" else { throw BenchFailure("SQLite: quick_check found something") }
    }
}
