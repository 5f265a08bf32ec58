/// Splits the bytes of a CSV file (RFC 4180) into rows of fields, piece by piece.
///
/// The scanner keeps one row at most: a row whose end has not arrived stays in the buffer, and scanning continues where
/// it stopped. A row that is not well formed, or longer than ``rowLimit``, is given back up to its first line break,
/// and scanning continues on the next line: an unclosed quote costs one line and not the rest of the file.
struct CSVScanner {
    /// The bounds of a field in ``bytes``, without its quotes.
    struct Field {
        var start: Int
        var end: Int
        /// Whether the field stands in quotes: then blanks around its text belong to it.
        var isQuoted = false
    }

    /// What ``next(isLast:)`` found.
    enum Found: Equatable {
        /// A row: its fields are in ``fields``.
        case row
        /// A row that is not well formed, or too long.
        case defect(String)
        /// The end of the bytes so far.
        case nothing
    }

    /// The maximum length of a row in bytes.
    static let rowLimit = 1 << 20

    private static let quote: UInt8 = 0x22
    private static let lineFeed: UInt8 = 0x0A
    private static let carriageReturn: UInt8 = 0x0D

    private enum State {
        /// At the first byte of a field.
        case start
        /// In a field without quotes.
        case plain
        /// In a field in quotes.
        case quoted
        /// Behind a quote in such a field: it ends the field, or is the first of two.
        case quote
        /// In a row that is not well formed, of which the first line has not arrived yet.
        case defective
        /// In the rest of a line that is too long.
        case overlong
    }

    /// The bytes that are not used up yet.
    private(set) var bytes: [UInt8] = []
    /// The fields of the row.
    private(set) var fields: [Field] = []
    /// Whether the row has a byte beyond ASCII, or a NUL.
    private(set) var hasWideBytes = false
    private(set) var hasNUL = false
    /// The line of the file on which the row begins, counted from 1.
    private(set) var line = 1

    private let separator: UInt8
    /// The lines before the first row that are still to come.
    private var linesToSkip: Int
    private var isAtStart = true

    private var state = State.start
    /// The first byte of the row, of its next field, and the next byte to look at.
    private var rowStart = 0
    private var fieldStart = 0
    private var position = 0
    /// The end of the row that was found, and the lines that it takes.
    private var rowEnd = 0
    private var lineBreaks = 0
    /// The position in the file of the first byte of ``bytes``.
    private var origin = 0
    private var hasDoubledQuotes = false
    /// What is wrong with the row, and where to look on for the end of its first line.
    private var problem = ""
    private var searchStart = 0
    /// The row as it is in the file, if fields were changed in ``bytes``.
    private var original: [UInt8]?

    init(separator: UInt8, skippingLines count: Int) {
        self.separator = separator
        linesToSkip = count
    }

    /// The position of the row in the file.
    var offset: Int { origin + rowStart }

    /// The bytes of the row as they are in the file, with the line break.
    var rowBytes: [UInt8] { original ?? Array(bytes[rowStart..<min(rowEnd, rowStart + CSVScanner.rowLimit)]) }

    /// Whether the row is a blank line.
    var isBlank: Bool { fields.count == 1 && fields[0].start == fields[0].end && fields[0].start == rowStart }

    /// Adds bytes behind those that are not used up yet.
    mutating func append(_ piece: ArraySlice<UInt8>) {
        if position > 0, rowStart > 0 || state == .overlong { dropUsedBytes() }
        bytes.append(contentsOf: piece)
    }

    private mutating func dropUsedBytes() {
        let used = state == .overlong ? position : rowStart
        bytes.removeSubrange(0..<used)
        origin += used
        rowStart = max(0, rowStart - used)
        rowEnd = max(rowStart, rowEnd - used)
        fieldStart = max(0, fieldStart - used)
        searchStart = max(0, searchStart - used)
        position -= used
        for index in fields.indices {
            fields[index].start -= used
            fields[index].end -= used
        }
    }

