/// Little-endian numbers in untrusted bytes. Reads outside the array return zero, so that no offset, however wrong, can
/// end the process. Callers that must distinguish this case check the bounds.
extension [UInt8] {
    @inline(__always)
    func u16(_ offset: Int) -> UInt16 {
        guard offset >= 0, offset < count - 1 else { return 0 }
        return UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
    }

    @inline(__always)
    func u32(_ offset: Int) -> UInt32 { UInt32(u16(offset)) | UInt32(u16(offset + 2)) << 16 }

    @inline(__always)
    func u64(_ offset: Int) -> UInt64 { UInt64(u32(offset)) | UInt64(u32(offset + 4)) << 32 }

    /// Returns a copy of a part, clipped to the array.
    func part(_ range: Range<Int>) -> [UInt8] { Array(self[range.clamped(to: 0..<count)]) }
}

/// Compares two keys in LMDB's byte order: negative, zero or positive.
func compareKeys(
    _ left: [UInt8], _ leftRange: Range<Int>, _ right: [UInt8], _ rightRange: Range<Int>
) -> Int {
    let common = min(leftRange.count, rightRange.count)
    for index in 0..<common {
        let difference = Int(left[leftRange.lowerBound + index]) - Int(right[rightRange.lowerBound + index])
        if difference != 0 { return difference }
    }
    return leftRange.count - rightRange.count
}

/// A set of page numbers. Its memory depends on its elements and not on the greatest of them: a sparse file may have
/// any size.
struct PageSet {
    /// The number of pages per block of bits.
    private static let blockPages: UInt64 = 4_096

    private static let noPages = [UInt64](repeating: 0, count: Int(blockPages / 64))

    private var blocks: [UInt64: [UInt64]] = [:]

    /// Adds a page. Returns `false` if the set already contains it.
    mutating func insert(_ page: UInt64) -> Bool {
        let word = Int(page % PageSet.blockPages / 64)
        return PageSet.set(1 << (page % 64), in: &blocks[page / PageSet.blockPages, default: PageSet.noPages][word])
    }

    func contains(_ page: UInt64) -> Bool {
        guard let block = blocks[page / PageSet.blockPages] else { return false }
        return block[Int(page % PageSet.blockPages / 64)] & 1 << (page % 64) != 0
    }

    private static func set(_ bit: UInt64, in word: inout UInt64) -> Bool {
        defer { word |= bit }
        return word & bit == 0
    }
}
