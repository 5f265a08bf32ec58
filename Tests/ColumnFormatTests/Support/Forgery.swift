import ColumnFormat
import TestSupport

/// A damaged value with recomputed checksums, so that only bounds checks can refuse it.
enum Forgery {
    /// Recomputes the checksums from the current header fields; `nil` if the fields leave no room for checksums.
    static func resealed(_ value: [UInt8]) -> [UInt8]? {
        guard value.count >= 32 else { return nil }
        var bytes = value
        let columns = Int(bytes[3])
        let directory = (bytes[2] & 2 == 0 ? 28 : 32) + Int(bytes[24]) + Int(bytes[25])
        let shift = Int(bytes[26])
        let end = Int(bytes[4]) | Int(bytes[5]) << 8 | Int(bytes[6]) << 16 | Int(bytes[7]) << 24
        guard shift >= 8, shift <= 16, end <= bytes.count else { return nil }
        let sums = directory + 8 * columns
        let rest = end - sums - 4
        guard rest >= 0 else { return nil }
        let blocks = (rest + (1 << shift) + 3) / ((1 << shift) + 4)
        let body = sums + 4 * blocks + 4
        guard body <= end else { return nil }
        for block in 0..<blocks {
            let from = body + block << shift
            guard from < end else { return nil }
            store(Checksum.hash(bytes, from..<min(end, from + 1 << shift)), at: sums + 4 * block, &bytes)
        }
        store(Checksum.hash(bytes, 0..<body - 4), at: body - 4, &bytes)
        return bytes
    }

    private static func store(_ hash: UInt64, at offset: Int, _ bytes: inout [UInt8]) {
        let sum = UInt32(truncatingIfNeeded: hash ^ hash >> 32)
        for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * index)) }
    }

    /// Changes a few bytes: flips bits, replaces bytes, fills words with ones or zeros, copies ranges, truncates.
    static func damaged(_ value: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = value
        for _ in 0..<random.pick([1, 1, 2, 5]) where !bytes.isEmpty {
            let at = random.number(0..<bytes.count)
            switch random.number(0..<6) {
            case 0: bytes[at] ^= 1 << UInt8(random.number(0..<8))
            case 1: bytes[at] = UInt8(truncatingIfNeeded: random.next())
            case 2: bytes[at] = random.pick([0, 1, 0x7F, 0x80, 0xFF])
            case 3:
                for index in at..<min(bytes.count, at + random.pick([2, 4, 8])) {
                    bytes[index] = random.pick([0, 0xFF])
                }
            case 4:
                let from = random.number(0..<bytes.count)
                let count = random.number(0..<min(16, bytes.count - max(at, from)) + 1)
                bytes.replaceSubrange(at..<at + count, with: Array(bytes[from..<from + count]))
            default: bytes.removeLast(random.number(0..<min(bytes.count, 9)))
            }
        }
        return bytes
    }
}
