import HealthModel

/// A hint to the chunk that may hold the link of a peer's id: some bits of the id's hash, and some bits of the sample's
/// hash. Readers verify a hint in the chunk of links, which holds the full id.
public struct LinkHint: Hashable, Sendable, Comparable {
    /// 40 bits of the keyed hash of the peer's id, then the upper 24 bits of the sample's hash.
    public var packed: UInt64

    static let placeBits = 24

    public init(idAtPeer: UInt64, sample: UInt64) {
        packed = idAtPeer << UInt64(LinkHint.placeBits) | sample >> UInt64(HashColumn.bits - LinkHint.placeBits)
    }

    /// The number of bits that a block keeps: enough that a lookup among `links` rarely searches a wrong chunk.
    public struct Precision: Hashable, Sendable {
        public var hashBits: Int
        public var placeBits: Int

        public init(hashBits: Int, placeBits: Int) {
            self.hashBits = hashBits
            self.placeBits = placeBits
        }

        /// Chooses the number of bits for a number of links. About one in six lookups of an unknown id searches a chunk
        /// in vain, and one place covers about fifty links. One more bit of either costs one bit for each link.
        public init(links: Int) {
            let bits = Int.bitWidth - max(1, links).leadingZeroBitCount
            hashBits = min(HashColumn.bits, bits + 2)
            placeBits = max(1, min(LinkHint.placeBits, bits - 6))
        }

        /// Whether blocks can keep this many bits.
        public var isValid: Bool {
            (1...HashColumn.bits).contains(hashBits) && (1...LinkHint.placeBits).contains(placeBits)
        }
    }

    public static func < (left: LinkHint, right: LinkHint) -> Bool { left.packed < right.packed }

    /// Returns the bits that a block keeps: of the hash, and of the place.
    public func kept(_ precision: Precision) -> (hash: UInt64, place: UInt64) {
        let place = packed & (1 << UInt64(LinkHint.placeBits) - 1)
        return (
            packed >> UInt64(64 - precision.hashBits), place >> UInt64(LinkHint.placeBits - precision.placeBits)
        )
    }
}

/// A page of sorted hints.
///
/// ```
///  offset  size  field
///       0     2  number of hints, n
///       2     1  bits of a hash
///       3     1  bits of a place, p
///       4     4  zero
///       8     -  hashes (`HashColumn`)
///       -     -  places, packed: the upper bits of the samples' hashes
/// ```
public struct LinkHintBlock: ~Escapable {
    private let span: RawSpan
    private let hashes: HashColumn
    private let places: Int
    public let count: Int
    public let precision: LinkHint.Precision

    static let fixed = 8
    static let tag: UInt8 = 1
    static let blockShift = 12

    /// Reads a value that belongs to `key`.
    @_lifetime(copy span)
    public init(_ span: RawSpan, key: RawSpan, verified: VerifiedBlocks? = nil) throws(FormatError) {
        let value = try StoredValue(span, table: .links, verified: verified)
        try value.expect(key: key)
        try value.verify()
        guard let range = try value.column(LinkHintBlock.tag), range.count >= LinkHintBlock.fixed else {
            throw FormatError(.truncated, "block of hints")
        }
        self.span = value.span
        let start = range.lowerBound
        count = Int(span.load(start, as: UInt16.self))
        precision = LinkHint.Precision(
            hashBits: Int(span.load(start + 2, as: UInt8.self)), placeBits: Int(span.load(start + 3, as: UInt8.self)))
        guard count > 0, precision.isValid else { throw FormatError(.invalid, "block of hints") }
        hashes = try HashColumn(span, start + LinkHintBlock.fixed, count: count, limit: range.upperBound)
        places = hashes.end
        guard places + BitPacking.byteCount(words: count, width: precision.placeBits) <= range.upperBound else {
            throw FormatError(.truncated, "block of hints")
        }
    }

    /// The first hash in 40 bits, as in the key.
    public var firstHash: UInt64 { hashes.first << UInt64(HashColumn.bits - precision.hashBits) }

    private func place(_ index: Int) -> UInt64 {
        BitPacking.word(at: index, width: precision.placeBits, span, places)
    }

    /// Appends the kept bits of every hint, in order.
    public func appendAll(to hints: inout [(hash: UInt64, place: UInt64)]) throws(FormatError) {
        for (index, hash) in try hashes.all().enumerated() {
            guard hash >> UInt64(precision.hashBits) == 0 else { throw FormatError(.invalid, "block of hints") }
            hints.append((hash, place(index)))
        }
    }

    /// Appends the ranges of sample hashes to which the 40-bit hash of a peer's id points.
    public func find(_ hash: UInt64, into ranges: inout [ClosedRange<UInt64>]) throws(FormatError) {
        let kept = hash >> UInt64(HashColumn.bits - precision.hashBits)
        let shift = UInt64(HashColumn.bits - precision.placeBits)
        let found = try hashes.hashes(in: kept...kept)
        for offset in found.hashes.indices {
            let least = place(found.place + offset) << shift
            ranges.append(least...(least | (1 << shift - 1)))
        }
    }
}

/// Encodes sorted hints into blocks that each fill a page.
public struct LinkHintEncoder: Sendable {
    public let precision: LinkHint.Precision
    private var pages: PageFilling

    public init(pageSize: Int, precision: LinkHint.Precision) {
        self.precision = precision
        pages = PageFilling(budget: pageSize - 16, guess: 1_400)
    }

    /// Returns `true` if two hints have the same hash, so that no block separates them.
    public func areTogether(_ one: LinkHint, _ other: LinkHint) -> Bool {
        one.kept(precision).hash == other.kept(precision).hash
    }

    /// Writes one block from the front of `hints`, and returns the number of hints in it. Hints with the same hash stay
    /// together.
    ///
    /// - Parameter key: returns the block's key for its first hash.
    public mutating func block(
        _ hints: ArraySlice<LinkHint>, stamp: CommitStamp, key: (UInt64) -> [UInt8]
    ) -> (key: [UInt8], value: [UInt8], count: Int) {
        let precision = precision
        let ownKey = key(hints.first!.kept(precision).hash << UInt64(HashColumn.bits - precision.hashBits))
        let (value, count) = pages.fill(
            hints, areTogether: { $0.kept(precision).hash == $1.kept(precision).hash }
        ) { hints in
            LinkHintEncoder.value(hints.map { $0.kept(precision) }, precision, key: ownKey, stamp: stamp)
        }
        return (ownKey, value, count)
    }

    private static func value(
        _ hints: [(hash: UInt64, place: UInt64)], _ precision: LinkHint.Precision, key: [UInt8], stamp: CommitStamp
    ) -> [UInt8] {
        var builder = StoredValueBuilder(table: .links, key: key, reserving: 4_096)
        builder.rows = hints.count
        let places = hints.map(\.place)
        builder.column(LinkHintBlock.tag) { writer in
            writer.append(UInt16(hints.count))
            writer.append(UInt8(precision.hashBits))
            writer.append(UInt8(precision.placeBits))
            writer.append(0 as UInt32)
            HashColumn.write(hints.map(\.hash), into: &writer)
            BitPacking.pack(places.span, width: precision.placeBits, into: &writer.bytes)
        }
        return builder.finish(stamp: stamp, blockShift: LinkHintBlock.blockShift)
    }
}
