/// A part of a file that was not taken, kept so that its owner can look at it.
package struct Quarantined: Sendable, Equatable {
    /// The position of the first byte in the file.
    package var offset: Int
    /// The number of the line on which the part begins, counted from 1; `nil` if it is not known.
    package var line: Int?
    /// What is wrong, in words and without any value of the file.
    package var reason: String
    /// The bytes as they are in the file, at most a mebibyte of them.
    package var bytes: [UInt8]

    private static let longest = 1 << 20

    /// Creates the report of a part that was not taken.
    package init(offset: Int, line: Int? = nil, reason: String, bytes: [UInt8]) {
        self.offset = offset
        self.line = line
        let isWhole = bytes.count <= Quarantined.longest
        self.reason = isWhole ? reason : "\(reason) (the first mebibyte of \(bytes.count) bytes)"
        self.bytes = isWhole ? bytes : Array(bytes[..<Quarantined.longest])
    }
}
