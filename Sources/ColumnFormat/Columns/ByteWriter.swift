/// A buffer for bytes under construction, little-endian unless a name says otherwise.
///
/// Inlinable, because every lookup builds keys with it.
public struct ByteWriter: Sendable {
    public var bytes: [UInt8] = []

    @inlinable
    public init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    public var count: Int { bytes.count }

    @inlinable
    public mutating func append<Word: FixedWidthInteger & BitwiseCopyable>(_ word: Word) {
        bytes.append(bytesOf: word.littleEndian)
    }

    @inlinable
    public mutating func appendBigEndian<Word: FixedWidthInteger & BitwiseCopyable>(_ word: Word) {
        bytes.append(bytesOf: word.bigEndian)
    }

    /// Appends the bytes of a span.
    public mutating func append(raw span: RawSpan) { bytes.append(contentsOf: span) }

    /// Overwrites the bytes at `offset` with `word`.
    public mutating func overwrite<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ word: Word) {
        bytes.overwrite(offset, bytesOf: word.littleEndian)
    }
}
