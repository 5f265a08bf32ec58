extension Array<UInt8> {
    /// The elements as raw bytes, without a copy.
    @inlinable
    public var rawSpan: RawSpan {
        @_lifetime(borrow self)
        // unsafe: only bytes of padding could be uninitialized, and a byte has none.
        get { unsafe span.bytes }
    }
}

extension Span<UInt8> {
    /// The elements as raw bytes, without a copy.
    @inlinable
    public var rawSpan: RawSpan {
        @_lifetime(copy self)
        // unsafe: only bytes of padding could be uninitialized, and a byte has none.
        get { unsafe bytes }
    }
}

extension RawSpan {
    /// Returns a copy of the bytes.
    @inlinable
    public var array: [UInt8] {
        // unsafe: the bytes are copied inside the closure.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}
