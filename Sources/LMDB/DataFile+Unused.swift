#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Clears the unused bytes between the entries of pages. LMDB reuses the memory of old pages for new pages without
/// clearing it, so the unused part of a page may contain records that were deleted long ago.
extension DataFile {
    /// Clears the unused bytes of a compacted copy that no environment has opened. In such a copy, every page is in
    /// use.
    static func clearUnused(_ path: String) throws(LMDBError) {
        let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw LMDBError(errno, "open", path) }
        defer { close(descriptor) }
        guard FileSystem.isRegular(descriptor) else { throw LMDBError(EINVAL, "open", path) }
        guard let file = DataFile(path), let metas = file.metas() else {
            throw LMDBError(.init(rawValue: EINVAL), operation: "read", path: path)
        }
        var pass = UnusedPass(pageSize: metas.pageSize, descriptor: descriptor)
        var page = 2
        while page <= metas.lastPage {
            var bytes = [UInt8](repeating: 0, count: metas.pageSize)
            let count = file.read(&bytes, at: page * metas.pageSize)
            if count < 0 { throw LMDBError(Int32(-count), "read", path) }
            guard count == bytes.count else { break }
            page += try pass.clear(&bytes, page, path)
        }
        for value in pass.values { try pass.clearTail(of: value, path) }
        guard FileSystem.isFlushed(descriptor) else { throw LMDBError(errno, "fsync", path) }
    }
}

/// One pass over the pages of a file.
///
/// ```
///  offset  size  of a page
///      10     2  kind: 1 branch, 2 leaf, 4 long value
///      12     4  of a long value: its pages
///      12     2  of others: where unused space begins
///      14     2  where it ends
///      16     2  places of entries
/// ```
private struct UnusedPass {
    let pageSize: Int
    let descriptor: Int32
    /// The first page and the length of each long value that leaf pages refer to.
    private(set) var values: [(page: Int, length: Int)] = []

    init(pageSize: Int, descriptor: Int32) {
        self.pageSize = pageSize
        self.descriptor = descriptor
    }

    /// Clears the unused part of a page and returns the distance to the next page.
    mutating func clear(_ bytes: inout [UInt8], _ page: Int, _ path: String) throws(LMDBError) -> Int {
        let kind = bytes.number(10, 2)
        if kind & 4 != 0 { return max(1, bytes.number(12, 4)) }
        guard kind & 3 != 0 else { return 1 }
        let (lower, upper) = (bytes.number(12, 2), bytes.number(14, 2))
        guard lower >= 16, lower <= upper, upper <= pageSize else {
            throw LMDBError(.corrupted, operation: "read", path: path)
        }
        if kind & 2 != 0 { noteValues(bytes, lower) }
        if bytes[lower..<upper].contains(where: { $0 != 0 }) {
            try write([UInt8](repeating: 0, count: upper - lower), at: page * pageSize + lower, path)
        }
        return 1
    }

    /// Collects the long values of a leaf page. An entry is: length of the value in two parts, flags, length of the
    /// key, key, value. The flag 1 means that the value is a page number.
    private mutating func noteValues(_ bytes: [UInt8], _ lower: Int) {
        for place in stride(from: 16, to: lower, by: 2) {
            let entry = bytes.number(place, 2)
            guard entry + 8 <= pageSize, bytes.number(entry + 4, 2) & 1 != 0 else { continue }
            let number = entry + 8 + bytes.number(entry + 6, 2)
            guard number + 8 <= pageSize else { continue }
            let length = bytes.number(entry, 2) | bytes.number(entry + 2, 2) << 16
            values.append((bytes.number(number, 8), length))
        }
    }

    /// Clears the rest of a long value's last page.
    func clearTail(of value: (page: Int, length: Int), _ path: String) throws(LMDBError) {
        let end = 16 + value.length
        let rest = (pageSize - end % pageSize) % pageSize
        guard rest > 0 else { return }
        try write([UInt8](repeating: 0, count: rest), at: value.page * pageSize + end, path)
    }

    private func write(_ bytes: [UInt8], at offset: Int, _ path: String) throws(LMDBError) {
        var done = 0
        while done < bytes.count {
            // unsafe: C only reads the array, during the call.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe pwrite(descriptor, $0.baseAddress! + done, bytes.count - done, off_t(offset + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw LMDBError(count < 0 ? errno : ENOSPC, "pwrite", path) }
            done += count
        }
    }
}

extension [UInt8] {
    /// Reads a little-endian number of some bytes.
    fileprivate func number(_ offset: Int, _ count: Int) -> Int {
        (0..<count).reduce(0) { $0 | Int(truncatingIfNeeded: UInt64(self[offset + $1]) << UInt64(8 * $1)) }
    }
}
