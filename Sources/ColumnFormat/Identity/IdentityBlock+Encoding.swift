import HealthModel

/// Encodes sorted identity entries into blocks that each fill a page.
public struct IdentityBlockEncoder: Sendable {
    /// The size of a block's whole value in bytes.
    public let budget: Int
    private var guess = 700

    public init(pageSize: Int) { budget = pageSize - 16 }

    /// Writes one block from the front of `entries`, and returns the number of entries in it.
    ///
    /// - Parameter key: returns the block's key for its first hash.
    public mutating func block(
        _ entries: ArraySlice<IdentityEntry>, stamp: CommitStamp, key: (UInt64) -> [UInt8]
    ) -> (key: [UInt8], value: [UInt8], count: Int) {
        let ownKey = key(entries.first!.hash)
        // The entry count has two bytes. Many equal entries on a large page would exceed it.
        let limit = min(entries.count, Int(UInt16.max))
        var count = min(limit, guess)
        var plan = Plan(entries.prefix(count), key: ownKey.count)
        // Two corrections usually suffice: entries are hashes, so the size is nearly linear in their number.
        for _ in 0..<4 {
            if plan.byteCount > budget {
                count = max(1, min(count - 1, count * budget / plan.byteCount))
            } else if count < limit, plan.byteCount < budget - budget / 16 {
                count = min(limit, count * (budget - budget / 64) / plan.byteCount)
            } else {
                break
            }
            plan = Plan(entries.prefix(count), key: ownKey.count)
        }
        while plan.byteCount > budget, count > 1 {
            count = count * 7 / 8
            plan = Plan(entries.prefix(count), key: ownKey.count)
        }
        guess = max(64, count)
        return (ownKey, plan.encode(entries.prefix(count), key: ownKey, stamp: stamp), count)
    }

    private struct Plan {
        var kinds = KindNumbers()
        var lowWidth = 0
        var placeWidth = 0
        var leastPlace: UInt64 = .max
        var words = 0
        var byteCount = 0

        init(_ entries: ArraySlice<IdentityEntry>, key: Int) {
            let mask: UInt64 = (1 << IdentityEntry.quantumBits) - 1
            var greatest: UInt64 = 0
            for entry in entries {
                let place = entry.key & mask
                leastPlace = min(leastPlace, place)
                greatest = max(greatest, place)
                _ = kinds.number(of: entry.kind)
                if kinds.count > 255 { break }
            }
            guard kinds.count <= 255 else {
                byteCount = .max / 1024
                return
            }
            placeWidth = 64 - (greatest - leastPlace).leadingZeroBitCount
            let range = entries.last!.hash - entries.first!.hash + 1
            let ratio = range / UInt64(entries.count)
            lowWidth = ratio > 1 ? 63 - ratio.leadingZeroBitCount : 0
            words = (entries.count + Int(range >> UInt64(lowWidth)) + 1 + 63) / 64
            let count = entries.count
            let body =
                IdentityBlock.fixed + 8 * kinds.count + 8 * words
                + BitPacking.byteCount(words: count, width: lowWidth) + 2 * BitPacking.slack
                + BitPacking.byteCount(words: count, width: placeWidth)
                + BitPacking.byteCount(words: count, width: kindWidth)
            byteCount =
                body
                + StoredValueBuilder.overhead(
                    key: key, upper: 0, columns: 1, body: body, blockShift: IdentityBlock.blockShift)
        }

        var kindWidth: Int { kinds.count <= 1 ? 0 : 64 - UInt64(kinds.count - 1).leadingZeroBitCount }

