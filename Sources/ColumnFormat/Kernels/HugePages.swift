#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Fresh memory in large pieces: mapping it page by page takes several times as long as decoding into it.
enum HugePages {
    /// The sizes are hints only: a system with others loses nothing.
    private static let hugeSize = 2 << 20
    private static let pageSize = 4 << 10
    #if os(Linux)
        /// MADV_POPULATE_WRITE of Linux 5.14, which not every header knows.
        private static let populate: Int32 = 23
    #endif

    /// Asks the system to back `buffer`, which will be written whole, by huge pages, and to map what lies before and behind
    /// these in one go. Where it cannot, the memory works as ever.
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
            // Safe: the range lies inside the buffer, and neither advice changes contents.
            _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: start), end - start, advice)
        }
    #endif
}

extension Int {
    /// Down to a multiple of a power of two.
    fileprivate func roundedDown(to size: Int) -> Int { self & ~(size - 1) }
    fileprivate func roundedUp(to size: Int) -> Int { (self + size - 1).roundedDown(to: size) }
}
