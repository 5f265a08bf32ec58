import HealthModel

@testable import AppleHealthExport

/// Called by libFuzzer. The bytes are an archive, a map of a table, a table, or an export of Apple Health. What is read
/// must not depend on the pieces in which the bytes come.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: count))
    if PlantedFault.isMet(bytes) { fatalError("the planted fault was met") }
    if ZipArchive.isZip(bytes) {
        try? unpack(bytes)
    } else if bytes.first == UInt8(ascii: "{") {
        _ = try? ImportMap(json: bytes)
    } else if bytes.first == UInt8(ascii: "#") {
        let pieces = [1 << 18, 61].map { table(Array(bytes.dropFirst()), inPiecesOf: $0) }
        precondition(pieces[0] == pieces[1])
    } else {
        let pieces = [1 << 20, 173].map { export(bytes, inPiecesOf: $0) }
        precondition(pieces[0] == pieces[1])
    }
    return 0
}

private struct Pieces: ByteSource {
    let bytes: [UInt8]
    let size: Int
    private var place = 0

    init(_ bytes: [UInt8], of size: Int) { (self.bytes, self.size) = (bytes, size) }

    mutating func read(into buffer: inout [UInt8], atMost count: Int) -> Int {
        let piece = bytes[place..<min(bytes.count, place + min(count, size))]
        buffer.append(contentsOf: piece)
        place += piece.count
        return piece.count
    }
}

/// What was read of a file.
private struct Outcome: Equatable {
    var report = HealthImportReport()
    var quarantined: [Int] = []
    var failed = false
}

private func export(_ bytes: [UInt8], inPiecesOf size: Int) -> Outcome {
    var sink = RecordSink(nil, WantedRecords(types: nil, sources: nil, range: .all))
    var reader = ExportReader()
    var outcome = Outcome()
    do {
        try reader.read(Pieces(bytes, of: size), into: &sink, { outcome.quarantined.append($0.offset) }, { _ in })
    } catch {
        outcome.failed = true
    }
    try? sink.finish(isWhole: true)
    outcome.report = sink.report
    precondition(outcome.report.keptOut.values.allSatisfy { $0.bytes <= bytes.count })
    return outcome
}

private let map = {
    var map = ImportMap.shipped("withings-weight")
    try? map?.setZone("Europe/Berlin")
    return map
}()

/// What was read of a table.
private struct TableOutcome: Equatable {
    var records: [ImportedRecord] = []
    var quarantined: [Int] = []
    var skipped = 0
    var failed = false

    mutating func take(_ item: MappedItem) {
        switch item {
        case .record(let record): records.append(record)
        case .quarantined(let part): quarantined.append(part.offset)
        case .skipped: skipped += 1
        }
    }
}

private func table(_ bytes: [UInt8], inPiecesOf size: Int) -> TableOutcome {
    guard let map, var file = try? MappedFile(map: map) else { fatalError("the shipped map cannot be used") }
    var source = Pieces(bytes, of: size)
    var outcome = TableOutcome()
    var piece: [UInt8] = []
    do {
        while source.read(into: &piece, atMost: size) > 0 {
            try file.take(piece[...], isLast: false) { outcome.take($0) }
            piece = []
        }
        try file.take([], isLast: true) { outcome.take($0) }
    } catch {
        outcome.failed = true
    }
    return outcome
}

private func unpack(_ bytes: [UInt8]) throws {
    let archive = try ZipArchive(bytes: bytes, name: "archive")
    for entry in archive.entries.prefix(8) {
        guard let source = try? archive.source(of: entry) else { continue }
        var (piece, total): ([UInt8], Int) = ([], 0)
        while total < 1 << 20, let count = try? source.read(into: &piece, atMost: 1 << 16), count > 0 {
            total += count
            piece = []
        }
    }
}
