/// The name of a peer in a store, such as `"health"`. The store keeps everything that it knows of a peer under this
/// name, so a peer keeps its name for ever.
public struct PeerID: RawRepresentable, Sendable, Hashable, Comparable, Codable, CodingKeyRepresentable {
    /// The name as text.
    public let rawValue: String

    /// Creates the id of the peer with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates the id of the peer with a name.
    public init(_ name: String) { rawValue = name }

    /// Orders peers by name.
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension PeerID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates the id of the peer with a name.
    public init(stringLiteral name: String) { rawValue = name }
    /// The name.
    public var description: String { rawValue }
}
