import ColumnFormat
import HealthModel
import LMDB

/// A partition of the identity index: a range of 40-bit hashes with a few sorted runs of entries.
///
/// Three kinds of keys share the table (``IdentityIndex``). Their first byte distinguishes them.
struct IdentityPartition: Sendable, Equatable {
    struct Run: Sendable, Equatable {
        var number: UInt32
        var entries: UInt64
    }

    /// The first hash of the partition, and the first one after it.
    var lower: UInt64
    var upper: UInt64
    /// The runs, oldest first. A removal cancels entries of older runs only.
    var runs: [Run] = []
    var nextRun: UInt32 = 1

    static let hashLimit: UInt64 = 1 << 40

    var entries: UInt64 { runs.reduce(0) { $0 &+ $1.entries } }

    /// Whether the partition spans more than one hash. A partition of a single hash cannot be split, however many
    /// entries it has: a group may have any number of samples.
    var isDivisible: Bool { upper - lower > 1 }

    /// Divides a partition that has outgrown its limit. Returns the first hash of each part and its entries, about half
    /// the limit. Entries of one hash stay together; a hash that has more entries than that gets a part of its own,
    /// which is not split again.
    func parts(of entries: [IdentityEntry], limit: UInt64) -> [(lower: UInt64, rows: Range<Int>)] {
        // Only damage puts hashes outside the bounds; they count as the first or last hash.
        func hash(_ row: Int) -> UInt64 { min(upper - 1, max(lower, entries[row].hash)) }
        let count = entries.count
        let wanted = max(1, (count * 2 + Int(limit) - 1) / Int(limit))
        let size = max(1, (count + wanted - 1) / wanted)
        var parts: [(lower: UInt64, rows: Range<Int>)] = []
        var (from, begin) = (0, lower)
        func cut(_ row: Int, _ next: UInt64) {
            parts.append((begin, from..<row))
            (from, begin) = (row, next)
        }
        // The remaining entries join the last part.
        while count - from > size + size / 2 {
            let cutHash = hash(from + size)
            var (first, end) = (from + size, from + size)
            while first > from, hash(first - 1) == cutHash { first -= 1 }
            while end < count, hash(end) == cutHash { end += 1 }
            let isLarge = end - first > size
            // Only damage leaves entries unsorted; they cannot be divided.
            guard begin < cutHash || begin == cutHash && isLarge else { break }
            if begin < cutHash { cut(first, cutHash) }
            guard isLarge else { continue }
            if cutHash == upper - 1 { break }
            cut(end, cutHash + 1)
        }
        parts.append((begin, from..<count))
        return parts
    }

    /// The oldest run that is less than four times as large as all newer ones together: merging from there on moves no
    /// entry often. `nil` if there are few runs of very different sizes.
    var firstRunToMerge: Int? {
        var newer = entries
        for (index, run) in runs.enumerated() {
            newer -= run.entries
            if newer > 0, run.entries < 4 * newer { return index }
        }
        return nil
    }

    /// The first bytes of keys: of recent entries, of partitions and of blocks. Embedded on disk.
    static let recentTag: UInt8 = 1
    static let tag: UInt8 = 2
    static let blockTag: UInt8 = 3

    func value(key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(upper)
        record.append(nextRun)
        record.append(UInt32(runs.count))
        for run in runs {
            record.append(run.number)
            record.append(run.entries)
        }
        return record.value(table: .identity, key: key, stamp: stamp)
    }

    init(lower: UInt64, upper: UInt64) {
        self.lower = lower
        self.upper = upper
    }

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        guard key.count == 9 else { throw FormatError(.invalid, "partition key") }
        lower = key[1...].reduce(0) { $0 << 8 | UInt64($1) }
        var record = try RecordReader(span, table: .identity, key: key)
        upper = try record.read(UInt64.self)
        nextRun = try record.read(UInt32.self)
        for _ in 0..<(try record.read(UInt32.self)) {
            let run = Run(number: try record.read(UInt32.self), entries: try record.read(UInt64.self))
            // A new run takes `nextRun`, so numbers ascend and stay below it. Multiples of entry counts must not
            // overflow.
            guard run.number < nextRun, run.number > runs.last?.number ?? 0, run.entries < IdentityPartition.mostEntries
            else { throw FormatError(.invalid, "run of a partition") }
            runs.append(run)
        }
        guard lower < upper, upper <= IdentityPartition.hashLimit, nextRun < .max, runs.count <= 1 << 16 else {
            throw FormatError(.invalid, "partition")
        }
    }

    /// The limit of a run's entries: the sum over all runs of a partition, and eight times that sum, fit in 64 bits.
    private static let mostEntries: UInt64 = 1 << 40
}

/// A recent entry: a record of its own, so that a single write moves no run.
enum RecentEntry {
    /// Returns a value with the key and the net number of additions (positive) or removals (negative) of the entry.
    static func value(key: [UInt8], net: Int32, stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(net)
        return record.value(table: .identity, key: key, stamp: stamp)
    }

    static func entry(key: [UInt8]) throws(FormatError) -> IdentityEntry {
        guard key.count == 17 else { throw FormatError(.invalid, "recent identity") }
        let words = (key[1..<9].reduce(0) { $0 << 8 | UInt64($1) }, key[9...].reduce(0) { $0 << 8 | UInt64($1) })
        return IdentityEntry(key: words.0, kind: IdentityEntry.Kind(packed: words.1))
    }

    static func net(_ span: RawSpan, key: [UInt8]) throws(FormatError) -> Int32 {
        var record = try RecordReader(span, table: .identity, key: key)
        let net = try record.read(Int32.self)
        // No writer adds more of one entry: a damaged number must not exhaust the memory.
        guard net.magnitude <= 1 << 24 else { throw FormatError(.invalid, "recent identity") }
        return net
    }
}
