import HealthModel

/// A place in a store's feed of changes: everything up to it was seen.
///
/// A token belongs to one store and one epoch of it. Its text form can be kept anywhere.
///
/// ```swift
/// let page = try store.read { try $0.changes(since: token) }
/// token = page.next
/// ```
public struct ChangeToken: Hashable, Sendable, Comparable {
    public let store: SampleID
    public let epoch: UInt32
    public let commit: UInt64
    public let ordinal: UInt32

    /// By commit and ordinal; tokens of different stores have no order that means anything.
    public static func < (left: ChangeToken, right: ChangeToken) -> Bool {
        (left.commit, left.ordinal) < (right.commit, right.ordinal)
    }
}

extension ChangeToken: LosslessStringConvertible, CustomStringConvertible {
    public var description: String { "kv1:\(store):\(epoch):\(commit):\(ordinal)" }

    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "kv1", let store = SampleID(String(parts[1])), let epoch = UInt32(parts[2]),
            let commit = UInt64(parts[3]), let ordinal = UInt32(parts[4])
        else { return nil }
        self.init(store: store, epoch: epoch, commit: commit, ordinal: ordinal)
    }
}

extension ChangeToken: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let token = ChangeToken(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a change token")
        }
        self = token
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
