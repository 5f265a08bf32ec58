import ColumnFormat

/// A value in its parts, which can be changed and reassembled with correct checksums, as an attacker would.
struct SealedValue {
    struct Column {
        var tag: UInt8
        var bytes: [UInt8]
    }

    /// The fixed part of the header. ``sealed`` sets the lengths and the number of columns.
    var head: [UInt8]
    var key: [UInt8]
    var upper: [UInt8]
    var columns: [Column]

    private static let fixed = 32
    private static let slack = 8

    /// Splits a sound value into its parts; `nil` for other bytes.
    init?(_ bytes: [UInt8]) {
        guard let layout = Layout(bytes), layout.end - layout.body >= SealedValue.slack else { return nil }
        head = Array(bytes[..<SealedValue.fixed])
        key = Array(bytes[SealedValue.fixed..<SealedValue.fixed + Int(bytes[24])])
        upper = Array(bytes[SealedValue.fixed + Int(bytes[24])..<layout.directory])
        let (count, last) = (Int(bytes[3]), layout.end - SealedValue.slack)
        let starts = (0..<count).map { layout.body + bytes.number(layout.directory + 8 * $0 + 4) }
        columns = []
        for (index, start) in starts.enumerated() {
            let end = index + 1 < count ? starts[index + 1] : last
            guard start >= layout.body, start <= end, end <= last else { return nil }
            columns.append(Column(tag: bytes[layout.directory + 8 * index], bytes: Array(bytes[start..<end])))
        }
    }

    /// The whole value with correct lengths and checksums.
    var sealed: [UInt8] {
        var value = head
        value[3] = UInt8(truncatingIfNeeded: columns.count)
        value[24] = UInt8(truncatingIfNeeded: key.count)
        value[25] = UInt8(truncatingIfNeeded: upper.count)
        let shift = min(16, max(8, Int(head[26])))
        value[26] = UInt8(shift)
        value += key.prefix(255) + upper.prefix(255)
        var body: [UInt8] = []
        for column in columns {
            value += [column.tag, 0, 0, 0] + SealedValue.bytes(UInt32(body.count))
            body += column.bytes
        }
        body += [UInt8](repeating: 0, count: SealedValue.slack)
        let blocks = (body.count + 1 << shift - 1) >> shift
        value += [UInt8](repeating: 0, count: 4 * blocks + 4) + body
        value.replaceSubrange(4..<8, with: SealedValue.bytes(UInt32(value.count)))
        SealedValue.seal(&value)
        return value
    }

    static func bytes<Word: FixedWidthInteger>(_ word: Word) -> [UInt8] {
        (0..<Word.bitWidth / 8).map { UInt8(truncatingIfNeeded: word >> (8 * Word($0))) }
    }

    /// Corrects the checksums of a value with arbitrary lengths; leaves it unchanged if no reader would accept it.
    static func seal(_ bytes: inout [UInt8]) {
        guard let layout = Layout(bytes) else { return }
        for block in 0..<layout.blocks {
            let from = layout.body + block << layout.shift
            guard from < layout.end else { break }
            let hash = Checksum.hash(bytes, from..<min(layout.end, from + 1 << layout.shift))
            bytes.put(layout.body - 4 * (layout.blocks - block) - 4, hash)
        }
        bytes.put(layout.body - 4, Checksum.hash(bytes, 0..<layout.body - 4))
    }

    /// The offsets of the parts, computed as a reader computes them.
    private struct Layout {
        let directory: Int
        let blocks: Int
        let body: Int
        let end: Int
        let shift: Int

        init?(_ bytes: [UInt8]) {
            guard bytes.count >= SealedValue.fixed + 4 else { return nil }
            shift = Int(bytes[26])
            end = bytes.number(4)
            guard end <= bytes.count, (8...16).contains(shift) else { return nil }
            directory = SealedValue.fixed + Int(bytes[24]) + Int(bytes[25])
            let sums = directory + 8 * Int(bytes[3])
            let rest = end - sums - 4
            guard rest >= 0 else { return nil }
            blocks = (rest + 1 << shift + 3) / (1 << shift + 4)
            body = sums + 4 * blocks + 4
            guard body <= end else { return nil }
        }
    }
}

extension [UInt8] {
    /// The little-endian number in the four bytes at an offset.
    func number(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(self[offset + $1]) << (8 * $1) } }

    /// Stores the 32 bits of a checksum at an offset.
    fileprivate mutating func put(_ offset: Int, _ hash: UInt64) {
        replaceSubrange(offset..<offset + 4, with: SealedValue.bytes(UInt32(truncatingIfNeeded: hash ^ hash >> 32)))
    }
}
