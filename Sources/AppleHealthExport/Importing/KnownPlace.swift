/// What a search in a file found last: a file with much that is damaged asks for the same place again and again.
struct KnownPlace {
    /// From where on was searched, and what was found; offsets from the start of the file.
    private var found: (from: Int, place: Int)?
    /// From where on nothing was found, and up to where.
    private var nothing: (from: Int, end: Int)?

    /// Returns the first place at or behind `start` that a search finds.
    ///
    /// - Parameter offset: where the bytes begin in the file.
    mutating func next(
        _ bytes: borrowing Span<UInt8>, from start: Int, at offset: Int,
        _ search: (borrowing Span<UInt8>, Int) -> Int?
    ) -> Int? {
        let from = offset + start
        if let found, found.from <= from, from <= found.place, found.place < offset + bytes.count {
            return found.place - offset
        }
        if let nothing, nothing.from <= from, nothing.end == offset + bytes.count { return nil }
        let place = search(bytes, start)
        if let place {
            found = (from, offset + place)
        } else {
            nothing = (from, offset + bytes.count)
        }
        return place
    }
}
