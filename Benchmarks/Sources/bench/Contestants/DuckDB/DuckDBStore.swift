import Foundation
import HealthKV

/// A column store for analytics, through its Python package: one table per type, without an index by UUID.
final class DuckDBStore {
    let process: DuckDBProcess
    private(set) var book = KindBook()

    init(folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        process = try DuckDBProcess(folder: folder)
        let opening = process.lastTime
        if let json = try process.ask("book")["book"] as? String, !json.isEmpty {
            book = try JSONDecoder().decode(KindBook.self, from: Data(json.utf8))
        }
        openingTime = opening
    }

    private var openingTime: UInt64?

    /// The time of the last call, or of opening before the first call.
    var ownTime: UInt64? {
        defer { openingTime = nil }
        return openingTime ?? process.lastTime
    }

    var processID: Int32 { process.id }

    func close() throws { try process.close() }

    /// Imports a batch in one durable commit; compares known rows and replaces those that differ.
    func importBatch(_ batch: SampleBatch) throws -> ImportCounts {
        openingTime = nil
        let numbers = batch.kinds.map { book.number(of: RowKind($0)) }
        let types = numbers.map { book.typeNumber(ofKind: $0) }
        let rows = batch.rowsByTime()
        var message: DuckDBProcess.Message = ["count": rows.count, "types": book.types.count]
        let kinds = rows.map { Int(batch.kindOfRow[$0]) }
        try process.give("type", kinds.map { types[$0] })
        try process.give("kind", kinds.map { numbers[$0] })
        try process.give("start", rows.map { batch.starts[$0] })
        try process.give("end", rows.map { batch.ends[$0] })
        try process.give("value", rows.map { batch.values[$0] })
        try process.give("id_high", rows.map { batch.ids[$0].high })
        try process.give("id_low", rows.map { batch.ids[$0].low })
        var (sync, extras): ([String: String], [String: String]) = ([:], [:])
        for (place, row) in rows.enumerated() {
            book.note(duration: batch.ends[row] - batch.starts[row], ofType: types[kinds[place]])
            guard let rare = batch.extras[row] else { continue }
            sync["\(place)"] = rare.syncIdentifier
            let bytes = try RowExtras.bytes(rare, withSync: false)
            if !bytes.isEmpty { extras["\(place)"] = bytes.map { String(format: "%02x", $0) }.joined() }
        }
        message["sync"] = sync
        message["extras"] = extras
        let converting = Set(types).filter { book.converts($0) }.map { Int($0) }
        message["converting"] = converting
        if !converting.isEmpty {
            try process.give(
                "canonical",
                zip(rows, kinds).map { book.canonical(batch.values[$0], ofKind: Int(numbers[$1])) })
        }
        message["book"] = try changedBook()
        let answer = try process.ask("import", message)
        return ImportCounts(
            inserted: answer["inserted"] as? Int ?? 0, replaced: answer["replaced"] as? Int ?? 0,
            unchanged: answer["unchanged"] as? Int ?? 0)
    }

    private func changedBook() throws -> String {
        book.isChanged ? String(decoding: try book.bytes(), as: UTF8.self) : ""
    }

    func save(_ sample: Sample) throws {
        let kind = book.number(of: RowKind(sample))
        let type = book.typeNumber(ofKind: kind)
        book.note(duration: sample.end.nanoseconds - sample.start.nanoseconds, ofType: type)
        try process.ask(
            "save",
            [
                "type": Int(type), "types": book.types.count, "kind": Int(kind), "start": sample.start.nanoseconds,
                "end": sample.end.nanoseconds, "value": sample.quantity.value, "high": sample.id.high,
                "low": sample.id.low, "book": try changedBook(),
            ])
    }

    /// One thread of its process writes for all waiting writers, since each commit syncs its log separately.
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool {
        guard writers == .threads else { return false }
        let kinds = samples.map { book.number(of: RowKind($0)) }
        for (sample, kind) in zip(samples, kinds) {
            book.note(
                duration: sample.end.nanoseconds - sample.start.nanoseconds, ofType: book.typeNumber(ofKind: kind))
        }
        try process.give("type", kinds.map { book.typeNumber(ofKind: $0) })
        try process.give("kind", kinds)
        try process.give("start", samples.map(\.start.nanoseconds))
        try process.give("end", samples.map(\.end.nanoseconds))
        try process.give("value", samples.map(\.quantity.value))
        try process.give("id_high", samples.map(\.id.high))
        try process.give("id_low", samples.map(\.id.low))
        try process.ask(
            "save_from_threads",
            ["types": book.types.count, "threads": Writers.count, "book": try changedBook()])
        return true
    }

    func edit(_ id: SampleID, value: Double) throws {
        let answer = try process.ask("edit", ["high": id.high, "low": id.low, "value": value])
        if answer["changed"] as? Int != 1 { throw BenchFailure("edit: a sample is missing") }
    }

    func delete(_ id: SampleID) throws -> Bool {
        try process.ask("delete", ["high": id.high, "low": id.low])["changed"] as? Int == 1
    }
}
