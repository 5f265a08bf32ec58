import ColumnFormat
import HealthModel

/// Sums over entries of the identity index, by bucket of their hashes. Equal collections of entries have equal sums in
/// any order, so they can be compared without being kept in memory.
struct IdentitySums {
    private static let bucketBits: UInt64 = 12
    private static let hashesPerBucket = IdentityPartition.hashLimit >> bucketBits
    /// The most entries that are compared one by one in one pass.
    private static let groupEntries = 2_000_000

    private let key: KeyedHash
    private var sums = [UInt64](repeating: 0, count: 1 << bucketBits)
    private var counts = [Int](repeating: 0, count: 1 << bucketBits)

    init(_ key: KeyedHash) { self.key = key }

    static func bucket(of entry: IdentityEntry) -> Int { Int(entry.hash / hashesPerBucket) }

    /// Returns the ranges of hashes of some buckets. Adjacent buckets form one range.
    static func hashes(of buckets: Set<Int>) -> [Range<UInt64>] {
        var ranges: [Range<UInt64>] = []
        for bucket in buckets.sorted() {
            let lower = UInt64(bucket) * hashesPerBucket
            let start = ranges.last?.upperBound == lower ? ranges.removeLast().lowerBound : lower
            ranges.append(start..<lower + hashesPerBucket)
        }
        return ranges
    }

    mutating func add(_ entry: IdentityEntry) {
        let bucket = IdentitySums.bucket(of: entry)
        sums[bucket] &+= key.hash(entry.key, entry.kind.packed, 31)
        counts[bucket] += 1
    }

    /// Returns the buckets whose entries differ, in groups that fit in memory.
    func groups(differingFrom other: IdentitySums) -> [Set<Int>] {
        var groups: [Set<Int>] = []
        var room = 0
        for bucket in sums.indices
        where sums[bucket] != other.sums[bucket] || counts[bucket] != other.counts[bucket] {
            let size = max(counts[bucket], other.counts[bucket])
            if groups.isEmpty || size > room {
                groups.append([])
                room = IdentitySums.groupEntries
            }
            groups[groups.count - 1].insert(bucket)
            room -= size
        }
        return groups
    }
}

/// Separates hashes that occurred once from those that may have occurred twice, with two bits for each value of the
/// hashes' lower bits.
struct RepeatFilter {
    private var seen: [UInt64]
    private var twice: [UInt64]
    private let mask: UInt64
    private(set) var hasRepeats = false

    /// Creates a filter for about `count` hashes. About one in thirty shares its bit with another hash.
    init(count: Int) {
        var bits = 1 << 10
        while bits / 16 < count, bits < 1 << 29 { bits *= 2 }
        mask = UInt64(bits - 1)
        seen = [UInt64](repeating: 0, count: bits / 64)
        twice = seen
    }

    mutating func add(_ hash: UInt64) {
        let place = hash & mask
        let (word, bit) = (Int(place / 64), UInt64(1) << (place % 64))
        if seen[word] & bit == 0 {
            seen[word] |= bit
        } else {
            twice[word] |= bit
            hasRepeats = true
        }
    }

    func mayRepeat(_ hash: UInt64) -> Bool {
        let place = hash & mask
        return twice[Int(place / 64)] & (UInt64(1) << (place % 64)) != 0
    }
}
