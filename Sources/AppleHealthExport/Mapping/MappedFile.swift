/// Reads a CSV file by a map, piece by piece.
///
/// Memory stays constant: the reader keeps one row, of at most a mebibyte, and the part of a piece behind it. What it
/// yields does not depend on how the file is cut into pieces.
///
/// ```
/// var file = try MappedFile(map: map)
/// while let piece = try source.read() {
///     try file.take(piece[...], isLast: false) { item in … }
/// }
/// try file.take([], isLast: true) { item in … }
/// ```
package struct MappedFile: Sendable {
    private let map: ImportMap
    private var scanner: CSVScanner
    /// How to read rows; `nil` until the header has been read.
    private var plan: RowPlan?
    private var records: [ImportedRecord] = []
    private var isFinished = false

    /// The part of a piece that is scanned at once.
    private static let stepLength = 1 << 18

    /// Creates a reader of one file.
    ///
    /// - Throws: ``ImportMapError`` if the file has local times and the map has no zone for them.
    package init(map: ImportMap) throws(ImportMapError) {
        self.map = map
        scanner = CSVScanner(separator: (map.separator ?? .comma).byte, skippingLines: map.skipLines ?? 0)
        let checked = try RowPlan(checking: map)
        if let place = checked.zoneMissing {
            throw ImportMapError(place, "the file has local times, so the map needs a zone, such as Europe/Berlin")
        }
        if map.hasHeader == false { plan = checked }
    }

    /// The number of bytes that wait for the rest of their row.
    var bufferedBytes: Int { scanner.bytes.count }

    /// Takes the next bytes of the file and yields what they complete, in the order of the file.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes, as many as are at hand.
    ///   - isLast: whether the file ends with them. Later bytes are ignored.
    ///   - body: is called for each sample and for each row that gives none.
    /// - Throws: ``ImportMapError`` before anything is yielded if the file does not have the columns of the map, and
    ///   whatever `body` throws.
    package mutating func take(
        _ bytes: ArraySlice<UInt8>, isLast: Bool, _ body: (MappedItem) throws -> Void
    ) throws {
        if isFinished { return }
        var rest = bytes
        repeat {
            let step = rest.prefix(MappedFile.stepLength)
            rest = rest.dropFirst(step.count)
            scanner.append(step)
            try readRows(isLast: isLast && rest.isEmpty, body)
        } while !rest.isEmpty
        if isLast {
            isFinished = true
            if plan == nil { throw ImportMapError("header", "the file ends before its header") }
        }
    }

    private mutating func readRows(isLast: Bool, _ body: (MappedItem) throws -> Void) throws {
        while true {
            switch scanner.next(isLast: isLast) {
            case .nothing: return
            case .defect(let reason):
                guard plan != nil else { throw ImportMapError("header", "is not well formed: \(reason)") }
                try body(.quarantined(quarantined(reason)))
            case .row:
                if scanner.isBlank { continue }
                if plan == nil { try readHeader() } else { try readRow(body) }
            }
        }
    }

    private mutating func readHeader() throws(ImportMapError) {
        if let problem = problemOfBytes { throw ImportMapError("header", problem) }
        let names = scanner.fields.map { field in
            let range = RowFields.trimmed(scanner.bytes, field.start..<field.end)
            return String(decoding: scanner.bytes[range], as: UTF8.self)
        }
        plan = try RowPlan(map, columns: names)
    }

    private mutating func readRow(_ body: (MappedItem) throws -> Void) throws {
        do throws(RowDefect) {
            try checkRow()
            records.removeAll(keepingCapacity: true)
            try plan?.append(from: scanner, to: &records)
        } catch {
            return try body(.quarantined(quarantined(error.reason)))
        }
        if records.isEmpty { return try body(.skipped) }
        // Taken out and not copied.
        if records.count > 1 { records.reverse() }
        while let record = records.popLast() { try body(.record(consume record)) }
    }

    private var problemOfBytes: String? {
        if scanner.hasNUL { return "has a NUL byte" }
        if scanner.hasWideBytes, String(validating: scanner.rowBytes, as: UTF8.self) == nil { return "is not UTF-8" }
        return nil
    }

    private func checkRow() throws(RowDefect) {
        if scanner.hasNUL || scanner.hasWideBytes, let problem = problemOfBytes {
            throw RowDefect("the row \(problem)")
        }
        let (count, expected) = (scanner.fields.count, plan?.columnCount ?? 0)
        if count == expected { return }
        // Some programs end each row, but not the header, with a separator.
        let isLonger = count > expected && scanner.fields[expected...].allSatisfy { $0.start == $0.end }
        guard isLonger else { throw RowDefect("the row has \(count) fields instead of \(expected)") }
    }

    private func quarantined(_ reason: String) -> Quarantined {
        Quarantined(offset: scanner.offset, line: scanner.line, reason: reason, bytes: scanner.rowBytes)
    }
}
