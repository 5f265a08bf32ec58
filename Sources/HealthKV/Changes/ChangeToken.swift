import HealthModel

/// A place in a store's feed of changes: everything up to it was seen.
///
/// A token belongs to one store, one epoch of it, and one history: a file that was copied or rolled back, and went on from there,
/// refuses what it has not written itself. Its text form can be kept anywhere.
///
/// ```swift
/// let page = try store.read { try $0.changes(since: token) }
/// token = page.next
/// ```
public struct ChangeToken: Hashable, Sendable, Comparable {
    /// The store that the token belongs to; every other store refuses it.
    public let store: SampleID
    /// The epoch of the store: a restored copy begins a new one and refuses older tokens.
    public let epoch: UInt32
    /// The commit that the place lies in.
    public let commit: UInt64
    /// The place within the commit; the greatest number stands behind all of it.
    public let ordinal: UInt32
    /// Where the store stood when its reader began at the beginning, as long as it has not read so far: what was deleted
    /// before then, it has never seen.
    let origin: UInt64
    /// The mark of the last commit up to this one that changed samples; 0 where there was none. Two files that went on from
    /// one agree in the number of a commit, and never in its mark.
    let mark: UInt64

    init(store: SampleID, epoch: UInt32, commit: UInt64, ordinal: UInt32, mark: UInt64, origin: UInt64 = 0) {
        self.store = store
        self.epoch = epoch
        self.commit = commit
        self.ordinal = ordinal
        self.mark = mark
        self.origin = origin > commit ? origin : 0
    }

    /// By commit and ordinal; tokens of different stores have no order that means anything.
    public static func < (left: ChangeToken, right: ChangeToken) -> Bool {
        (left.commit, left.ordinal) < (right.commit, right.ordinal)
    }
}

extension ChangeToken {
    /// Whether both are places in one feed, so that their order means something.
    package func isComparable(to other: ChangeToken) -> Bool { store == other.store && epoch == other.epoch }

    /// The farther of two places; this one where the other is of another store or epoch.
    package func greatest(with other: ChangeToken?) -> ChangeToken {
        guard let other, isComparable(to: other) else { return self }
        return max(self, other)
    }
}

extension ChangeToken: LosslessStringConvertible, CustomStringConvertible {
    public var description: String {
        "kv1:\(store):\(epoch):\(commit):\(ordinal):\(mark)" + (origin > 0 ? ":\(origin)" : "")
    }

    /// A token from its text form; `nil` for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6 || parts.count == 7, parts[0] == "kv1", let store = SampleID(String(parts[1])),
            let epoch = UInt32(parts[2]),
            let commit = UInt64(parts[3]), let ordinal = UInt32(parts[4]),
            let mark = UInt64(parts[5]),
            let origin = parts.count == 6 ? 0 : UInt64(parts[6]), parts.count == 6 || origin > commit
        else { return nil }
        self.init(store: store, epoch: epoch, commit: commit, ordinal: ordinal, mark: mark, origin: origin)
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
