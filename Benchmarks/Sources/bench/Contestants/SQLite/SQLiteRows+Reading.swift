import HealthKV

extension SQLiteRows {
    private static let columns = "SELECT id, start, \"end\", value, kind, sync, extras FROM samples "

    /// Passes each row of a type to `body`, in the order of time.
    @inline(__always)
    private func scan(_ type: SampleType, _ body: (Int64, Double) -> Void) throws {
        guard let number = book.number(of: type) else { return }
        let converts = book.converts(number)
        let kind = converts ? ", kind" : ""
        let rows = try statement("SELECT start, value\(kind) FROM samples WHERE type = ?1 ORDER BY start")
        rows.bind(Int64(number), 1)
        while try rows.step() {
            let value = rows.double(1)
            body(rows.int(0), converts ? book.canonical(value, ofKind: Int(rows.int(2))) : value)
        }
        rows.reset()
    }

    func readAll(_ type: SampleType) throws -> Columns {
        let room = lastCounts[type] ?? 0
        var columns = Columns(times: FreshPages.array(room: room), values: FreshPages.array(room: room))
        try scan(type) {
            columns.times.append($0)
            columns.values.append($1)
        }
        lastCounts[type] = columns.times.count
        return columns
    }

    func foldAll(_ type: SampleType) throws -> ColumnSum {
        var sum = ColumnSum()
        try scan(type) { sum.add($0, $1.bitPattern) }
        return sum
    }

    func lookUp(_ ids: [SampleID], _ visit: (Int, UInt64, Sample?) -> Void) throws {
        try reading {
            for (index, id) in ids.enumerated() {
                let from = Stopwatch.now()
                let sample = try row(id)?.sample(book)
                visit(index, Stopwatch.now() - from, sample)
            }
        }
    }

    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool {
        try reading {
            let rows = try statement(SQLiteRows.columns + "WHERE sync = ?1")
            for (index, text) in syncIdentifiers.enumerated() {
                let from = Stopwatch.now()
                rows.bind(text, 1)
                let sample = try rows.step() ? fields(rows).sample(book) : nil
                rows.reset()
                visit(index, Stopwatch.now() - from, sample)
            }
        }
        return true
    }

    /// The row of an id.
    func row(_ id: SampleID) throws -> RowFields? {
        let rows = try statement(SQLiteRows.columns + "WHERE id = ?1")
        rows.bind(id, 1)
        defer { rows.reset() }
        return try rows.step() ? fields(rows) : nil
    }

    private func fields(_ rows: SQLiteStatement) -> RowFields {
        var row = RowFields(
            id: rows.id(0), start: rows.int(1), end: rows.int(2), value: rows.double(3), kind: UInt16(rows.int(4)))
        row.sync = rows.text(5)
        row.extras = rows.bytes(6)
        return row
    }

    func range(_ type: SampleType, from: Instant, to: Instant) throws -> [Sample] {
        try samples(type, from: from, to: to, limit: -1)
    }

    func firstInRange(_ type: SampleType, from: Instant, to: Instant) throws -> Sample? {
        try samples(type, from: from, to: to, limit: 1).first
    }

    private func samples(_ type: SampleType, from: Instant, to: Instant, limit: Int64) throws -> [Sample] {
        guard let number = book.number(of: type) else { return [] }
        let rows = try statement(
            SQLiteRows.columns
                + "WHERE type = ?1 AND start >= ?2 AND start < ?3 AND (start >= ?4 OR \"end\" > ?4) ORDER BY start LIMIT ?5"
        )
        let earliest = (from - .nanoseconds(book.longest[Int(number)])).nanoseconds
        rows.bind(Int64(number), 1).bind(earliest, 2).bind(to.nanoseconds, 3).bind(from.nanoseconds, 4).bind(limit, 5)
        var found: [Sample] = []
        while try rows.step() { try found.append(fields(rows).sample(book)) }
        rows.reset()
        return found
    }

    func latest(_ type: SampleType) throws -> Sample? {
        guard let number = book.number(of: type) else { return nil }
        let rows = try statement(SQLiteRows.columns + "WHERE type = ?1 ORDER BY start DESC LIMIT 1")
        rows.bind(Int64(number), 1)
        defer { rows.reset() }
        return try rows.step() ? fields(rows).sample(book) : nil
    }

    func count() throws -> Int {
        let rows = try statement("SELECT count(*) FROM samples")
        defer { rows.reset() }
        return try rows.step() ? Int(rows.int(0)) : 0
    }
}
