/// Why a decoder refused bytes from a store. No case carries a health value.
public struct FormatError: Error, Hashable, Sendable {
    /// The kind of error. Codes are stable; cases may be added.
    public enum Code: String, Sendable {
        /// The value is shorter than its fields claim.
        case truncated
        /// The bytes do not match their checksum.
        case checksum
        /// The value belongs to another table or key.
        case misplaced
        /// A version, column or encoding that this release does not know.
        case unknown
        /// A version above the version that this release writes, or a flag that it reserves: a newer release wrote the
        /// value.
        case newer
        /// A version of before the first release, which is not read any more.
        case older
        /// A field outside its bounds.
        case invalid
        /// The body is sealed, and the key that opens it is not there.
        case sealed
    }

    /// The kind of error.
    public let code: Code
    /// The refused field or column.
    public let field: String

    public init(_ code: Code, _ field: String) {
        self.code = code
        self.field = field
    }
}

extension FormatError {
    /// The error of a version that is not the one that this release reads and writes.
    public init(ofVersion version: UInt32, current: UInt32, _ field: String) {
        self.init(version > current ? .newer : version == 0 ? .unknown : .older, field)
    }

    /// Whether the value is intact but only a newer release can read it. This is not damage.
    public var isOfNewerRelease: Bool { code == .newer }
}

extension FormatError: CustomStringConvertible {
    /// The field of a value that is cut off as a whole.
    private static let whole = "value"

    public var description: String {
        switch code {
        case .truncated where field == FormatError.whole: "the value is cut off"
        case .truncated: "the value ends before its \(field)"
        case .checksum: "the checksum of the \(field) does not match"
        case .misplaced: "the value does not belong here (\(field))"
        case .unknown: "the value holds an unknown \(field)"
        case .newer: "the value has a newer \(field)"
        case .older: "the value has an older \(field)"
        case .invalid: "the \(field) is out of bounds"
        case .sealed: "the \(field) is sealed by a cipher"
        }
    }
}
