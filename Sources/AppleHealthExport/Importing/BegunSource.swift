/// A stream of which the first bytes were already looked at.
struct BegunSource: ByteSource {
    private var first: [UInt8] = []
    private var rest: FileSource

    init(rest: FileSource) { self.rest = rest }

    /// Returns `true` if the stream begins like a zip archive.
    mutating func beginsLikeArchive() throws -> Bool {
        while first.count < ZipArchive.signatureSize {
            let missing = ZipArchive.signatureSize - first.count
            if try rest.read(into: &first, atMost: missing) == 0 { return false }
        }
        return ZipArchive.isZip(first)
    }

    mutating func read(into buffer: inout [UInt8], atMost count: Int) throws -> Int {
        if first.isEmpty { return try rest.read(into: &buffer, atMost: count) }
        let piece = first.prefix(count)
        buffer += piece
        first.removeFirst(piece.count)
        return piece.count
    }
}