    /// Finds the next row.
    ///
    /// - Parameter isLast: whether the file ends with the bytes so far.
    mutating func next(isLast: Bool) -> Found {
        guard skipPreamble(isLast: isLast) else { return .nothing }
        if state == .overlong, !skipOverlongLine() { return .nothing }
        if rowEnd > rowStart { beginRow() }
        while true {
            switch state {
            case .start:
                fieldStart = position
                guard position < bytes.count else { return atEnd(isLast) }
                if bytes[position] == CSVScanner.quote {
                    position += 1
                    fieldStart = position
                    state = .quoted
                } else {
                    state = .plain
                }
            case .plain:
                guard scanPlain() else { return atEnd(isLast) }
                if let found = endField(at: position, isLast) { return found }
            case .quoted:
                guard scanQuoted() else { return atEnd(isLast) }
                state = .quote
            case .quote:
                guard position < bytes.count else { return atEnd(isLast) }
                let byte = bytes[position]
                if byte == CSVScanner.quote {
                    hasDoubledQuotes = true
                    position += 1
                    state = .quoted
                } else if byte == separator || byte == CSVScanner.lineFeed {
                    if let found = endField(at: position - 1, isLast) { return found }
                } else if byte == CSVScanner.carriageReturn, position + 1 >= bytes.count, !isLast {
                    return atEnd(isLast)
                } else if byte == CSVScanner.carriageReturn,
                    position + 1 == bytes.count || bytes[position + 1] == CSVScanner.lineFeed
                {
                    let end = position - 1
                    position += 1
                    if position == bytes.count { return endRow(fieldEnd: end, isLast) }
                    if let found = endField(at: end, isLast) { return found }
                } else {
                    return defect("a quote inside a field in quotes is not doubled", isLast)
                }
            case .defective: return endDefect(isLast)
            case .overlong: return .nothing
            }
        }
    }

    private mutating func beginRow() {
        line += lineBreaks
        rowStart = rowEnd
        position = rowEnd
        resetRow()
    }

    private mutating func resetRow() {
        fieldStart = position
        state = .start
        lineBreaks = 0
        (hasWideBytes, hasNUL, hasDoubledQuotes, original) = (false, false, false, nil)
        fields.removeAll(keepingCapacity: true)
    }

    /// Moves to the separator or line break that ends a field without quotes; returns `false` if it has not arrived.
    private mutating func scanPlain() -> Bool {
        let (bytes, separator) = (bytes, separator)
        var (index, bits) = (position, UInt8(0))
        // Separators, line feeds and NULs are small, and few other bytes are.
        let small = max(separator, CSVScanner.lineFeed)
        while index < bytes.count {
            let byte = bytes[index]
            if byte <= small {
                if byte == separator || byte == CSVScanner.lineFeed { break }
                if byte == 0 { hasNUL = true }
            }
            bits |= byte
            index += 1
        }
        if bits >= 0x80 { hasWideBytes = true }
        position = index
        return index < bytes.count
    }

