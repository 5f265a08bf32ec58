/// A stream of bytes that is read once, from the start to the end.
package protocol ByteSource {
    /// Appends up to `count` bytes to `buffer` and returns how many. Returns 0 at the end of the stream, and less than
    /// `count` also before the end.
    mutating func read(into buffer: inout [UInt8], atMost count: Int) throws -> Int
}
