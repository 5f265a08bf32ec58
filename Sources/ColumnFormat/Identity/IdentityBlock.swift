import HealthModel

/// A page of sorted identity entries: hashes in Elias-Fano coding, places and kinds in fixed-width bits.
///
/// An entry takes about five bytes, and is found without decoding the others.
///
/// ```
///  offset  size  field
///       0     2  number of entries
///       2     1  number of kinds
///       3     1  bits of a kind's number
///       4     1  low bits of a hash
///       5     1  bits of a place in time
///       6     2  words of the upper bits
///       8     8  the first hash
///      16     4  the least place in time
///      20     4  zero
///      24   8*k  kinds
///       -   8*w  upper bits: entry i sets bit (upper part of its hash) + i
///       -     -  low bits, packed; eight zero bytes
///       -     -  places, packed; eight zero bytes
///       -     -  numbers of kinds, packed
/// ```
public struct IdentityBlock: ~Escapable {
    private let span: RawSpan
    public let count: Int
    private let kinds: Int
    private let kindWidth: Int
    private let lowWidth: Int
    private let placeWidth: Int
    private let words: Int
    private let firstHash: UInt64
    private let leastPlace: UInt64
    private let start: Int
    private let upper: Int
    private let low: Int
    private let places: Int
    private let kindNumbers: Int

    static let fixed = 24
    static let tag: UInt8 = 1
    static let blockShift = 12

    @_lifetime(copy value)
    public init(_ value: StoredValue) throws(FormatError) {
        try value.verify()
        guard let range = try value.column(IdentityBlock.tag), range.count >= IdentityBlock.fixed else {
            throw FormatError(.truncated, "identity block")
        }
        span = value.span
        start = range.lowerBound
        count = Int(span.load(start, as: UInt16.self))
        kinds = Int(span.load(start + 2, as: UInt8.self))
        kindWidth = Int(span.load(start + 3, as: UInt8.self))
        lowWidth = Int(span.load(start + 4, as: UInt8.self))
        placeWidth = Int(span.load(start + 5, as: UInt8.self))
        words = Int(span.load(start + 6, as: UInt16.self))
        firstHash = span.load(start + 8, as: UInt64.self)
        leastPlace = UInt64(span.load(start + 16, as: UInt32.self))
        guard lowWidth <= 40, placeWidth <= 24, kindWidth <= 8, kinds > 0, count > 0, words > 0 else {
            throw FormatError(.invalid, "identity block")
        }
        upper = start + IdentityBlock.fixed + 8 * kinds
        low = upper + 8 * words
        places = low + BitPacking.byteCount(words: count, width: lowWidth) + BitPacking.slack
        kindNumbers = places + BitPacking.byteCount(words: count, width: placeWidth) + BitPacking.slack
        guard kindNumbers + BitPacking.byteCount(words: count, width: kindWidth) <= range.upperBound else {
            throw FormatError(.truncated, "identity block")
        }
    }

    private func kind(_ index: Int) throws(FormatError) -> IdentityEntry.Kind {
        let number = Int(BitPacking.word(at: index, width: kindWidth, span, kindNumbers))
        guard number < kinds else { throw FormatError(.invalid, "identity kind") }
        return IdentityEntry.Kind(packed: span.load(start + IdentityBlock.fixed + 8 * number, as: UInt64.self))
    }

    private func entry(_ index: Int, hash: UInt64) throws(FormatError) -> IdentityEntry {
        let place = leastPlace &+ BitPacking.word(at: index, width: placeWidth, span, places)
        return IdentityEntry(key: hash << IdentityEntry.quantumBits | place & 0xFF_FFFF, kind: try kind(index))
    }

