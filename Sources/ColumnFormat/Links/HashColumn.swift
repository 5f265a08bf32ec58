/// Ascending hashes in Elias-Fano coding: a reader finds the hashes of a range without decoding those before it.
///
/// ```
///  offset  size  field
///       0     8  the first hash
///       8     1  low bits of a hash, l
///       9     1  zero
///      10     2  words of the upper bits, w
///      12     4  zero
///      16   8*w  upper bits: hash i sets bit ((hash - first) >> l) + i
///       -     -  low bits of hash - first, packed
/// ```
struct HashColumn: ~Escapable {
    private let span: RawSpan
    private let count: Int
    private let lowWidth: Int
    private let words: Int
    private let upper: Int
    private let low: Int
    let first: UInt64
    /// The end of the column.
    let end: Int

    static let fixed = 16
    /// Hashes have at most as many bits as in the identity index.
    static let bits = 40

    /// Reads the column of `count` hashes that begins at `offset`, and checks that it ends no later than `limit`.
    @_lifetime(copy span)
    init(_ span: RawSpan, _ offset: Int, count: Int, limit: Int) throws(FormatError) {
        guard offset + HashColumn.fixed <= limit else { throw FormatError(.truncated, "column of hashes") }
        self.span = span
        self.count = count
        first = span.load(offset, as: UInt64.self)
        lowWidth = Int(span.load(offset + 8, as: UInt8.self))
        words = Int(span.load(offset + 10, as: UInt16.self))
        guard lowWidth <= HashColumn.bits, words > 0 else { throw FormatError(.invalid, "column of hashes") }
        upper = offset + HashColumn.fixed
        low = upper + 8 * words
        end = low + BitPacking.byteCount(words: count, width: lowWidth)
        guard end <= limit else { throw FormatError(.truncated, "column of hashes") }
    }

    /// The hashes of a range, consecutive and in order, and the index of the first.
    struct Found {
        var place = 0
        var hashes: [UInt64] = []
    }

    /// Returns the hashes in a range.
    func hashes(in range: ClosedRange<UInt64>) throws(FormatError) -> Found {
        let least = range.lowerBound
        let bucket = least <= first ? 0 : Int(truncatingIfNeeded: (least - first) >> UInt64(lowWidth))
        var found = Found()
        let start = position(behindZeros: bucket)
        // The number of set bits before that position is the number of hashes before it.
        var index = start - bucket
        var last = first
        for word in start >> 6..<max(start >> 6, words) {
            var bits = span.load(upper + 8 * word, as: UInt64.self)
            if word == start >> 6 { bits &= .max << UInt64(start & 63) }
            while bits != 0 {
                guard index < count else { throw FormatError(.invalid, "column of hashes") }
                let distance = UInt64(truncatingIfNeeded: word * 64 + bits.trailingZeroBitCount - index)
                bits &= bits - 1
                let rest = BitPacking.word(at: index, width: lowWidth, span, low)
                let hash = first &+ (distance << UInt64(lowWidth) | rest)
                guard hash >= last, hash >> UInt64(HashColumn.bits) == 0 else {
                    throw FormatError(.invalid, "column of hashes")
                }
                if hash > range.upperBound { return found }
                last = hash
                if hash >= least {
                    if found.hashes.isEmpty { found.place = index }
                    found.hashes.append(hash)
                }
                index += 1
            }
        }
        return found
    }

    /// Returns all hashes in order.
    func all() throws(FormatError) -> [UInt64] {
        let hashes = try hashes(in: 0 ... .max).hashes
        guard hashes.count == count, hashes.first == first else { throw FormatError(.invalid, "column of hashes") }
        return hashes
    }

    /// Returns the first position after `zeros` zero bits, or the position after all bits if there are fewer zero bits.
    private func position(behindZeros zeros: Int) -> Int {
        guard zeros != 0 else { return 0 }
        guard zeros > 0 else { return words * 64 }
        var left = zeros
        for word in 0..<words {
            let bits = ~span.load(upper + 8 * word, as: UInt64.self)
            let here = bits.nonzeroBitCount
            if here >= left { return word * 64 + BitPacking.position(ofSetBit: left - 1, in: bits) + 1 }
            left -= here
        }
        return words * 64
    }

    /// Appends a column of sorted hashes.
    static func write(_ hashes: [UInt64], into writer: inout ByteWriter) {
        let (first, last) = (hashes.first!, hashes.last!)
        let lowWidth = lowWidth(of: hashes)
        var upper = [UInt64](repeating: 0, count: (hashes.count + Int((last - first) >> UInt64(lowWidth)) + 64) / 64)
        for (index, hash) in hashes.enumerated() {
            let bit = Int((hash - first) >> UInt64(lowWidth)) + index
            upper[bit >> 6] |= 1 << UInt64(bit & 63)
        }
        writer.append(first)
        writer.append(UInt8(lowWidth))
        writer.append(0 as UInt8)
        writer.append(UInt16(upper.count))
        writer.append(0 as UInt32)
        for word in upper { writer.append(word) }
        let distances = hashes.map { $0 - first }
        BitPacking.pack(distances.span, width: lowWidth, into: &writer.bytes)
    }

    private static func lowWidth(of hashes: [UInt64]) -> Int {
        let ratio = (hashes.last! - hashes.first! + 1) / UInt64(hashes.count)
        return ratio > 1 ? 63 - ratio.leadingZeroBitCount : 0
    }
}
