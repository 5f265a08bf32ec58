import CZlib

// The calls into zlib that write. This file and Inflation.swift have all unsafe code of the module, since zlib takes
// pointers.

/// Compresses to streams of raw deflate data, one after the other. It holds some 270 KB.
///
/// unsafe: zlib's state points back to its stream, so the stream lives at one address, from `init` to `deinit`, and
/// never leaves this object. Its pointers to input and output are set for the time of one call only.
@safe final class Deflation {
    /// The output is appended in pieces of this size.
    private static let pieceSize = 64 << 10

    private let stream: UnsafeMutablePointer<z_stream>

    /// Returns `nil` if no memory is left.
    init?() {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let memoryLevel: Int32 = 8  // zlib's default
        // Negative: raw data without a header of zlib.
        let code = unsafe deflateInit2_(
            stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else {
            unsafe stream.deallocate()
            return nil
        }
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
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
        unsafe deflateReset(stream)
    }

    @discardableResult
    private func step(
        _ input: [UInt8], from position: inout Int, to end: Int, into output: inout [UInt8], flush: Int32
    ) -> Int32 {
        let available = UInt32(clamping: end - position)
        var code = Z_OK
        output.growAtLeast(by: Self.pieceSize)
        unsafe input.withUnsafeBufferPointer { source in
            output.append(addingCapacity: Self.pieceSize) { room in
                unsafe room.withUnsafeMutableBufferPointer { target, initialized in
                    let length = UInt32(clamping: target.count)
                    // zlib does not write to its input.
                    unsafe stream.pointee.next_in = source.baseAddress.map {
                        unsafe UnsafeMutablePointer(mutating: $0 + position)
                    }
                    unsafe stream.pointee.avail_in = available
                    unsafe stream.pointee.next_out = target.baseAddress
                    unsafe stream.pointee.avail_out = length
                    code = unsafe deflate(stream, flush)
                    unsafe initialized = Int(length - stream.pointee.avail_out)
                    unsafe stream.pointee.next_in = nil
                    unsafe stream.pointee.next_out = nil
                }
            }
        }
        position += Int(unsafe available - stream.pointee.avail_in)
        // Only a stream that this object never makes is an error: overwritten, or continued behind its end.
        precondition(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "zlib cannot compress")
        return code
    }
}
