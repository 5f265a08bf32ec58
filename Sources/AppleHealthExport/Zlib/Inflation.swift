import CZlib

// The calls into zlib that read. This file and Deflation.swift have all unsafe code of the module, since zlib takes
// pointers.

/// Decompresses one stream of raw deflate data. It holds some 40 KB.
///
/// unsafe: zlib's state points back to its stream, so the stream lives at one address, from `init` to `deinit`, and
/// never leaves this object. Its pointers to input and output are set for the time of one call only.
@safe final class Inflation {
    /// How decompression continues after a call.
    enum State {
        /// More input is needed, or more room for output.
        case running
        /// The stream is complete. Further input does not belong to it.
        case ended
        case damaged
        case outOfMemory
    }

    private let stream: UnsafeMutablePointer<z_stream>

    /// Returns `nil` if no memory is left.
    init?() {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // Negative: raw data without a header of zlib.
        let code = unsafe inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else {
            unsafe stream.deallocate()
            return nil
        }
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Decompresses bytes of `input` from `position` on, which moves behind those that were consumed, and appends up to
    /// `count` bytes to `output`, also if it returns ``State/damaged``.
    func decompress(
        _ input: [UInt8], from position: inout Int, into output: inout [UInt8], atMost count: Int
    ) -> State {
        let available = UInt32(clamping: input.count - position)
        var code = Z_OK
        output.growAtLeast(by: count)
        unsafe input.withUnsafeBufferPointer { source in
            output.append(addingCapacity: count) { room in
                unsafe room.withUnsafeMutableBufferPointer { target, initialized in
                    let length = UInt32(clamping: target.count)
                    // zlib does not write to its input.
                    unsafe stream.pointee.next_in = source.baseAddress.map {
                        unsafe UnsafeMutablePointer(mutating: $0 + position)
                    }
                    unsafe stream.pointee.avail_in = available
                    unsafe stream.pointee.next_out = target.baseAddress
                    unsafe stream.pointee.avail_out = length
                    code = unsafe inflate(stream, Z_NO_FLUSH)
                    unsafe initialized = Int(length - stream.pointee.avail_out)
                    unsafe stream.pointee.next_in = nil
                    unsafe stream.pointee.next_out = nil
                }
            }
        }
        position += Int(unsafe available - stream.pointee.avail_in)
        switch code {
        // A buffer error only says that there was nothing to do.
        case Z_OK, Z_BUF_ERROR: return .running
        case Z_STREAM_END: return .ended
        case Z_MEM_ERROR: return .outOfMemory
        default: return .damaged
        }
    }
}

/// The CRC-32 of bytes that come in pieces.
struct Checksum {
    private(set) var value: UInt32 = 0

    /// Adds the bytes from `start` on.
    mutating func add(_ bytes: [UInt8], from start: Int = 0) {
        let before = uLong(value)
        let after = unsafe bytes.withUnsafeBufferPointer { source in
            let rest = unsafe UnsafeBufferPointer(rebasing: source[start...])
            // Without an address, zlib would return the checksum of no bytes.
            return unsafe rest.isEmpty ? before : crc32_z(before, rest.baseAddress, rest.count)
        }
        value = UInt32(truncatingIfNeeded: after)
    }
}

extension [UInt8] {
    /// Makes room for more bytes, at least twofold, so that bytes appended piece by piece are moved only a few times.
    mutating func growAtLeast(by count: Int) {
        if capacity - self.count < count { reserveCapacity(Swift.max(self.count + count, 2 * self.count)) }
    }
}
