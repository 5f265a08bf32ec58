extension RawSpan {
    /// Returns the little-endian word at `offset`. The caller has checked the bounds; the span checks them again.
    @inline(__always)
    func load<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Word.Type) -> Word {
        // Safe: the span checks the bounds, and every bit pattern is a valid integer.
        Word(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Returns the big-endian word at `offset`, the form in keys and ids.
    @inline(__always)
    func loadBigEndian<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Word.Type) -> Word {
        // Safe: as above.
        Word(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }

    /// The address of the bytes. It distinguishes values of one snapshot and is never dereferenced.
    var address: UInt {
        // Safe: only the number leaves the closure.
        unsafe withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }

    /// Returns `true` if the bytes equal those of `other`.
    public func isEqual(to other: [UInt8]) -> Bool { isEqual(to: other.rawBytes) }

    /// Returns `true` if the bytes equal those of `other`.
    public func isEqual(to other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        var index = 0
        while index + 8 <= byteCount {
            if load(index, as: UInt64.self) != other.load(index, as: UInt64.self) { return false }
            index += 8
        }
        while index < byteCount {
            if load(index, as: UInt8.self) != other.load(index, as: UInt8.self) { return false }
            index += 1
        }
        return true
    }

    /// Returns a copy of the bytes.
    public func copied() -> [UInt8] {
        // Safe: the buffer does not leave the closure.
        unsafe withUnsafeBytes { unsafe [UInt8]($0) }
    }
}

extension [UInt8] {
    /// The array's bytes as a span, for field readers.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get {
            // Safe: bytes of a byte array are initialised, and the span borrows the array.
            let bytes = unsafe span.bytes
            return unsafe _overrideLifetime(bytes, borrowing: self)
        }
    }
}

extension RawSpan {
    /// Returns `true` if the first `count` bytes equal those of `other`.
    public func hasPrefix(_ other: [UInt8], count: Int) -> Bool {
        guard byteCount >= count, other.count >= count else { return false }
        for index in 0..<count where load(index, as: UInt8.self) != other[index] { return false }
        return true
    }

    /// Returns the little-endian word at `offset`; zero if the bytes end before it.
    public func word(_ offset: Int) -> UInt64 {
        offset >= 0 && offset + 8 <= byteCount ? load(offset, as: UInt64.self) : 0
    }

    /// Returns the big-endian word at `offset`, the form of hashes in keys; zero if the bytes end before it.
    public func loadHash(_ offset: Int) -> UInt64 {
        offset + 8 <= byteCount ? loadBigEndian(offset, as: UInt64.self) : 0
    }
}
