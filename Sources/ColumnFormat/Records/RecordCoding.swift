import HealthModel

/// Writes the fields of a record, in order.
public struct RecordWriter: Sendable {
    var writer = ByteWriter(reserving: 64)

    public init() {}

    public mutating func append<Word: FixedWidthInteger & BitwiseCopyable>(_ word: Word) { writer.append(word) }

    public mutating func append(_ id: SampleID) {
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
    }

    public mutating func append(_ bytes: [UInt8]) {
        writer.append(UInt32(bytes.count))
        writer.bytes.append(contentsOf: bytes)
    }

    public mutating func append(_ text: String) { append(Array(text.utf8)) }

    public mutating func append(_ text: String?) {
        writer.append(text == nil ? 0 : 1 as UInt8)
        if let text { append(text) }
    }

    /// The fields alone, for records inside other records.
    public var bytes: [UInt8] { writer.bytes }

    /// Returns the whole value, with the header that every primary value has.
    public func value(table: TableCode, key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var builder = StoredValueBuilder(table: table, key: key, reserving: writer.count + 16)
        builder.column(RecordReader.tag) { $0.bytes.append(contentsOf: writer.bytes) }
        return builder.finish(stamp: stamp, blockShift: RecordReader.blockShift)
    }
}

/// Reads the fields of a record in the order of writing. Checks the bounds of each field before use.
public struct RecordReader: ~Escapable {
    private let span: RawSpan
    private var offset: Int
    private let end: Int

    static let tag: UInt8 = 1
    static let blockShift = 12

    /// Verifies the header, the key that the value must belong to, and the body.
    @_lifetime(copy span)
    public init(_ span: RawSpan, table: TableCode, key: [UInt8]) throws(FormatError) {
        let value = try StoredValue(span, table: table)
        try value.expect(key: key)
        try value.verify()
        guard let range = try value.column(RecordReader.tag) else { throw FormatError(.invalid, "directory") }
        self.span = span
        offset = range.lowerBound
        end = range.upperBound
    }

    /// Reads fields without a header.
    @_lifetime(copy span)
    public init(fields span: RawSpan) {
        self.span = span
        offset = 0
        end = span.byteCount
    }

    public var isAtEnd: Bool { offset >= end }

    private mutating func take(_ count: Int) throws(FormatError) -> Int {
        guard count >= 0, count <= end - offset else { throw FormatError(.truncated, "record") }
        defer { offset += count }
        return offset
    }

    public mutating func read<Word: FixedWidthInteger & BitwiseCopyable>(_ type: Word.Type) throws(FormatError) -> Word
    {
        let at = try take(Word.bitWidth / 8)
        return span.load(at, as: type)
    }

    public mutating func readID() throws(FormatError) -> SampleID {
        let at = try take(16)
        return SampleID(
            high: span.loadBigEndian(at, as: UInt64.self), low: span.loadBigEndian(at + 8, as: UInt64.self))
    }

    public mutating func readBytes() throws(FormatError) -> [UInt8] {
        let count = Int(try read(UInt32.self))
        let at = try take(count)
        return span.extracting(at..<at + count).copied()
    }

    /// Reads a number of bytes without a copy.
    @_lifetime(copy self)
    public mutating func readSpan(_ count: Int) throws(FormatError) -> RawSpan {
        let at = try take(count)
        return span.extracting(at..<at + count)
    }

    public mutating func readText() throws(FormatError) -> String { String(decoding: try readBytes(), as: UTF8.self) }

    public mutating func readOptionalText() throws(FormatError) -> String? {
        try read(UInt8.self) == 0 ? nil : try readText()
    }
}
