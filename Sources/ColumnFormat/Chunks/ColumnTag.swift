/// The content of a chunk's column. Files contain the numbers: never change or reuse one. A decoder refuses an unknown
/// tag, so later releases can add tags and older releases do not misread them.
enum ColumnTag: UInt8 {
    // Hot: for range reads and statistics.
    case start = 1
    case duration = 2
    case value = 3
    case unit = 4
    case revision = 5
    case flags = 6
    // Cold: for identity, sync and whole samples.
    case id = 16
    case version = 17
    case clockTime = 18
    case clockReplica = 19
    case commit = 20
    case ordinal = 21
    case device = 22
    case metadata = 23
    case group = 24
    case syncIdentifier = 25
    case count = 26
    case multiplicity = 27
    case local = 28
    case timeZone = 29
    case payload = 30
    case original = 31
    case reversion = 32

    /// A set of tags, which are all below 64.
    struct Mask {
        private var bits: UInt64 = 0

        init() {}
        init(_ tags: ClosedRange<UInt64>...) { bits = tags.joined().reduce(0) { $0 | 1 << $1 } }

        @inline(__always)
        func contains(_ tag: UInt8) -> Bool { tag < 64 && bits >> UInt64(tag) & 1 == 1 }

        @inline(__always)
        func isSuperset(of other: Mask) -> Bool { other.bits & ~bits == 0 }

        /// Returns `false` for a tag that is already in the set, and for an impossible tag.
        @inline(__always)
        mutating func insert(_ tag: UInt8) -> Bool {
            guard tag < 64, !contains(tag) else { return false }
            bits |= 1 << UInt64(tag)
            return true
        }
    }

    static let hot = Mask(1...6)
    static let details = Mask(16...32)
    /// The hot tags that every chunk with rows has.
    static let required = Mask(1...5)
    /// Columns of strings.
    static let texts = Mask(23...25, 28...32)
}
