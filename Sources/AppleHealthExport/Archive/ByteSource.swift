/// A stream of bytes that is read once, from the start to the end.
///
/// ```swift
/// var source: any ByteSource = try FileSource(path: "export.xml")
/// var piece: [UInt8] = []
/// while try source.read(into: &piece, atMost: 65_536) > 0 {
///     print(piece.count)
///     piece.removeAll(keepingCapacity: true)
/// }
/// ```
package protocol ByteSource {
    /// Appends up to `count` bytes to `buffer` and returns how many. Returns 0 at the end of the stream, and less than
    /// `count` also before the end.
    mutating func read(into buffer: inout [UInt8], atMost count: Int) throws -> Int
}
