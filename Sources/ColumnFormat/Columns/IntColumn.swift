/// A column of 64-bit integers: a base, a common scale, and the rest of each row in as few bits as most rows need.
///
/// ```
///  offset  size  field
///       0     1  encoding: 0 constant, 1 offsets from the least value, 2 differences from row to row
///       1     1  width of a packed word in bits: 0...57 or 64
///       2     1  scale: position in `IntColumn.scales`
///       3     1  zero
///       4     2  number of exceptions
///       6     2  zero
///       8     8  base: the least value, or the first
///      16     8  least difference in units of the scale (encoding 2 only)
///       -   2*e  rows of the exceptions, ascending
///       -   8*e  words of the exceptions
///       -     -  packed words of all rows (encoding 2: from the second row on); exceptions hold zero here
/// ```
public struct IntColumn: Sendable {
    enum Encoding: UInt8 {
        case constant = 0
        case offsets = 1
        case differences = 2
    }

    /// The common factors of times, from a nanosecond to a minute. Files contain the positions: append only.
    static let scales: [Int64] = [1, 1_000, 1_000_000, 1_000_000_000, 60_000_000_000]

    let encoding: Encoding
    let width: Int
    let scale: Int64
    let base: Int64
    let leastDifference: Int64
    let rows: Int
    let exceptions: Int
    /// The offsets, in the whole value, of the exceptions' rows, of their words, and of the packed words.
    let exceptionRows: Int
    let exceptionWords: Int
    let packed: Int

    /// Reads the column at `range` of a value and checks its bounds. The value has slack after its last column.
    init(_ span: RawSpan, _ range: Range<Int>, rows: Int) throws(FormatError) {
        guard range.count >= 16 else { throw FormatError(.truncated, "integer column") }
        let start = range.lowerBound
        guard let encoding = Encoding(rawValue: span.load(start, as: UInt8.self)) else {
            throw FormatError(.unknown, "integer encoding")
        }
        let width = Int(span.load(start + 1, as: UInt8.self))
        let scale = Int(span.load(start + 2, as: UInt8.self))
        guard BitPacking.isValid(width: width), scale < IntColumn.scales.count else {
            throw FormatError(.invalid, "integer width")
        }
        self.encoding = encoding
        self.width = width
        self.scale = IntColumn.scales[scale]
        self.rows = rows
        base = span.load(start + 8, as: Int64.self)
        exceptions = Int(span.load(start + 4, as: UInt16.self))
        let fixed = encoding == .differences ? 24 : 16
        let words = encoding == .constant ? 0 : encoding == .differences ? max(0, rows - 1) : rows
        exceptionRows = start + fixed
        exceptionWords = exceptionRows + 2 * exceptions
        packed = exceptionWords + 8 * exceptions
        guard packed + BitPacking.byteCount(words: words, width: width) <= range.upperBound else {
            throw FormatError(.truncated, "integer column")
        }
        leastDifference = encoding == .differences ? span.load(start + 16, as: Int64.self) : 0
        var last = -1
        for index in 0..<exceptions {
            let row = Int(span.load(exceptionRows + 2 * index, as: UInt16.self))
            guard row > last, row < rows, encoding != .constant else { throw FormatError(.invalid, "exception") }
            last = row
        }
    }

    /// Whether every row's value is `base`.
    public var isConstant: Bool {
        encoding == .constant
            || exceptions == 0 && width == 0 && (encoding == .offsets || leastDifference == 0)
    }

    /// Returns the stored word of row `row`: with differences, the word of the step from the previous row.
    @inline(__always)
    private func word(_ span: RawSpan, _ row: Int) -> UInt64 {
        if exceptions > 0, let exception = exception(span, row) { return exception }
        return BitPacking.word(at: encoding == .differences ? row - 1 : row, width: width, span, packed)
    }

    /// Returns the value of row `row`, given the value `value` of the earlier row `known`.
    @inline(__always)
    func step(_ span: RawSpan, from known: Int, _ value: Int64, to row: Int) -> Int64 {
        guard encoding == .differences else { return self.value(span, at: row) }
        var sum: Int64 = 0
        for step in known + 1..<max(known + 1, row + 1) {
            sum &+= leastDifference &+ Int64(bitPattern: word(span, step))
        }
        return value &+ scale &* sum
    }

    private func exception(_ span: RawSpan, _ row: Int) -> UInt64? {
        var low = 0
        var high = exceptions
        while low < high {
            let middle = (low + high) / 2
            let found = Int(span.load(exceptionRows + 2 * middle, as: UInt16.self))
            if found == row { return span.load(exceptionWords + 8 * middle, as: UInt64.self) }
            if found < row { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Returns one row's value in constant time. Varying differences are the exception: they are summed from the first
    /// row.
    func value(_ span: RawSpan, at row: Int) -> Int64 {
        precondition(row >= 0 && row < rows)
        switch encoding {
        case .constant: return base
        case .offsets: return base &+ scale &* Int64(bitPattern: word(span, row))
        case .differences:
            if width == 0 && exceptions == 0 { return base &+ scale &* leastDifference &* Int64(row) }
            return base &+ scale &* sumOfSteps(span, from: 0, to: row)
        }
    }
}
