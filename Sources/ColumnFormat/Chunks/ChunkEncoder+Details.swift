import HealthModel

extension ChunkEncoder {
    /// Encodes the cold value of the same rows.
    public func encodeDetails(
        _ rows: ArraySlice<StoredRow>, key: ChunkKey, upper: Point, stamp: CommitStamp
    ) -> [UInt8] {
        var builder = StoredValueBuilder(
            table: .details, key: key.bytes, upper: upper.bytes, reserving: 17 * rows.count + 256)
        builder.rows = rows.count
        builder.column(ColumnTag.id.rawValue) { IDColumn.write(rows, into: &$0) }
        var scratch: [Int64] = []
        scratch.reserveCapacity(rows.count)
        @inline(__always)
        func add(
            _ tag: ColumnTag, _ hints: IntColumn.Hints, usually value: Int64, _ field: (borrowing StoredRow) -> Int64
        ) {
            let plan = ChunkEncoder.plan(rows.span, hints, &scratch, field)
            if plan.encoding == .constant && plan.base == value { return }
            builder.column(tag.rawValue) { IntColumn.write(plan, into: &$0) }
        }
        add(.version, [], usually: 1) { $0.version }
        add(.clockTime, [.differences], usually: 0) { $0.clockTime }
        add(.clockReplica, [], usually: 0) { Int64($0.clockReplica) }
        add(.commit, [], usually: 0) { Int64(bitPattern: $0.commit) }
        add(.ordinal, [.differences], usually: 0) { Int64($0.ordinal) }
        add(.device, [], usually: 0) { Int64($0.device) }
        add(.count, [], usually: 1) { Int64($0.count) }
        add(.multiplicity, [], usually: 0) { Int64($0.multiplicity) }
        if ChunkEncoder.count(rows.span, where: { $0.rare != nil }) > 0 { ChunkEncoder.addRare(rows, to: &builder) }
        return builder.finish(stamp: stamp, blockShift: ChunkEncoder.detailsBlockShift)
    }

    /// The limit for a chunk's texts (metadata, payloads and other rare fields), in bytes. Only a single sample with
    /// larger texts exceeds it. The limit bounds the bytes that an edit rewrites, however much data samples carry.
    public static let textBudget = 64 << 10

    /// Returns how many of the first rows may share a chunk under the text limit; equal texts are stored once.
    public static func rowsWithinTextBudget(_ rows: ArraySlice<StoredRow>) -> Int {
        var upperBound = 0
        for row in rows { if let rare = row.rare { upperBound += rare.byteCount } }
        if upperBound <= textBudget { return rows.count }
        var seen: Set<[UInt8]> = []
        var bytes = 0
        for (index, row) in rows.enumerated() {
            guard let rare = row.rare else { continue }
            for text in rare.texts where seen.insert(text).inserted { bytes += text.count }
            if bytes > textBudget { return max(1, index) }
        }
        return rows.count
    }

    @inline(__always)
    static func count(_ rows: Span<StoredRow>, where isCounted: (borrowing StoredRow) -> Bool) -> Int {
        var count = 0
        for index in 0..<rows.count where isCounted(rows[index]) { count += 1 }
        return count
    }

    private static func addRare(_ rows: ArraySlice<StoredRow>, to builder: inout StoredValueBuilder) {
        let rare = rows.map(\.rare)
        func add(_ tag: ColumnTag, _ field: (RareFields.Content) -> [UInt8]?) {
            let texts = rare.map { $0.flatMap { field($0.content) } }
            guard texts.contains(where: { $0 != nil }) else { return }
            builder.column(tag.rawValue) { TextColumn.write(texts, into: &$0) }
        }
        func add(_ tag: ColumnTag, text field: (RareFields.Content) -> String?) {
            guard rare.contains(where: { $0.flatMap { field($0.content) } != nil }) else { return }
            add(tag) { field($0).map { Array($0.utf8) } }
        }
        add(.metadata) { $0.metadata }
        add(.group, text: { $0.group })
        add(.syncIdentifier, text: { $0.syncIdentifier })
        add(.local) { $0.local }
        add(.timeZone, text: { $0.timeZone })
        add(.payload) { $0.payload }
        add(.original) { $0.original }
        add(.reversion) { $0.reversion }
    }
}

