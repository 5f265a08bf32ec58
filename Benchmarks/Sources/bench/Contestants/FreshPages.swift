import Foundation

/// Applies to all contestants the memory advice that this store uses for its own results: back large arrays with huge
/// pages if the system has them, and map their ends in one call. (numpy does so itself.) Without it, copying from
/// memory would be slower than decoding.
enum FreshPages {
    private static let hugeSize = 2 << 20
    private static let pageSize = 4 << 10
    #if os(Linux)
        /// MADV_POPULATE_WRITE of Linux 5.14, which older headers lack.
        private static let populate: Int32 = 23
    #endif

    /// An empty array with prepared capacity.
    static func array<Element: BitwiseCopyable>(room: Int) -> [Element] {
        // SAFETY: the count is 0, so no element is uninitialized.
        unsafe [Element](unsafeUninitializedCapacity: room) { target, count in
            unsafe prepare(UnsafeRawBufferPointer(target))
            count = 0
        }
    }

    /// Prepares a buffer that will be filled completely.
    ///
    /// SAFETY: the range is inside the buffer, and no advice changes its content.
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
