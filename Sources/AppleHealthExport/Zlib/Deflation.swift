import CZlib

/// Compresses to streams of raw deflate data, one after the other. It holds some 270 KB.
final class Deflation {
    /// The output is appended in pieces of this size.
    private static let pieceSize = 64 << 10

    private let stream: ZlibStream

    /// Returns `nil` if no memory is left.
    init?() {
        let memoryLevel: Int32 = 8  // zlib's default
        let stream = unsafe ZlibStream(
            {
                // Negative: raw data without a header of zlib.
                unsafe deflateInit2_(
                    $0, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                    Int32(MemoryLayout<z_stream>.size))
            }, end: { unsafe deflateEnd($0) })
        guard let stream else { return nil }
        self.stream = stream
    }

    /// Compresses the bytes of `range` and appends what is complete to `output`.
    func compress(_ input: [UInt8], in range: Range<Int>, into output: inout [UInt8]) {
        var position = range.lowerBound
        while position < range.upperBound {
            step(input, from: &position, to: range.upperBound, into: &output, flush: Z_NO_FLUSH)
        }
    }

    /// Completes the stream, appends its last bytes to `output` and gets ready for the next stream.
    func finish(into output: inout [UInt8]) {
        var position = 0
        while step([], from: &position, to: 0, into: &output, flush: Z_FINISH) != Z_STREAM_END {}
        unsafe stream.reset { unsafe deflateReset($0) }
    }

    @discardableResult
    private func step(
        _ input: [UInt8], from position: inout Int, to end: Int, into output: inout [UInt8], flush: Int32
    ) -> Int32 {
        let code = unsafe stream.step(input, from: &position, to: end, into: &output, atMost: Self.pieceSize) {
            unsafe deflate($0, flush)
        }
        // Only a stream that this object never makes is an error: overwritten, or continued behind its end.
        precondition(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "zlib cannot compress")
        return code
    }
}