        mutating func encode(_ entries: ArraySlice<IdentityEntry>, key: [UInt8], stamp: CommitStamp) -> [UInt8] {
            let mask: UInt64 = (1 << IdentityEntry.quantumBits) - 1
            let first = entries.first!.hash
            var upper = [UInt64](repeating: 0, count: words)
            var low: [UInt64] = []
            var places: [UInt64] = []
            var numbers: [UInt64] = []
            low.reserveCapacity(entries.count)
            places.reserveCapacity(entries.count)
            numbers.reserveCapacity(kinds.count > 1 ? entries.count : 0)
            for (index, entry) in entries.enumerated() {
                let distance = entry.hash - first
                let bit = Int(distance >> UInt64(lowWidth)) + index
                upper[bit >> 6] |= 1 << UInt64(bit & 63)
                low.append(distance)
                places.append(entry.key & mask - leastPlace)
                if kinds.count > 1 { numbers.append(UInt64(kinds.number(of: entry.kind))) }
            }
            var builder = StoredValueBuilder(table: .identity, key: key, reserving: byteCount)
            builder.rows = entries.count
            builder.column(IdentityBlock.tag) { writer in
                writer.append(UInt16(entries.count))
                writer.append(UInt8(kinds.count))
                writer.append(UInt8(kindWidth))
                writer.append(UInt8(lowWidth))
                writer.append(UInt8(placeWidth))
                writer.append(UInt16(words))
                writer.append(first)
                writer.append(UInt32(leastPlace))
                writer.append(0 as UInt32)
                for kind in kinds.list { writer.append(kind.packed) }
                for word in upper { writer.append(word) }
                BitPacking.pack(low.span, width: lowWidth, into: &writer.bytes)
                writer.append(0 as UInt64)
                BitPacking.pack(places.span, width: placeWidth, into: &writer.bytes)
                writer.append(0 as UInt64)
                if kinds.count > 1 { BitPacking.pack(numbers.span, width: kindWidth, into: &writer.bytes) }
            }
            return builder.finish(stamp: stamp, blockShift: IdentityBlock.blockShift)
        }
    }
}

/// The kinds of a block's entries, numbered in order of first occurrence.
private struct KindNumbers {
    private(set) var list: [IdentityEntry.Kind] = []
    /// The probable number of a kind, by a hash of its bits. There are only a few kinds: as many as lanes in one
    /// import.
    private var places = [Int](repeating: 0, count: 64)

    var count: Int { list.count }

    @inline(__always)
    mutating func number(of kind: IdentityEntry.Kind) -> Int {
        let slot = Int((kind.packed >> 14 ^ kind.packed >> 8 ^ kind.packed) & 63)
        let likely = places[slot]
        if likely < list.count, list[likely] == kind { return likely }
        let number = list.firstIndex(of: kind) ?? list.count
        if number == list.count { list.append(kind) }
        places[slot] = number
        return number
    }
}

/// Merges sorted entries: each removal cancels one entry with the same hash and place.
public enum IdentityMerge {
    /// Returns the remaining entries of a sorted list. Removals without an entry to cancel stay only if
    /// `keepingRemovals`.
    public static func settle(_ entries: [IdentityEntry], keepingRemovals: Bool) -> [IdentityEntry] {
        guard entries.contains(where: { $0.kind.isRemoval }) else { return entries }
        var settled: [IdentityEntry] = []
        settled.reserveCapacity(entries.count)
        var index = 0
        while index < entries.count {
            // Take all entries of one hash and place: an addition and its removal need not be adjacent.
            var end = index + 1
            while end < entries.count, entries[end].key == entries[index].key { end += 1 }
            var balance: [IdentityEntry.Kind: Int] = [:]
            for entry in entries[index..<end] {
                balance[entry.kind.addition, default: 0] += entry.kind.isRemoval ? -1 : 1
            }
            for (kind, count) in balance.sorted(by: { $0.key < $1.key }) {
                let entry = IdentityEntry(key: entries[index].key, kind: count > 0 ? kind : kind.removal)
                if count > 0 || keepingRemovals { settled.append(contentsOf: repeatElement(entry, count: abs(count))) }
            }
            index = end
        }
        return settled
    }
}

extension IdentityMerge {
    /// Merges two sorted lists.
    public static func union(_ left: [IdentityEntry], _ right: [IdentityEntry]) -> [IdentityEntry] {
        if left.isEmpty { return right }
        if right.isEmpty { return left }
        var merged: [IdentityEntry] = []
        merged.reserveCapacity(left.count + right.count)
        var (i, j) = (0, 0)
        while i < left.count, j < right.count {
            let (first, second) = (left[i], right[j])
            // The next source is unpredictable, so avoid branches on it.
            let takesRight = first.key == second.key ? second.kind < first.kind : second.key < first.key
            merged.append(takesRight ? second : first)
            i &+= takesRight ? 0 : 1
            j &+= takesRight ? 1 : 0
        }
        merged.append(contentsOf: left[i...])
        merged.append(contentsOf: right[j...])
        return merged
    }
}
