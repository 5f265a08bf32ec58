/// The fields of one row, by the number of their column.
struct RowFields {
    let bytes: [UInt8]
    let bounds: [CSVScanner.Field]
    /// Texts that mean the same as an empty field.
    let missing: [[UInt8]]
    /// The decimal mark of numbers.
    let mark: UInt8

    /// Returns the bounds of a field without blanks around it; `nil` if the field is empty or says that it is missing.
    func range(_ column: Int) -> Range<Int>? {
        let field = bounds[column]
        let range = RowFields.trimmed(bytes, field.start..<field.end)
        if range.isEmpty { return nil }
        if !missing.isEmpty, missing.contains(where: { bytes[range].elementsEqual($0) }) { return nil }
        return range
    }

    /// Returns the bounds of a text that is taken as it is: in quotes, blanks around it are part of it.
    func textRange(_ column: Int) -> Range<Int>? {
        guard let trimmed = range(column) else { return nil }
        let field = bounds[column]
        return field.isQuoted ? field.start..<field.end : trimmed
    }

    /// Returns the text of a field as it is in the file.
    func text(_ column: Int) -> String {
        let field = bounds[column]
        return String(decoding: bytes[field.start..<field.end], as: UTF8.self)
    }

    /// Returns the bounds of a text without blanks and line ends around it.
    static func trimmed(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isBlank(bytes[start]) { start += 1 }
        while end > start, isBlank(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte >= 0x09 && byte <= 0x0D }
}

/// A column of the file that a map names.
struct BoundColumn: Sendable, Equatable {
    let index: Int
    let name: String

    /// Returns a defect of this column.
    func defect(_ problem: String) -> RowDefect { RowDefect(column: name, problem) }
}
