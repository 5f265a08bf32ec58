/// A column of byte strings that most rows lack: a dictionary of the distinct strings, and an integer column of
/// positions.
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
    /// Decodes all rows; `nil` for a row without a string.
    static func decode(_ span: RawSpan, _ range: Range<Int>, rows: Int) throws(FormatError) -> [[UInt8]?] {
        let (dictionary, rest) = try dictionary(span, range, rows: rows)
        let distinct = dictionary.count
        let positions = try IntColumn(span, rest..<range.upperBound, rows: rows)
        var decoded: [[UInt8]?] = []
        decoded.reserveCapacity(rows)
        for row in 0..<rows {
            let position = positions.value(span, at: row)
            guard position >= 0, position <= distinct else { throw FormatError(.invalid, "text position") }
            decoded.append(position == 0 ? nil : dictionary[Int(position) - 1])
        }
        return decoded
    }

    /// A column that is read string by string. It reads the string of one row without decoding the others.
    struct Reader {
        private let lengths: IntColumn?
        private let positions: IntColumn
        private let distinct: Int
        private let texts: Range<Int>

        init(_ span: RawSpan, _ range: Range<Int>, rows: Int) throws(FormatError) {
            let bounds = try Bounds(span, range, rows: rows)
            (distinct, texts) = (bounds.distinct, bounds.texts)
            lengths = distinct > 0 ? try IntColumn(span, bounds.lengths, rows: distinct) : nil
            positions = try IntColumn(span, texts.upperBound..<range.upperBound, rows: rows)
        }

        /// Returns the string of a row; `nil` if the row has none.
        func text(_ span: RawSpan, at row: Int) throws(FormatError) -> [UInt8]? {
            let position = positions.value(span, at: row)
            return position == 0 ? nil : span.extracting(try place(span, position)).copied()
        }

        /// Returns the range of the string at a one-based position.
        private func place(_ span: RawSpan, _ position: Int64) throws(FormatError) -> Range<Int> {
            guard position > 0, position <= distinct, let lengths else { throw FormatError(.invalid, "text position") }
            let index = Int(position) - 1
            let (offset, length) = (lengths.sum(span, before: index), lengths.value(span, at: index))
            guard offset >= 0, offset <= texts.count, length >= 0, length <= Int64(texts.count) - offset else {
                throw FormatError(.invalid, "text length")
            }
            let start = texts.lowerBound + Int(offset)
            return start..<start + Int(length)
        }

        /// Returns the rows in a range with exactly this string.
        func rows(_ span: RawSpan, with text: [UInt8], in range: Range<Int>) throws(FormatError) -> [Int] {
            guard let lengths else { return [] }
            if range.count <= Texts.few {
                var rows: [Int] = []
                for row in range {
                    let position = positions.value(span, at: row)
                    guard position != 0 else { continue }
                    if span.extracting(try place(span, position)).isEqual(to: text) { rows.append(row) }
                }
                return rows
            }
            var (offset, isSound) = (Int64(texts.lowerBound), true)
            var candidates: [Int64] = []
            let (limit, end, wanted) = (Int64(texts.count), Int64(texts.upperBound), Int64(text.count))
            lengths.forEachValue(span) { index, value in
                isSound = isSound && value >= 0 && value <= limit && offset &+ value <= end
                if isSound, value == wanted, span.extracting(Int(offset)..<Int(offset + value)).isEqual(to: text) {
                    candidates.append(Int64(index + 1))
                }
                offset &+= value
            }
            guard isSound else { throw FormatError(.invalid, "text length") }
            if candidates.isEmpty { return [] }
            var rows: [Int] = []
            positions.forEachValue(span) { row, position in
                if range.contains(row), candidates.contains(position) { rows.append(row) }
            }
            return rows
        }
    }

    /// The offsets of a column's parts.
    private struct Bounds {
        let distinct: Int
        let lengths: Range<Int>
        let texts: Range<Int>

        init(_ span: RawSpan, _ range: Range<Int>, rows: Int) throws(FormatError) {
            guard range.count >= 16 else { throw FormatError(.truncated, "text column") }
            let start = range.lowerBound
            distinct = Int(span.load(start, as: UInt32.self))
            let texts = start + 16 + Int(span.load(start + 4, as: UInt32.self))
            let end = texts + Int(span.load(start + 8, as: UInt32.self))
            guard distinct <= rows, end <= range.upperBound else { throw FormatError(.invalid, "text column") }
            lengths = start + 16..<texts
            self.texts = texts..<end
        }
    }

    /// Returns the distinct strings and the offset of the column of positions.
    static func dictionary(
        _ span: RawSpan, _ range: Range<Int>, rows: Int
    ) throws(FormatError) -> (strings: [[UInt8]], end: Int) {
        let bounds = try Bounds(span, range, rows: rows)
        let (distinct, texts) = (bounds.distinct, bounds.texts)
        var dictionary: [[UInt8]] = []
        if distinct > 0 {
            let lengths = try IntColumn(span, bounds.lengths, rows: distinct)
            var offset = texts.lowerBound
            for index in 0..<distinct {
                let length = lengths.value(span, at: index)
                guard length >= 0, length <= texts.upperBound - offset else {
                    throw FormatError(.invalid, "text length")
                }
                dictionary.append(span.extracting(offset..<offset + Int(length)).copied())
                offset += Int(length)
            }
        }
        return (dictionary, texts.upperBound)
    }

    /// Appends a column of `texts`, one per row.
    static func write(_ texts: [[UInt8]?], into writer: inout ByteWriter) {
        var numbers = TextNumbers(of: texts.count)
        var lengths: [Int64] = []
        var blob: [UInt8] = []
        // Rows that share a string mostly follow one another, and comparing with the last one is cheap.
        var last: (text: [UInt8], number: Int64)?
        let positions = texts.map { text -> Int64 in
            guard let text else { return 0 }
            if let last, last.text == text { return last.number }
            let (number, isNew) = numbers.number(of: text)
            if isNew {
                lengths.append(Int64(text.count))
                blob.append(contentsOf: text)
            }
            last = (text, number)
            return number
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

/// Numbers distinct strings, from one on.
private struct TextNumbers {
    private var numbers: [[UInt8]: Int64] = [:]
    private var texts: [[UInt8]] = []
    private var heads: [UInt64] = []
    private let areFew: Bool

    /// Up to this many strings are compared one by one: to hash a string takes longer.
    private static let few = 128

    init(of count: Int) { areFew = count <= TextNumbers.few }

    mutating func number(of text: [UInt8]) -> (number: Int64, isNew: Bool) {
        guard areFew else {
            if let number = numbers[text] { return (number, false) }
            let number = Int64(numbers.count + 1)
            numbers[text] = number
            return (number, true)
        }
        let head = TextNumbers.head(text)
        for index in heads.indices where heads[index] == head && texts[index] == text {
            return (Int64(index + 1), false)
        }
        heads.append(head)
        texts.append(text)
        return (Int64(texts.count), true)
    }

    /// Returns the last bytes and the length of a string: identifiers mostly differ at their ends.
    private static func head(_ text: [UInt8]) -> UInt64 {
        var head = UInt64(text.count)
        for byte in text.suffix(7) { head = head << 8 | UInt64(byte) }
        return head
    }
}
