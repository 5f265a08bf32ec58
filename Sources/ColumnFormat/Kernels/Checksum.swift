/// The 64-bit hash that protects stored bytes: multiply and fold, in four lanes, over little-endian words.
///
/// It detects damage, not malice. It is part of the format: never change it.
public enum Checksum {
    private static let seeds: (UInt64, UInt64, UInt64, UInt64) = (
        0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3, 0x5899_65CC_7537_4CC3
    )

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }

    /// Returns the checksum of all bytes of `span`.
    public static func hash(_ span: RawSpan) -> UInt64 {
        // Safe: every load below stays within `count` bytes.
        unsafe span.withUnsafeBytes { unsafe hash($0) }
    }

    /// Returns the checksum of a part of an array.
    public static func hash(_ bytes: [UInt8], _ range: Range<Int>) -> UInt64 {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        // Safe: the range lies within the array.
        return unsafe bytes.withUnsafeBytes { unsafe hash(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        guard let base = bytes.baseAddress else { return fold(seeds.0, seeds.1) }
        let count = bytes.count
        var (a, b, c, d) = seeds
        var offset = 0
        // Four independent lanes keep the multiplier busy.
        while offset + 64 <= count {
            a = unsafe fold(a ^ word(base, offset), seeds.1 ^ word(base, offset + 8))
            b = unsafe fold(b ^ word(base, offset + 16), seeds.2 ^ word(base, offset + 24))
            c = unsafe fold(c ^ word(base, offset + 32), seeds.3 ^ word(base, offset + 40))
            d = unsafe fold(d ^ word(base, offset + 48), seeds.0 ^ word(base, offset + 56))
            offset += 64
        }
        while offset + 8 <= count {
            a = unsafe fold(a ^ word(base, offset), seeds.2)
            offset += 8
        }
        var rest: UInt64 = 0
        while offset < count {
            rest = unsafe rest << 8 | UInt64(base.load(fromByteOffset: offset, as: UInt8.self))
            offset += 1
        }
        a = fold(a ^ rest, seeds.3 ^ UInt64(truncatingIfNeeded: count))
        return fold(a ^ fold(b, seeds.0 ^ c), seeds.2 ^ d)
    }

    @inline(__always)
    private static func word(_ base: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Returns the 32-bit checksum of one block of a value.
    public static func block(_ span: RawSpan) -> UInt32 {
        let hash = hash(span)
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }
}
