/// Bytes under construction, little-endian except where the name says otherwise.
///
/// Inlinable, since keys are built with it at every lookup.
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

    /// Writes `word` over the bytes at `offset`.
    public mutating func overwrite<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ word: Word) {
        bytes.overwrite(offset, bytesOf: word.littleEndian)
    }
}
