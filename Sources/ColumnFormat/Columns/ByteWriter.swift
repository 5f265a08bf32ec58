/// Bytes under construction, little-endian except where the name says otherwise.
public struct ByteWriter: Sendable {
    public var bytes: [UInt8] = []

    public init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    public var count: Int { bytes.count }

    public mutating func append<Word: FixedWidthInteger>(_ word: Word) {
        for shift in stride(from: 0, to: Word.bitWidth, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> Word(shift))) }
    }

    public mutating func appendBigEndian<Word: FixedWidthInteger>(_ word: Word) {
        for shift in stride(from: Word.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: word >> Word(shift)))
        }
    }

    /// Writes `word` over the bytes at `offset`.
    public mutating func overwrite<Word: FixedWidthInteger>(_ offset: Int, _ word: Word) {
        for index in 0..<Word.bitWidth / 8 {
            bytes[offset + index] = UInt8(truncatingIfNeeded: word >> Word(8 * index))
        }
    }
}
