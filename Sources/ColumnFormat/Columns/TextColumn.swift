/// A column of byte strings that most rows lack: a dictionary of the distinct ones, and an integer column of positions.
///
/// ```
///  offset  size  field
///       0     4  number of distinct strings
///       4     4  bytes of the column of lengths
///       8     4  bytes of all strings together
///      12     4  zero
///      16     -  integer column: the strings' lengths
///       -     -  the strings, one after the other
///       -     -  integer column: for each row 0, or the position of its string counted from one
/// ```
public enum TextColumn {
    /// Decodes all rows; `nil` where a row has no string.
    static func decode(_ span: RawSpan, _ range: Range<Int>, rows: Int) throws(FormatError) -> [[UInt8]?] {
        guard range.count >= 16 else { throw FormatError(.truncated, "text column") }
        let start = range.lowerBound
        let distinct = Int(span.load(start, as: UInt32.self))
        let lengthBytes = Int(span.load(start + 4, as: UInt32.self))
        let textBytes = Int(span.load(start + 8, as: UInt32.self))
        let texts = start + 16 + lengthBytes
        guard distinct <= rows, texts + textBytes <= range.upperBound else {
            throw FormatError(.invalid, "text column")
        }
        var dictionary: [[UInt8]] = []
        if distinct > 0 {
            let lengths = try IntColumn(span, start + 16..<texts, rows: distinct)
            var offset = texts
            for index in 0..<distinct {
                let length = lengths.value(span, at: index)
                guard length >= 0, length <= texts + textBytes - offset else {
                    throw FormatError(.invalid, "text length")
                }
                dictionary.append(span.extracting(offset..<offset + Int(length)).copied())
                offset += Int(length)
            }
        }
        let positions = try IntColumn(span, texts + textBytes..<range.upperBound, rows: rows)
        var decoded: [[UInt8]?] = []
        decoded.reserveCapacity(rows)
        for row in 0..<rows {
            let position = positions.value(span, at: row)
            guard position >= 0, position <= distinct else { throw FormatError(.invalid, "text position") }
            decoded.append(position == 0 ? nil : dictionary[Int(position) - 1])
        }
        return decoded
    }

    /// Appends a column of `texts`, one a row.
    static func write(_ texts: [[UInt8]?], into writer: inout ByteWriter) {
        var numbers: [[UInt8]: Int64] = [:]
        var lengths: [Int64] = []
        var blob: [UInt8] = []
        let positions = texts.map { text -> Int64 in
            guard let text else { return 0 }
            if let number = numbers[text] { return number }
            lengths.append(Int64(text.count))
            blob.append(contentsOf: text)
            numbers[text] = Int64(lengths.count)
            return Int64(lengths.count)
        }
        let start = writer.count
        writer.append(UInt32(lengths.count))
        writer.append(0 as UInt32)
        writer.append(UInt32(blob.count))
        writer.append(0 as UInt32)
        if !lengths.isEmpty { IntColumn.write(IntColumn.plan(lengths.span, []), into: &writer) }
        writer.overwrite(start + 4, UInt32(writer.count - start - 16))
        writer.bytes.append(contentsOf: blob)
        IntColumn.write(IntColumn.plan(positions.span, []), into: &writer)
    }
}
