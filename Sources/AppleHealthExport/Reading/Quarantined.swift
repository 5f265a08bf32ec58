/// A part of a file that was not taken.
package struct Quarantined: Sendable, Equatable {
    /// Where the part begins in the file.
    package var offset: Int
    /// The line, where lines are counted.
    package var line: Int?
    /// Why it was not taken, without any value of it.
    package var reason: String
    /// The part as it stands in the file.
    package var bytes: [UInt8]

    package init(offset: Int, line: Int? = nil, reason: String, bytes: [UInt8]) {
        self.offset = offset
        self.line = line
        self.reason = reason
        self.bytes = bytes
    }
}
