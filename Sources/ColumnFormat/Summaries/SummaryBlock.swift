/// The resolution of summaries: cells that tile a block of sixteen days. Files contain the raw values as the upper bits
/// of tags.
public enum SummaryLevel: UInt8, Sendable, CaseIterable {
    case hours = 0
    /// Quarters of an hour, for blocks with many samples.
    case quarters = 16

    public static let daysPerBlock = 16

    /// The number of cells in a block.
    public var cells: Int { self == .hours ? 24 * SummaryLevel.daysPerBlock : 96 * SummaryLevel.daysPerBlock }

    var bitmapTag: UInt8 { rawValue + 1 }
    var bitmapWords: Int { (cells + 63) / 64 }
}

/// The fields of a cell. Files contain the raw values as the lower bits of tags: never change or reuse one.
public enum SummaryColumn: UInt8, Sendable, CaseIterable {
    case count = 2
    case sum = 3
    case duration = 4
    case first = 5
    case last = 6
    case plain = 7
    case minimum = 8
    case maximum = 9
    case firstValue = 10
    case lastValue = 11

    func tag(_ level: SummaryLevel) -> UInt8 { level.rawValue + rawValue }
}

/// The summary of one block with a verified header: for each level, a bitmap of the nonempty cells and columns over
/// these cells.
public struct SummaryBlock: ~Escapable {
    private let value: StoredValue

    @_lifetime(copy span)
    public init(_ span: RawSpan, key: RawSpan, verified: VerifiedBlocks? = nil) throws(FormatError) {
        value = try StoredValue(span, table: .summaries, verified: verified)
        guard value.key.byteCount == key.byteCount else { throw FormatError(.misplaced, "key") }
        for index in 0..<key.byteCount where value.key.load(index, as: UInt8.self) != key.load(index, as: UInt8.self) {
            throw FormatError(.misplaced, "key")
        }
        for index in 0..<value.columns {
            let tag = value.tag(index)
            guard tag == 1 || tag == 17 || SummaryColumn(rawValue: tag & 15) != nil && tag < 32 else {
                throw FormatError(.unknown, "column")
            }
        }
    }

    /// Returns the cells of a level, with verified columns; `nil` if the block does not have the level.
    ///
    /// - Parameter allColumns: if `false`, the columns after ``SummaryColumn/last`` are not verified, and must not be
    ///   read.
    @_lifetime(copy self)
    public func cells(_ level: SummaryLevel, allColumns: Bool = true) throws(FormatError) -> SummaryCells? {
        guard let bitmap = try value.column(level.bitmapTag) else { return nil }
        var end = bitmap.upperBound
        for column in SummaryColumn.allCases where allColumns || column.rawValue <= SummaryColumn.last.rawValue {
            if let range = try value.column(column.tag(level)) { end = max(end, range.upperBound) }
        }
        try value.verify(bitmap.lowerBound..<end)
        guard bitmap.count == 8 * level.bitmapWords else { throw FormatError(.truncated, "bitmap") }
        return SummaryCells(value, level, bitmap.lowerBound)
    }
}

/// The cells of one level of a block. The rows are the nonempty cells in the order of time.
public struct SummaryCells: ~Escapable {
    private let value: StoredValue
    private let level: SummaryLevel
    private let words: [UInt64]
    /// The number of rows before each word of the bitmap.
    private let ranks: [Int]
    public let rows: Int

    @_lifetime(copy value)
    init(_ value: StoredValue, _ level: SummaryLevel, _ offset: Int) {
        var words: [UInt64] = []
        var ranks: [Int] = []
        var rows = 0
        words.reserveCapacity(level.bitmapWords)
        ranks.reserveCapacity(level.bitmapWords)
        for index in 0..<level.bitmapWords {
            let word = value.span.load(offset + 8 * index, as: UInt64.self)
            words.append(word)
            ranks.append(rows)
            rows += word.nonzeroBitCount
        }
        self.value = value
        self.level = level
        self.words = words
        self.ranks = ranks
        self.rows = rows
    }

    /// Returns the number of rows before a cell; cells are counted from the beginning of the block.
    public func row(_ cell: Int) -> Int {
        guard cell < level.cells else { return rows }
        if rows == level.cells { return cell }
        return ranks[cell >> 6] + (words[cell >> 6] & ((1 << UInt64(cell & 63)) - 1)).nonzeroBitCount
    }

