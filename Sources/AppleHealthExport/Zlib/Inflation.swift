import CZlib

/// Decompresses one stream of raw deflate data. It holds some 40 KB.
final class Inflation {
    /// How decompression continues after a call.
    enum State {
        /// More input is needed, or more room for output.
        case running
        /// The stream is complete. Further input does not belong to it.
        case ended
        case damaged
        case outOfMemory
    }

    private let stream: ZlibStream

    /// Returns `nil` if no memory is left.
    init?() {
        let stream = unsafe ZlibStream(
            {
                // Negative: raw data without a header of zlib.
                unsafe inflateInit2_($0, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
            }, end: { unsafe inflateEnd($0) })
        guard let stream else { return nil }
        self.stream = stream
    }

    /// Decompresses bytes of `input` from `position` on, which moves behind those that were consumed, and appends up to
    /// `count` bytes to `output`, also if it returns ``State/damaged``.
    func decompress(
        _ input: [UInt8], from position: inout Int, into output: inout [UInt8], atMost count: Int
    ) -> State {
        let code = unsafe stream.step(input, from: &position, to: input.count, into: &output, atMost: count) {
            unsafe inflate($0, Z_NO_FLUSH)
        }
        switch code {
        // A buffer error only says that there was nothing to do.
        case Z_OK, Z_BUF_ERROR: return .running
        case Z_STREAM_END: return .ended
        case Z_MEM_ERROR: return .outOfMemory
        default: return .damaged
        }
    }
}