    /// Moves behind the next quote of a field in quotes; returns `false` if it has not arrived.
    private mutating func scanQuoted() -> Bool {
        let bytes = bytes
        var (index, bits, breaks) = (position, UInt8(0), 0)
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte <= CSVScanner.quote {
                if byte == CSVScanner.quote {
                    if bits >= 0x80 { hasWideBytes = true }
                    lineBreaks += breaks
                    position = index
                    return true
                }
                if byte == CSVScanner.lineFeed { breaks += 1 } else if byte == 0 { hasNUL = true }
            }
            bits |= byte
        }
        if bits >= 0x80 { hasWideBytes = true }
        lineBreaks += breaks
        position = index
        return false
    }

    /// Ends a field at the separator or line feed at `position`; returns the row if it ends there as well.
    private mutating func endField(at end: Int, _ isLast: Bool) -> Found? {
        guard bytes[position] == separator else {
            let hasReturn = state == .plain && end > fieldStart && bytes[end - 1] == CSVScanner.carriageReturn
            position += 1
            lineBreaks += 1
            return endRow(fieldEnd: hasReturn ? end - 1 : end, isLast)
        }
        fields.append(Field(start: fieldStart, end: end, isQuoted: state == .quote))
        position += 1
        state = .start
        return nil
    }

    private mutating func endRow(fieldEnd: Int, _ isLast: Bool) -> Found {
        guard position - rowStart <= CSVScanner.rowLimit else { return defect("", isLast) }
        fields.append(Field(start: fieldStart, end: fieldEnd, isQuoted: state == .quote))
        rowEnd = position
        state = .start
        if hasDoubledQuotes { undoubleQuotes() }
        return .row
    }

    /// Returns what the end of the bytes means for the row.
    private mutating func atEnd(_ isLast: Bool) -> Found {
        if position - rowStart > CSVScanner.rowLimit { return defect("", isLast) }
        guard isLast, position > rowStart else { return .nothing }
        switch state {
        case .plain:
            let hasReturn = position > fieldStart && bytes[position - 1] == CSVScanner.carriageReturn
            return endRow(fieldEnd: hasReturn ? position - 1 : position, isLast)
        case .quote: return endRow(fieldEnd: position - 1, isLast)
        case .quoted: return defect("a quote is not closed", isLast)
        case .start: return endRow(fieldEnd: position, isLast)
        case .defective, .overlong: return .nothing
        }
    }

    /// Gives the first line of the row back as a defect, as soon as it is complete.
    private mutating func defect(_ problem: String, _ isLast: Bool) -> Found {
        let isTooLong = position - rowStart > CSVScanner.rowLimit
        self.problem = isTooLong ? "the row is longer than \(CSVScanner.rowLimit) bytes" : problem
        fields.removeAll(keepingCapacity: true)
        original = nil
        searchStart = rowStart
        state = .defective
        return endDefect(isLast)
    }

    private mutating func endDefect(_ isLast: Bool) -> Found {
        let end = min(bytes.count, rowStart + CSVScanner.rowLimit)
        if let lineEnd = bytes[searchStart..<end].firstIndex(of: CSVScanner.lineFeed) {
            rowEnd = lineEnd + 1
            lineBreaks = 1
            state = .start
        } else if bytes.count - rowStart >= CSVScanner.rowLimit {
            original = Array(bytes[rowStart..<end])
            position = end
            state = .overlong
        } else if isLast {
            rowEnd = end
            lineBreaks = 0
            state = .start
        } else {
            searchStart = end
            return .nothing
        }
        return .defect(problem)
    }

    /// Moves behind the line that is too long; returns `false` if its end has not arrived.
    private mutating func skipOverlongLine() -> Bool {
        original = nil
        guard let lineEnd = bytes[position...].firstIndex(of: CSVScanner.lineFeed) else {
            position = bytes.count
            return false
        }
        position = lineEnd + 1
        rowStart = position
        rowEnd = position
        line += 1
        resetRow()
        return true
    }

    /// Skips a byte order mark and the lines before the first row; returns `false` if they have not all arrived.
    private mutating func skipPreamble(isLast: Bool) -> Bool {
        if isAtStart {
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            guard bytes.count >= mark.count || isLast || !mark.starts(with: bytes) else { return false }
            isAtStart = false
            if bytes.starts(with: mark) { moveStart(to: mark.count) }
        }
        while linesToSkip > 0 {
            guard let lineEnd = bytes[position...].firstIndex(of: CSVScanner.lineFeed) else {
                moveStart(to: bytes.count)
                return false
            }
            moveStart(to: lineEnd + 1)
            line += 1
            linesToSkip -= 1
        }
        return true
    }

    private mutating func moveStart(to place: Int) {
        (rowStart, rowEnd, fieldStart, position) = (place, place, place, place)
    }

    /// Makes one quote of two in the fields of the row.
    private mutating func undoubleQuotes() {
        original = Array(bytes[rowStart..<rowEnd])
        for index in fields.indices {
            let field = fields[index]
            // Only a field in quotes has doubled quotes; in others a quote is a character like any other.
            guard field.start > rowStart, bytes[field.start - 1] == CSVScanner.quote else { continue }
            var (target, source) = (field.start, field.start)
            while source < field.end {
                bytes[target] = bytes[source]
                source += bytes[source] == CSVScanner.quote ? 2 : 1
                target += 1
            }
            fields[index].end = target
        }
    }
}