    /// Returns the cell of a row.
    public func cell(_ row: Int) -> Int {
        if rows == level.cells { return row }
        var word = ranks.count - 1
        while word > 0, ranks[word] > row { word -= 1 }
        return word * 64 + BitPacking.position(ofSetBit: row - ranks[word], in: words[word])
    }

    private func integers(_ column: SummaryColumn) throws(FormatError) -> IntColumn {
        guard let range = try value.column(column.tag(level)) else { throw FormatError(.invalid, "directory") }
        return try IntColumn(value.span, range, rows: rows)
    }

    private func values(_ column: SummaryColumn) throws(FormatError) -> ValueColumn {
        guard let range = try value.column(column.tag(level)) else { throw FormatError(.invalid, "directory") }
        return try ValueColumn(value.span, range, rows: rows)
    }

    public func has(_ column: SummaryColumn) throws(FormatError) -> Bool {
        try value.column(column.tag(level)) != nil
    }

    public func decode(_ column: SummaryColumn, into output: inout OutputColumn<Int64>) throws(FormatError) {
        if rows > 0 { try integers(column).decode(value.span, into: &output) }
    }

    public func decode(_ column: SummaryColumn, into output: inout OutputColumn<Double>) throws(FormatError) {
        if rows > 0 { try values(column).decode(value.span, into: &output) }
    }

    /// Opens a column of integers for reading row by row.
    public func integers(of column: SummaryColumn) throws(FormatError) -> SummaryIntegers {
        SummaryIntegers(column: rows > 0 ? try integers(column) : nil)
    }

    public func values(of column: SummaryColumn) throws(FormatError) -> SummaryValues {
        SummaryValues(column: rows > 0 ? try values(column) : nil)
    }

    /// Returns one row of a column. The row must exist in the block.
    @inline(__always)
    public func value(_ integers: SummaryIntegers, at row: Int) -> Int64 { integers.column!.value(value.span, at: row) }

    /// Returns the first start of one row and the last start of another, relative to the beginning of the block, given
    /// the length of a cell.
    public func starts(
        _ firsts: SummaryIntegers, at first: Int, _ lasts: SummaryIntegers, at last: Int, length: Int64
    ) -> (first: Int64, last: Int64) {
        (
            Int64(cell(first)) * length &+ firsts.column!.value(value.span, at: first),
            Int64(cell(last)) * length &+ lasts.column!.value(value.span, at: last)
        )
    }

    public func value(_ values: SummaryValues, at row: Int) -> Double {
        precondition(row >= 0 && row < rows)
        return values.column!.value(value.span, at: row)
    }
}

/// An opened column of integers.
public struct SummaryIntegers: Sendable {
    let column: IntColumn?
}

/// An opened column of values.
public struct SummaryValues: Sendable {
    let column: ValueColumn?
}

/// Builds the value of a block.
public struct SummaryEncoder {
    private var builder: StoredValueBuilder

    public init(key: [UInt8]) { builder = StoredValueBuilder(table: .summaries, key: key, reserving: 16_384) }

    /// Adds a level: the nonempty cells, ascending, and the fields of each.
    public mutating func add(
        _ level: SummaryLevel, cells: [Int], integers: [(SummaryColumn, [Int64])], values: [(SummaryColumn, [Double])]
    ) {
        precondition(!cells.isEmpty && cells.last! < level.cells)
        var words = [UInt64](repeating: 0, count: level.bitmapWords)
        for cell in cells { words[cell >> 6] |= 1 << UInt64(cell & 63) }
        builder.column(level.bitmapTag) { writer in for word in words { writer.append(word) } }
        for (column, integers) in integers {
            precondition(integers.count == cells.count)
            builder.column(column.tag(level)) { IntColumn.write(IntColumn.plan(integers.span, .scaled), into: &$0) }
        }
        for (column, values) in values {
            precondition(values.count == cells.count)
            builder.column(column.tag(level)) { ValueColumn.write(ValueColumn.plan(values.span), into: &$0) }
        }
        if level == .hours { builder.rows = cells.count } else { builder.marked = cells.count }
    }

    public consuming func finish(stamp: CommitStamp) -> [UInt8] { builder.finish(stamp: stamp, blockShift: 12) }
}
