#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Prepares large pieces of fresh memory: mapping them page by page takes several times as long as decoding into them.
enum HugePages {
    /// The sizes are only hints: a system with other sizes loses nothing.
    private static let hugeSize = 2 << 20
    private static let pageSize = 4 << 10
    #if os(Linux)
        /// MADV_POPULATE_WRITE of Linux 5.14, which some headers lack.
        private static let populate: Int32 = 23
    #endif

    /// Asks the system to back `buffer`, which will be written completely, with huge pages, and to map the parts before
    /// and after the huge pages in one call each. Memory works as usual where the system refuses.
    static func prepare(_ buffer: UnsafeRawBufferPointer) {
        #if os(Linux)
            guard let base = buffer.baseAddress, buffer.count >= hugeSize else { return }
            let start = Int(bitPattern: base).roundedUp(to: pageSize)
            let end = (Int(bitPattern: base) + buffer.count).roundedDown(to: pageSize)
            let firstHuge = start.roundedUp(to: hugeSize)
            let lastHuge = max(firstHuge, end.roundedDown(to: hugeSize))
            advise(firstHuge, lastHuge, MADV_HUGEPAGE)
            advise(start, min(firstHuge, end), populate)
            advise(lastHuge, end, populate)
        #endif
    }

    #if os(Linux)
        private static func advise(_ start: Int, _ end: Int, _ advice: Int32) {
            guard start < end else { return }
            // Safe: the range lies inside the buffer, and neither advice changes the contents.
            _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: start), end - start, advice)
        }
    #endif
}

extension Int {
    /// Rounds down to a multiple of a power of two.
    fileprivate func roundedDown(to size: Int) -> Int { self & ~(size - 1) }
    fileprivate func roundedUp(to size: Int) -> Int { (self + size - 1).roundedDown(to: size) }
}
