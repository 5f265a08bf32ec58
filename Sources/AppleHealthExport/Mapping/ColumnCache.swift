/// What the texts of a column mean, remembered for the texts that were seen last: most columns repeat a few.
struct ColumnCache<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var text: [UInt8]
        var value: Value
    }

    private var entries: [Entry?] = Array(repeating: nil, count: ColumnCache.slots)

    private static var slots: Int { 64 }
    /// The length of a text that is worth remembering.
    private static var lengthLimit: Int { 128 }

    /// Returns the meaning of a text, and computes it if it is not remembered.
    @inline(__always)
    mutating func value(
        of bytes: [UInt8], _ range: Range<Int>, compute: (String) throws(RowDefect) -> Value
    ) throws(RowDefect) -> Value {
        guard range.count <= ColumnCache.lengthLimit else {
            return try compute(String(decoding: bytes[range], as: UTF8.self))
        }
        let slot = ColumnCache.slot(of: bytes, range)
        if let entry = entries[slot], ColumnCache.isSame(entry.text, bytes, range) { return entry.value }
        let value = try compute(String(decoding: bytes[range], as: UTF8.self))
        entries[slot] = Entry(text: Array(bytes[range]), value: value)
        return value
    }

    private static func slot(of bytes: [UInt8], _ range: Range<Int>) -> Int {
        var hash: UInt32 = 0x811C_9DC5
        for index in range { hash = (hash ^ UInt32(bytes[index])) &* 0x0100_0193 }
        return Int((hash ^ hash >> 16) & UInt32(slots - 1))
    }

    private static func isSame(_ text: [UInt8], _ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        guard text.count == range.count else { return false }
        var index = range.lowerBound
        for byte in text {
            if byte != bytes[index] { return false }
            index += 1
        }
        return true
    }
}

/// Why a row is not taken.
struct RowDefect: Error {
    /// What is wrong, in words and without any value of the file.
    let reason: String

    init(_ reason: String) { self.reason = reason }

    /// Creates a defect of a column.
    init(column: String, _ problem: String) {
        // A header is text of the file: it is named, but never at length.
        let name = column.utf8.count > 100 ? String(column.prefix(60)) + "…" : column
        reason = "column \"\(name)\": \(problem)"
    }
}
