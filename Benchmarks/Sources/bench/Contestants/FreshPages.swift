import Foundation

/// The advice that this store gives for its own results, for everyone's: large arrays are backed by huge pages where
/// the system has them, and their ends mapped in one go. (numpy gives it by itself.) Without it, who copies from memory
/// would be slower than who decodes.
enum FreshPages {
    private static let hugeSize = 2 << 20
    private static let pageSize = 4 << 10
    #if os(Linux)
        /// MADV_POPULATE_WRITE of Linux 5.14, which not every header knows.
        private static let populate: Int32 = 23
    #endif

    /// An array without elements and with room for some, prepared.
    static func array<Element: BitwiseCopyable>(room: Int) -> [Element] {
        // SAFETY: no element is said to be there.
        unsafe [Element](unsafeUninitializedCapacity: room) { target, count in
            unsafe prepare(UnsafeRawBufferPointer(target))
            count = 0
        }
    }

    /// Prepares a buffer that will be written whole.
    ///
    /// SAFETY: the range lies inside the buffer, and no advice changes contents.
    static func prepare(_ buffer: UnsafeRawBufferPointer) {
        #if os(Linux)
            guard let base = buffer.baseAddress, buffer.count >= hugeSize else { return }
            let start = up(Int(bitPattern: base), to: pageSize)
            let end = (Int(bitPattern: base) + buffer.count) & ~(pageSize - 1)
            let firstHuge = up(start, to: hugeSize)
            let lastHuge = max(firstHuge, end & ~(hugeSize - 1))
            let parts = [
                (firstHuge, lastHuge, Int32(MADV_HUGEPAGE)), (start, min(firstHuge, end), populate),
                (lastHuge, end, populate),
            ]
            for (from, to, advice) in parts where from < to {
                _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: from), to - from, advice)
            }
        #endif
    }

    private static func up(_ address: Int, to size: Int) -> Int { (address + size - 1) & ~(size - 1) }
}
