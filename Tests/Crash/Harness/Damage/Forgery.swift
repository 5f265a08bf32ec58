import ColumnFormat
import HealthKV
import TestSupport

/// A planted fault: changes a byte of a chunk and corrects the checksums, as damage would appear to a store without
/// checksums. The comparison of answers must find it.
enum Forgery {
    /// Forges each chunk that has a page of its own, as those of full size have.
    static func forge(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for page in stride(from: 0, to: bytes.count, by: DamagedBase.pageSize) {
            let isLong = bytes[page + 10] == 4 && bytes[page + 16] == TableCode.chunks.rawValue
            guard isLong, let body = body(bytes, page + 16), body.count > 400 else { continue }
            bytes[body.lowerBound + body.count / 2 + generator.number(0..<100)] ^= 1
            seal(&bytes, page + 16, body)
        }
        return bytes
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }

    private static func sums(_ bytes: [UInt8], _ value: Int) -> Int {
        value + 32 + Int(bytes[value + 24]) + Int(bytes[value + 25]) + 8 * Int(bytes[value + 3])
    }

    /// The range of the body of a value with one block.
    private static func body(_ bytes: [UInt8], _ value: Int) -> Range<Int>? {
        let (begin, end) = (sums(bytes, value) + 8, value + number(bytes, value + 4))
        return begin < end && end <= value + DamagedBase.pageSize - 16 && end - begin <= 4_096 ? begin..<end : nil
    }

    private static func seal(_ bytes: inout [UInt8], _ value: Int, _ body: Range<Int>) {
        put(&bytes, sums(bytes, value), Checksum.hash(bytes, body))
        put(&bytes, body.lowerBound - 4, Checksum.hash(bytes, value..<body.lowerBound - 4))
    }

    private static func put(_ bytes: inout [UInt8], _ offset: Int, _ hash: UInt64) {
        let sum = UInt32(truncatingIfNeeded: hash ^ hash >> 32)
        for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
    }
}
