extension [UInt8] {
    /// Appends the bytes of `word` in memory order.
    @inlinable
    @inline(__always)
    mutating func append<Word: FixedWidthInteger & BitwiseCopyable>(bytesOf word: Word) {
        // Safe: every byte of an integer is initialised, and they are copied inside the closure.
        unsafe Swift.withUnsafeBytes(of: word) { unsafe append(contentsOf: $0) }
    }

    /// Appends the bytes of a span.
    mutating func append(contentsOf span: RawSpan) {
        // Safe: the bytes are copied inside the closure.
        unsafe span.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }

    /// Appends bytes that are zero. A copy, because a debug build appends a repeated element one by one, through
    /// generic calls, and took a third of a save for it.
    mutating func append(zeros number: Int) {
        // Safe: at most as many bytes are copied as the array has, inside the closure.
        unsafe Self.zeros.withUnsafeBytes { zeros in
            var left = number
            while left > 0 {
                let step = Swift.min(left, zeros.count)
                unsafe append(contentsOf: UnsafeRawBufferPointer(rebasing: zeros[..<step]))
                left &-= step
            }
        }
    }

    private static let zeros = [UInt8](repeating: 0, count: 4096)

    /// Overwrites the bytes at `offset` with the bytes of `word`.
    @inline(__always)
    mutating func overwrite<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, bytesOf word: Word) {
        precondition(offset >= 0 && offset + Word.bitWidth / 8 <= count)
        // Safe: the precondition bounds all bytes of the word.
        unsafe withUnsafeMutableBytes { unsafe $0.storeBytes(of: word, toByteOffset: offset, as: Word.self) }
    }

    /// Appends `pairs` pairs of big-endian words, the stored form of ids.
    @inline(__always)
    mutating func appendBigEndian(pairs: Int, _ pair: (Int) -> (high: UInt64, low: UInt64)) {
        let start = count
        append(zeros: 16 * pairs)
        // Safe: the stores lie within the bytes appended above.
        unsafe withUnsafeMutableBytes { bytes in
            for index in 0..<pairs {
                let words = pair(index)
                let offset = start + 16 * index
                unsafe bytes.storeBytes(of: words.high.bigEndian, toByteOffset: offset, as: UInt64.self)
                unsafe bytes.storeBytes(of: words.low.bigEndian, toByteOffset: offset + 8, as: UInt64.self)
            }
        }
    }
}
