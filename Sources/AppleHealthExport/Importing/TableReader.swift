/// Reads a table by a map and passes on its samples.
enum TableReader {
    static func read(
        _ source: some ByteSource, _ map: ImportMap, into sink: inout RecordSink, _ quarantine: ExportReader.Quarantine,
        _ progress: ExportReader.Progress
    ) throws {
        var source = source
        var file = try MappedFile(map: map)
        var (piece, read, isLast): ([UInt8], Int, Bool) = ([], 0, false)
        while !isLast {
            piece.removeAll(keepingCapacity: true)
            let count = try source.read(into: &piece, atMost: 1 << 18)
            isLast = count == 0
            read += count
            try file.take(piece[...], isLast: isLast) { item in
                switch item {
                case .record(let record): try take(record, &sink, quarantine)
                case .quarantined(let part):
                    sink.report.quarantined += 1
                    try quarantine(part)
                case .skipped:
                    sink.report.read += 1
                    sink.report.skipped += 1
                }
            }
            try progress(read)
        }
    }

    private static func take(
        _ record: ImportedRecord, _ sink: inout RecordSink, _ quarantine: ExportReader.Quarantine
    ) throws {
        do {
            try RecordReader.validate(record)
        } catch {
            sink.report.quarantined += 1
            return try quarantine(Quarantined(offset: 0, reason: error.reason, bytes: []))
        }
        try sink.add(record)
    }
}
