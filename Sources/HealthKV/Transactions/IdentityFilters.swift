import ColumnFormat
import LMDB

/// Filters that tell which hashes the partitions of the identity index certainly do not hold, in the memory of the
/// writing process.
///
/// An import compares each of its identities with the index, and nearly all are new: without filters it would read the
/// whole index for each batch. A filter returns "maybe" for every hash that its partition holds. It is made where a
/// whole partition is in memory anyway, and follows what this process adds. Any other event drops it: a commit of
/// another process, another file, a failed commit. A partition without a filter is searched.
final class IdentityFilters: Sendable {
    /// Identifies a partition while it keeps these bounds.
    private struct Bounds: Hashable {
        var lower: UInt64
        var upper: UInt64

        init(_ partition: IdentityPartition) {
            lower = partition.lower
            upper = partition.upper
        }
    }

    private struct State {
        var filters: [Bounds: IdentityFilter] = [:]
        /// The file and its last commit that the filters reflect.
        var file: FileIdentity?
        var commit: UInt64 = 0
    }

    private let state = Monitor(State())

    /// Drops all filters unless the last commit before a transaction is the last one that they reflect.
    func begin(after commit: UInt64, of file: FileIdentity) {
        state.withLock { state in
            if state.file != file || commit != state.commit { state.filters = [:] }
            (state.file, state.commit) = (file, commit)
        }
    }

    func committed(_ commit: UInt64) { state.withLock { $0.commit = commit } }

    func forget() { state.withLock { $0.filters = [:] } }

    /// Makes the filter of a partition that holds exactly these entries.
    func make(_ partition: IdentityPartition, _ entries: [IdentityEntry], _ limits: EngineLimits) {
        var filter = IdentityFilter(partition, capacity: max(limits.partitionEntries, UInt64(entries.count)))
        filter.add(entries)
        state.withLock { [filter] state in
            let bounds = Bounds(partition)
            if state.filters.count < limits.identityFilters || state.filters[bounds] != nil {
                state.filters[bounds] = filter
            }
        }
    }

    /// Adds entries to the filter of their partition.
    func add(_ entries: [IdentityEntry], to partition: IdentityPartition) {
        state.withLock { $0.filters[Bounds(partition)]?.add(entries) }
    }

    /// Drops the filter of a partition that is split.
    func remove(_ partition: IdentityPartition) {
        state.withLock { $0.filters[Bounds(partition)] = nil }
    }

    /// Returns the rows whose hash a partition may hold; `nil` if it has no filter.
    func candidates(_ rows: ArraySlice<HashedRow>, in partition: IdentityPartition) -> [HashedRow]? {
        state.withLock { state in
            guard let filter = state.filters[Bounds(partition)] else { return nil }
            return rows.filter { filter.mayHold($0.hash) }
        }
    }
}

/// A Bloom filter over the hashes of one partition: each hash sets five bits of a line of 512. Lines follow the order
/// of hashes, so a sorted batch passes over them once.
struct IdentityFilter {
    private let lower: UInt64
    private let scale: UInt64
    private let lastLine: UInt64
    private var words: [UInt64]

    /// With this many bits per entry of a full partition, about one new hash in a hundred is taken for a known one.
    private static let bitsPerEntry: UInt64 = 10
    private static let scaleBits: UInt64 = 40

    init(_ partition: IdentityPartition, capacity: UInt64) {
        let span = partition.upper - partition.lower
        let lines = min(1 << 20, span, max(1, capacity * IdentityFilter.bitsPerEntry / 512))
        lower = partition.lower
        // A distance within the span, times this factor, has at most 60 bits.
        scale = (lines << IdentityFilter.scaleBits) / span
        lastLine = lines - 1
        words = [UInt64](repeating: 0, count: Int(lines) * 8)
    }

    @inline(__always)
    private func line(_ hash: UInt64) -> Int {
        // Only damage puts hashes outside the bounds; they share the last line.
        Int(truncatingIfNeeded: min(lastLine, ((hash &- lower) &* scale) >> IdentityFilter.scaleBits)) * 8
    }

    /// Mixes the bits for five positions within a line. They come from the upper bits of a product, since the hashes of
    /// a line differ only in their lower bits.
    @inline(__always)
    private static func mixed(_ hash: UInt64) -> UInt64 { hash &* 0x9E37_79B9_7F4A_7C15 }

    @inline(__always)
    private static func place(_ mixed: UInt64, _ number: UInt64) -> Int {
        Int(truncatingIfNeeded: mixed >> (55 - 9 * number) & 511)
    }

    mutating func add(_ entries: [IdentityEntry]) {
        for entry in entries {
            let (line, mixed) = (line(entry.hash), IdentityFilter.mixed(entry.hash))
            for number: UInt64 in 0..<5 {
                let place = IdentityFilter.place(mixed, number)
                words[line + (place >> 6)] |= 1 << UInt64(place & 63)
            }
        }
    }

    @inline(__always)
    func mayHold(_ hash: UInt64) -> Bool {
        let (line, mixed) = (line(hash), IdentityFilter.mixed(hash))
        for number: UInt64 in 0..<5 {
            let place = IdentityFilter.place(mixed, number)
            if words[line + (place >> 6)] >> UInt64(place & 63) & 1 == 0 { return false }
        }
        return true
    }
}
