import HealthModel

/// A position in a store's feed of changes: its reader has seen everything up to it.
///
/// A token belongs to one store, one epoch of it, and one history: a file that was copied or rolled back, and went on
/// from there, refuses tokens of commits that it has not written itself. The text form can be stored anywhere.
///
/// ```swift
/// let page = try store.read { try $0.changes(since: token) }
/// token = page.next
/// ```
public struct ChangeToken: Hashable, Sendable, Comparable {
    /// The store that the token belongs to. Every other store refuses it.
    public let store: SampleID
    /// The epoch of the store. A restored copy begins a new one and refuses older tokens.
    public let epoch: UInt32
    /// The commit that contains the position.
    public let commit: UInt64
    /// The position within the commit. The greatest number is the position after the whole commit.
    public let ordinal: UInt32
    /// The last commit of the store when a reader began at the beginning of the feed; kept until the reader has read
    /// that far. The reader has never seen samples that were deleted before that commit.
    let origin: UInt64
    /// The last commit of the store when the page before this position was read. A reader that is not at the end of the
    /// feed has passed over samples that later commits changed, up to this one: it relies on the feed to report them
    /// there. In a file that was rolled back to a state before this commit, they are at their earlier positions again.
    package let head: UInt64
    /// The mark of the last commit up to ``head`` that changed samples; 0 if there was none. Two files that diverged
    /// from one state may agree in the number of a commit, but never in its mark.
    let mark: UInt64

    /// - Parameter head: if omitted, the position's own commit.
    init(
        store: SampleID, epoch: UInt32, commit: UInt64, ordinal: UInt32, head: UInt64? = nil, mark: UInt64,
        origin: UInt64 = 0
    ) {
        self.store = store
        self.epoch = epoch
        self.commit = commit
        self.ordinal = ordinal
        self.head = max(commit, head ?? commit)
        self.mark = mark
        self.origin = origin > commit ? origin : 0
    }

    /// Two tokens are equal if their positions are, whenever these were read.
    public static func == (left: ChangeToken, right: ChangeToken) -> Bool {
        (left.store, left.epoch, left.commit, left.ordinal) == (right.store, right.epoch, right.commit, right.ordinal)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(store)
        hasher.combine(epoch)
        hasher.combine(commit)
        hasher.combine(ordinal)
    }

    /// Orders tokens by commit and ordinal. The order of tokens of different stores is meaningless.
    public static func < (left: ChangeToken, right: ChangeToken) -> Bool {
        (left.commit, left.ordinal) < (right.commit, right.ordinal)
    }
}

extension ChangeToken {
    /// Returns `true` if both tokens are positions in the same feed, so that their order is meaningful.
    package func isComparable(to other: ChangeToken) -> Bool { store == other.store && epoch == other.epoch }

    /// Returns the later of two positions; this one if the other belongs to another store or epoch.
    package func greatest(with other: ChangeToken?) -> ChangeToken {
        guard let other, isComparable(to: other) else { return self }
        return max(self, other)
    }
}

extension ChangeToken: LosslessStringConvertible, CustomStringConvertible {
    public var description: String {
        "kv1:\(store):\(epoch):\(commit):\(ordinal):\(mark)" + (head > commit ? ":\(head):\(origin)" : "")
    }

    /// Creates a token from its text form; `nil` for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6 || parts.count == 8, parts[0] == "kv1", let store = SampleID(String(parts[1])),
            let epoch = UInt32(parts[2]), let commit = UInt64(parts[3]), let ordinal = UInt32(parts[4]),
            let mark = UInt64(parts[5])
        else { return nil }
        var (head, origin) = (commit, 0 as UInt64)
        if parts.count == 8 {
            guard let last = UInt64(parts[6]), last > commit, let first = UInt64(parts[7]),
                first == 0 || first > commit && first <= last
            else { return nil }
            (head, origin) = (last, first)
        }
        self.init(
            store: store, epoch: epoch, commit: commit, ordinal: ordinal, head: head, mark: mark, origin: origin)
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

/// How a position in a feed relates to the history of a file.
package enum TokenFit: Sendable, Hashable {
    /// The file contains the whole history up to the position.
    case fits
    /// The position belongs to another store.
    case otherStore
    /// The position belongs to another epoch: either side was restored since, and this is known.
    case otherEpoch
    /// The file has not reached the position: it was rolled back.
    case ahead
    /// The file has reached the position by other commits: it was rolled back and then continued, or the token belongs
    /// to a copy that did.
    case forked

    /// Whether the file, or the copy that issued the token, was rolled back without the restore being noticed.
    package var isRolledBack: Bool { self == .ahead || self == .forked }
}