    /// Appends all entries in order.
    public func appendAll(to entries: inout [IdentityEntry]) throws(FormatError) {
        var index = 0
        for word in 0..<words {
            var bits = span.load(upper + 8 * word, as: UInt64.self)
            while bits != 0 {
                guard index < count else { throw FormatError(.invalid, "identity block") }
                let position = word * 64 + bits.trailingZeroBitCount
                bits &= bits - 1
                let entry = try entry(index, hash: hash(position, index))
                guard entries.last.map({ $0 <= entry }) ?? true else { throw FormatError(.invalid, "identity block") }
                entries.append(entry)
                index += 1
            }
        }
        guard index == count, (entries.last?.hash ?? 0) < 1 << 40 else { throw FormatError(.invalid, "identity block") }
    }

    @inline(__always)
    private func hash(_ position: Int, _ index: Int) -> UInt64 {
        firstHash
            &+ (UInt64(truncatingIfNeeded: position - index) << UInt64(lowWidth)
                | BitPacking.word(at: index, width: lowWidth, span, low))
    }

    /// Appends the entries with one 40-bit hash.
    public func find(_ hash: UInt64, into entries: inout [IdentityEntry]) throws(FormatError) {
        guard hash >= firstHash else { return }
        let target = hash - firstHash
        let bucket = Int(truncatingIfNeeded: target >> UInt64(lowWidth))
        let lowBits = target & ((1 << UInt64(lowWidth)) - 1)
        guard bucket < words * 64, var position = zeroBit(bucket) else { return }
        while position < words * 64, isSet(position) {
            let index = position - bucket
            guard index < count else { throw FormatError(.invalid, "identity block") }
            let found = BitPacking.word(at: index, width: lowWidth, span, low)
            if found == lowBits { entries.append(try entry(index, hash: hash)) }
            position += 1
        }
    }

    private func isSet(_ position: Int) -> Bool {
        span.load(upper + (position >> 6) * 8, as: UInt64.self) >> UInt64(position & 63) & 1 == 1
    }

    /// Returns the position of a bucket's first entry: directly after as many zero bits as there are earlier buckets.
    private func zeroBit(_ bucket: Int) -> Int? {
        var probe = Probe()
        return zeroBit(bucket, &probe)
    }

    /// The progress of lookups of ascending hashes: words passed, and zero bits in them.
    public struct Probe {
        fileprivate var word = 0
        fileprivate var zeros = 0

        public init() {}
    }

    private func zeroBit(_ bucket: Int, _ probe: inout Probe) -> Int? {
        if bucket == 0 { return 0 }
        while probe.word < words {
            let bits = ~span.load(upper + 8 * probe.word, as: UInt64.self)
            let here = bits.nonzeroBitCount
            if probe.zeros + here >= bucket {
                return probe.word * 64 + BitPacking.position(ofSetBit: bucket - probe.zeros - 1, in: bits) + 1
            }
            probe.zeros += here
            probe.word += 1
        }
        return nil
    }
}

extension IdentityBlock {
    /// The 40-bit hash of the last entry.
    public var lastHash: UInt64 {
        var word = words - 1
        while word > 0, span.load(upper + 8 * word, as: UInt64.self) == 0 { word -= 1 }
        let bits = span.load(upper + 8 * word, as: UInt64.self)
        return hash(word * 64 + 63 - min(63, bits.leadingZeroBitCount), count - 1)
    }

    /// Returns `true` if an entry has a 40-bit hash. Lookups with the same probe must use ascending hashes.
    public func contains(_ hash: UInt64, _ probe: inout Probe) throws(FormatError) -> Bool {
        guard hash >= firstHash else { return false }
        let target = hash - firstHash
        let bucket = Int(truncatingIfNeeded: target >> UInt64(lowWidth))
        let lowBits = target & ((1 << UInt64(lowWidth)) - 1)
        guard bucket < words * 64, var position = zeroBit(bucket, &probe) else { return false }
        while position < words * 64, isSet(position) {
            guard position - bucket < count else { throw FormatError(.invalid, "identity block") }
            if BitPacking.word(at: position - bucket, width: lowWidth, span, low) == lowBits { return true }
            position += 1
        }
        return false
    }
}
