extension Span where Element == UInt8 {
    /// Whether some bytes stand at a place.
    @inline(__always)
    func matches(_ bytes: [UInt8], at place: Int) -> Bool {
        guard place >= 0, place <= count - bytes.count else { return false }
        for index in bytes.indices where self[place + index] != bytes[index] { return false }
        return true
    }

    /// Returns the first place of some bytes in a range.
    func firstPlace(of bytes: [UInt8], from start: Int, to limit: Int? = nil) -> Int? {
        let end = (limit ?? count) - bytes.count
        guard let first = bytes.first, start <= end else { return nil }
        var place = start
        while place <= end {
            if self[place] == first, matches(bytes, at: place) { return place }
            place += 1
        }
        return nil
    }

    /// Returns the first place from `start` on that holds none of XML's white space.
    @inline(__always)
    func skippingSpace(from start: Int) -> Int {
        var place = start
        while place < count, isSpace(self[place]) { place += 1 }
        return place
    }

    /// Copies a range.
    func copied(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        for place in range { bytes.append(self[place]) }
        return bytes
    }
}

/// Whether a byte is one of XML's white space.
@inline(__always)
func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
