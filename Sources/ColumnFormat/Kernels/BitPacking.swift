/// Packs unsigned words of a common width into bits, lowest bit first, and unpacks them.
///
/// A width is 0 to 57, or 64. With these widths, one unaligned 64-bit load, a shift and a mask read any word. A load
/// may read up to seven bytes past the last word, so at least eight readable bytes follow every packed range.
enum BitPacking {
    /// The widest packed word; wider words take 64 bits.
    static let widest = 57

    /// The number of readable bytes that must follow a packed range.
    static let slack = 8

    static func isValid(width: Int) -> Bool { width >= 0 && (width <= widest || width == 64) }

    /// Returns the width for `word`.
    @inline(__always)
    static func width(of word: UInt64) -> Int {
        let bits = 64 - word.leadingZeroBitCount
        return bits > widest ? 64 : bits
    }

    static func byteCount(words: Int, width: Int) -> Int { (words * width + 7) / 8 }

    @inline(__always)
    private static func mask(_ width: Int) -> UInt64 { width == 64 ? .max : (1 << UInt64(width)) - 1 }

    /// Appends `words`, each truncated to `width` bits.
    static func pack(_ words: Span<UInt64>, width: Int, into bytes: inout [UInt8]) {
        precondition(isValid(width: width))
        guard width > 0 else { return }
        let start = bytes.count
        let count = byteCount(words: words.count, width: width)
        bytes.append(zeros: count + slack)
        let mask = mask(width)
        // Safe: the last store begins before start + count and ends within the eight bytes of slack appended above.
        unsafe bytes.withUnsafeMutableBytes { buffer in
            let base = unsafe buffer.baseAddress! + start
            if width == 64 {
                for index in 0..<words.count {
                    unsafe base.storeBytes(of: words[index].littleEndian, toByteOffset: index * 8, as: UInt64.self)
                }
                return
            }
            // Collect 64 bits in a register before each store: loading a just-stored word from another address would
            // stall.
            var (held, bits, offset) = (UInt64(0), 0, 0)
            for index in 0..<words.count {
                let word = words[index] & mask
                held |= word << UInt64(bits)
                bits &+= width
                if bits >= 64 {
                    unsafe base.storeBytes(of: held.littleEndian, toByteOffset: offset, as: UInt64.self)
                    offset &+= 8
                    bits &-= 64
                    held = word >> UInt64(width &- bits)
                }
            }
            if bits > 0 { unsafe base.storeBytes(of: held.littleEndian, toByteOffset: offset, as: UInt64.self) }
        }
        bytes.removeLast(slack)
    }

    /// Returns the word at `index` of the packed range that begins at `offset`.
    @inline(__always)
    static func word(at index: Int, width: Int, _ span: RawSpan, _ offset: Int) -> UInt64 {
        guard width > 0 else { return 0 }
        if width == 64 { return span.load(offset + index * 8, as: UInt64.self) }
        let bit = index &* width
        return span.load(offset + bit >> 3, as: UInt64.self) >> UInt64(bit & 7) & mask(width)
    }

    /// Returns the position of the set bit with the zero-based number `index` in `word`, which must have more than
    /// `index` set bits.
    @inline(__always)
    static func position(ofSetBit index: Int, in word: UInt64) -> Int {
        // For each byte, the number of set bits in it and in all lower bytes. A loop over bits would have an
        // unpredictable length.
        var sums = word &- (word >> 1 & 0x5555_5555_5555_5555)
        sums = (sums & 0x3333_3333_3333_3333) &+ (sums >> 2 & 0x3333_3333_3333_3333)
        sums = ((sums &+ (sums >> 4)) & 0x0F0F_0F0F_0F0F_0F0F) &* 0x0101_0101_0101_0101
        // The high bit of a byte stays set if its sum is not above the index. The number of such bytes is the number of
        // bytes before the bit.
        let isBefore =
            ((UInt64(index) &* 0x0101_0101_0101_0101 | 0x8080_8080_8080_8080) &- sums) & 0x8080_8080_8080_8080
        let byte = ((isBefore >> 7) &* 0x0101_0101_0101_0101) >> 56 &* 8
        var left = UInt64(index) &- ((sums << 8) >> byte & 0xFF)
        var rest = word >> byte
        while left > 0 {
            rest &= rest &- 1
            left &-= 1
        }
        return Int(truncatingIfNeeded: byte) + rest.trailingZeroBitCount
    }

    /// Calls `body` with each word of `range` in order. Checks the bounds once for all words.
    @inline(__always)
    static func forEach(
        _ span: RawSpan, offset: Int, width: Int, _ range: Range<Int>, _ body: (Int, UInt64) -> Void
    ) {
        guard width > 0 else {
            for index in range { body(index, 0) }
            return
        }
        check(span, offset: offset, width: width, range)
        // Safe: the check above covers every load, including the slack.
        unsafe span.withUnsafeBytes { buffer in
            let base = unsafe buffer.baseAddress! + offset
            if width == 64 {
                for index in range {
                    let word = unsafe base.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
                    body(index, UInt64(littleEndian: word))
                }
                return
            }
            let mask = mask(width)
            var bit = range.lowerBound * width
            for index in range {
                body(index, unsafe load(base, bit) & mask)
                bit &+= width
            }
        }
    }

    /// Returns the sum of the words of `range`, truncated to 64 bits. A load shifted by up to seven bits holds 57 bits:
    /// one load serves two or four words if they fit.
    static func sum(_ span: RawSpan, offset: Int, width: Int, _ range: Range<Int>) -> UInt64 {
        guard width > 0 else { return 0 }
        check(span, offset: offset, width: width, range)
        // Safe: the check covers every load, including the slack.
        return unsafe span.withUnsafeBytes { buffer in
            let base = unsafe buffer.baseAddress! + offset
            let (mask, step) = (mask(width), UInt64(truncatingIfNeeded: width))
            var (sum, left, bit) = (UInt64(0), range.count, range.lowerBound * width)
            if width == 64 {
                for index in range {
                    let word = unsafe base.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
                    sum &+= UInt64(littleEndian: word)
                }
                return sum
            }
            if width <= widest / 4 {
                while left >= 4 {
                    let words = unsafe load(base, bit)
                    sum &+= (words & mask) &+ (words &>> step & mask)
                    sum &+= (words &>> (2 &* step) & mask) &+ (words &>> (3 &* step) & mask)
                    left &-= 4
                    bit &+= 4 &* width
                }
            } else if width <= widest / 2 {
                while left >= 2 {
                    let words = unsafe load(base, bit)
                    sum &+= (words & mask) &+ (words &>> step & mask)
                    left &-= 2
                    bit &+= 2 &* width
                }
            }
            while left > 0 {
                sum &+= unsafe load(base, bit) & mask
                left &-= 1
                bit &+= width
            }
            return sum
        }
    }

    /// Returns at least 57 bits from a bit position.
    @inline(__always)
    private static func load(_ base: UnsafeRawPointer, _ bit: Int) -> UInt64 {
        UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: bit >> 3, as: UInt64.self))
            >> UInt64(truncatingIfNeeded: bit & 7)
    }

    @inline(__always)
    private static func check(_ span: RawSpan, offset: Int, width: Int, _ range: Range<Int>) {
        precondition(isValid(width: width) && range.lowerBound >= 0 && offset >= 0)
        precondition(offset + byteCount(words: range.upperBound, width: width) + slack <= span.byteCount)
    }
}