/// The column of ids: sixteen bytes each in the order of a UUID's text, or no bytes if all ids are derived from
/// content.
///
/// ```
///  offset  size  field
///       0     1  encoding: 0 all stored, 1 all derived, 2 mixed
///       1     7  zero
///       8   n/8  mixed only: a bit for each row, lowest first, set where the id is derived
///       -  16*s  the stored ids in the order of their rows
/// ```
struct IDColumn {
    enum Encoding: UInt8 { case stored = 0, derived = 1, mixed = 2 }

    let encoding: Encoding
    private let bits: Int
    private let stored: Int
    /// The end of the last stored id.
    private let end: Int
    let rows: Int

    init(_ span: RawSpan, _ range: Range<Int>, rows: Int) throws(FormatError) {
        guard range.count >= 8 else { throw FormatError(.truncated, "column of ids") }
        guard let encoding = Encoding(rawValue: span.load(range.lowerBound, as: UInt8.self)) else {
            throw FormatError(.unknown, "encoding of ids")
        }
        self.encoding = encoding
        self.rows = rows
        bits = range.lowerBound + 8
        stored = bits + (encoding == .mixed ? (rows + 7) / 8 : 0)
        guard stored <= range.upperBound else { throw FormatError(.truncated, "column of ids") }
        var count = encoding == .stored ? rows : 0
        if encoding == .mixed {
            for row in 0..<rows where span.load(bits + row / 8, as: UInt8.self) >> UInt8(row % 8) & 1 == 0 {
                count += 1
            }
        }
        end = stored + 16 * count
        guard end <= range.upperBound else { throw FormatError(.truncated, "column of ids") }
    }

    /// Returns the stored id of a row; `nil` if the id is derived.
    @inline(__always)
    func id(_ span: RawSpan, at row: Int) -> SampleID? {
        switch encoding {
        case .stored: return load(span, row)
        case .derived: return nil
        case .mixed:
            return isDerived(span, row) ? nil : load(span, row - derivedRows(span, before: row))
        }
    }

    /// Returns the range of bytes that holds the stored ids of some rows, so that their blocks can be verified.
    func storedRange(rows range: Range<Int>) -> Range<Int> {
        switch encoding {
        case .stored: stored + 16 * range.lowerBound..<stored + 16 * range.upperBound
        case .derived: bits - 8..<bits
        case .mixed: bits - 8..<end
        }
    }

    @inline(__always)
    private func load(_ span: RawSpan, _ index: Int) -> SampleID {
        SampleID(
            high: span.loadBigEndian(stored + 16 * index, as: UInt64.self),
            low: span.loadBigEndian(stored + 16 * index + 8, as: UInt64.self))
    }

    /// Counts the derived ids before `row`. The loads may read past the bits, but not past the slack of the value.
    private func derivedRows(_ span: RawSpan, before row: Int) -> Int {
        var count = 0
        for word in 0..<row / 64 { count += span.load(bits + 8 * word, as: UInt64.self).nonzeroBitCount }
        let rest = span.load(bits + row / 64 * 8, as: UInt64.self) & (1 << UInt64(row % 64) - 1)
        return count + rest.nonzeroBitCount
    }

    private func isDerived(_ span: RawSpan, _ row: Int) -> Bool {
        span.load(bits + row / 8, as: UInt8.self) >> UInt8(row % 8) & 1 == 1
    }

    static func write(_ rows: ArraySlice<StoredRow>, into writer: inout ByteWriter) {
        let span = rows.span
        let derived = ChunkEncoder.count(span) { $0.flags.contains(.derivedID) }
        let encoding: Encoding = derived == 0 ? .stored : derived == rows.count ? .derived : .mixed
        writer.append(UInt64(encoding.rawValue))
        if encoding == .stored {
            writer.bytes.appendBigEndian(pairs: span.count) { (span[$0].id.high, span[$0].id.low) }
        }
        guard encoding == .mixed else { return }
        var byte: UInt8 = 0
        for (position, row) in rows.enumerated() {
            if row.flags.contains(.derivedID) { byte |= 1 << UInt8(position % 8) }
            if position % 8 == 7 || position == rows.count - 1 {
                writer.append(byte)
                byte = 0
            }
        }
        for row in rows where !row.flags.contains(.derivedID) {
            writer.appendBigEndian(row.id.high)
            writer.appendBigEndian(row.id.low)
        }
    }
}
