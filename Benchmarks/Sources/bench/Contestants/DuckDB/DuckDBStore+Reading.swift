import Foundation
import HealthKV

extension DuckDBStore: Contestant {
    /// Moves the content of the log into the file.
    func finishImport() throws { try process.ask("finish_import") }

    /// Writes the pending content of the log into the file.
    func settle() throws { try process.ask("settle") }

    func compact(to folder: String) throws { try process.ask("compact", ["folder": folder]) }

    /// numpy makes the columns; reading them from its process is not measured.
    func readAll(_ type: SampleType) throws -> Columns {
        guard let number = book.number(of: type) else { return Columns(times: [], values: []) }
        let answer = try process.ask("read_all", ["type": Int(number), "wanted": true])
        let count = answer["count"] as? Int ?? 0
        return Columns(times: try process.column("times", count), values: try process.column("values", count))
    }

    func foldAll(_ type: SampleType) throws -> ColumnSum {
        guard let number = book.number(of: type) else { return ColumnSum() }
        let answer = try process.ask("fold_all", ["type": Int(number)])
        return ColumnSum(
            times: (answer["times"] as? NSNumber)?.uint64Value ?? 0,
            values: (answer["values"] as? NSNumber)?.uint64Value ?? 0, count: answer["count"] as? Int ?? 0)
    }

    func lookUp(_ ids: [SampleID], _ visit: (Int, UInt64, Sample?) -> Void) throws {
        for (index, id) in ids.enumerated() {
            let found = try samples("lookup", ["high": id.high, "low": id.low]).first
            visit(index, process.lastTime, found)
        }
    }

    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool {
        for (index, text) in syncIdentifiers.enumerated() {
            let found = try samples("lookup_sync", ["text": text]).first
            visit(index, process.lastTime, found)
        }
        return true
    }

    /// Makes the samples of an answer from its columns; this is not measured.
    private func samples(_ operation: String, _ fields: DuckDBProcess.Message) throws -> [Sample] {
        let answer = try process.ask(operation, fields)
        let count = answer["count"] as? Int ?? 0
        if count == 0 { return [] }
        let starts = try process.column("start", count, Int64.self)
        let ends = try process.column("end", count, Int64.self)
        let values = try process.column("value", count, Double.self)
        let kinds = try process.column("kind", count, UInt16.self)
        let highs = try process.column("id_high", count, UInt64.self)
        let lows = try process.column("id_low", count, UInt64.self)
        let sync = answer["sync"] as? [String: String] ?? [:]
        let extras = answer["extras"] as? [String: String] ?? [:]
        return try (0..<count).map { index in
            var row = RowFields(
                id: SampleID(high: highs[index], low: lows[index]), start: starts[index], end: ends[index],
                value: values[index], kind: kinds[index])
            row.sync = sync["\(index)"]
            row.extras = DuckDBStore.bytes(extras["\(index)"] ?? "")
            return try row.sample(book)
        }
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private func range(_ type: SampleType, from: Instant, to: Instant, limit: Int) throws -> [Sample] {
        guard let number = book.number(of: type) else { return [] }
        return try samples(
            "range",
            [
                "type": Int(number), "earliest": (from - .nanoseconds(book.longest[Int(number)])).nanoseconds,
                "from": from.nanoseconds, "to": to.nanoseconds, "limit": limit,
            ])
    }

    func range(_ type: SampleType, from: Instant, to: Instant) throws -> [Sample] {
        try range(type, from: from, to: to, limit: 0)
    }

    func firstInRange(_ type: SampleType, from: Instant, to: Instant) throws -> Sample? {
        try range(type, from: from, to: to, limit: 1).first
    }

    func latest(_ type: SampleType) throws -> Sample? {
        guard let number = book.number(of: type) else { return nil }
        return try samples("latest", ["type": Int(number)]).first
    }

    func count() throws -> Int { try process.ask("count")["count"] as? Int ?? 0 }

    func daySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? {
        guard let number = book.number(of: type) else { return nil }
        try process.give("bounds", days.bounds)
        try process.ask("day_sums", ["type": Int(number)])
        var sums = DaySums(count: days.count)
        sums.values = try process.column("sums", days.count)
        return sums
    }

    func seriesPoints(_ type: SampleType, _ points: PointAxis) throws -> [SeriesPoint]? {
        guard let number = book.number(of: type), !book.converts(number) else { return nil }
        try process.ask(
            "points", ["type": Int(number), "count": points.count, "from": points.from, "width": points.width])
        let counts = try process.column("count", points.count, Double.self)
        let lows = try process.column("low", points.count, Double.self)
        let highs = try process.column("high", points.count, Double.self)
        let means = try process.column("mean", points.count, Double.self)
        return (0..<points.count).map {
            SeriesPoint(count: Int(counts[$0]), low: lows[$0], high: highs[$0], mean: means[$0])
        }
    }

    /// DuckDB has no integrity check, so this reads and counts all rows.
    func check() throws {
        let sums = try book.types.map { try foldAll($0).count }.reduce(0, +)
        if try sums != count() { throw BenchFailure("DuckDB: columns and counts differ") }
    }
}
