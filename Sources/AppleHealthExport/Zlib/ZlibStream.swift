import CZlib

// All unsafe code of the module is in this folder: zlib takes pointers.

/// The state of one stream of zlib, and the one step that compressing and decompressing share.
///
/// unsafe: zlib's state points back to its stream, so the stream lives at one address, from `init` to `deinit`, and
/// never leaves this object. Its pointers to input and output are set for the time of one call only.
@safe final class ZlibStream {
    private let stream: UnsafeMutablePointer<z_stream>
    private let end: (UnsafeMutablePointer<z_stream>) -> Void

    /// Returns `nil` if no memory is left.
    ///
    /// - Parameters:
    ///   - begin: prepares the stream.
    ///   - end: frees what belongs to it.
    init?(
        _ begin: (UnsafeMutablePointer<z_stream>) -> Int32, end: @escaping (UnsafeMutablePointer<z_stream>) -> Void
    ) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe begin(stream) == Z_OK else {
            unsafe stream.deallocate()
            return nil
        }
        unsafe self.end = end
    }

    deinit {
        unsafe end(stream)
        unsafe stream.deallocate()
    }

    /// Calls zlib once: with the input from `position` to `end`, moving `position` behind what was consumed, and with
    /// room for `count` bytes, which are appended to `output`. Returns zlib's code.
    func step(
        _ input: [UInt8], from position: inout Int, to end: Int, into output: inout [UInt8], atMost count: Int,
        _ call: (UnsafeMutablePointer<z_stream>) -> Int32
    ) -> Int32 {
        let available = UInt32(clamping: end - position)
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
                    code = unsafe call(stream)
                    unsafe initialized = Int(length - stream.pointee.avail_out)
                    unsafe stream.pointee.next_in = nil
                    unsafe stream.pointee.next_out = nil
                }
            }
        }
        position += Int(unsafe available - stream.pointee.avail_in)
        return code
    }

    /// Gets ready for another stream.
    func reset(_ call: (UnsafeMutablePointer<z_stream>) -> Int32) { _ = unsafe call(stream) }
}

extension [UInt8] {
    /// Makes room for more bytes, at least twofold, so that bytes appended piece by piece are moved only a few times.
    fileprivate mutating func growAtLeast(by count: Int) {
        if capacity - self.count < count { reserveCapacity(Swift.max(self.count + count, 2 * self.count)) }
    }
}
