import ColumnFormat

/// What the header of a store tells a search. The search itself knows values, but no records.
public struct HeaderFacts: Sendable, Hashable {
    /// LMDB's transaction that wrote the header.
    public let transaction: UInt64
    public let stamp: CommitStamp
    /// The sum over the records; `nil` if it is not known.
    public let recordSum: UInt64?

    public var commit: UInt64 { stamp.commit }

    public init(transaction: UInt64, stamp: CommitStamp, recordSum: UInt64?) {
        (self.transaction, self.stamp, self.recordSum) = (transaction, stamp, recordSum)
    }
}

/// What the search must know of records.
public struct SalvageRules: Sendable {
    /// The key of the header in the table `meta`.
    let headerKey: [UInt8]
    /// The key of the record of sessions in the table `upkeep`.
    let sessionsKey: [UInt8]
    /// Returns what a header says; `nil` for bytes that are none.
    let facts: @Sendable ([UInt8]) -> HeaderFacts?
    /// Returns the error of a header that another release wrote, in its own format; `nil` for any other bytes.
    let otherFormat: @Sendable ([UInt8]) -> FormatError?
    /// Returns the last commits of the sessions in a record of them; `nil` for bytes that are none.
    let ended: @Sendable ([UInt8]) -> [CommitStamp]?
    /// Returns what a record adds to the sum; `nil` if the sum leaves it out.
    let term: @Sendable (TableCode, [UInt8], UInt64) -> UInt64?
    /// Returns a value as it was before it was sealed, and the same bytes for a value that is not sealed or cannot be
    /// opened without a key; `nil` for bytes that nobody wrote who has the key.
    let opened: @Sendable ([UInt8]) -> [UInt8]?
    /// Whether values with one wrong bit are mended.
    let mends: Bool
    /// Whether values are left out whose commit never happened, as the sessions say.
    let asksSessions: Bool

    public init(
        headerKey: [UInt8], sessionsKey: [UInt8], mends: Bool, asksSessions: Bool,
        facts: @escaping @Sendable ([UInt8]) -> HeaderFacts?,
        otherFormat: @escaping @Sendable ([UInt8]) -> FormatError?,
        ended: @escaping @Sendable ([UInt8]) -> [CommitStamp]?,
        term: @escaping @Sendable (TableCode, [UInt8], UInt64) -> UInt64?,
        opened: @escaping @Sendable ([UInt8]) -> [UInt8]?
    ) {
        (self.headerKey, self.sessionsKey) = (headerKey, sessionsKey)
        (self.mends, self.asksSessions) = (mends, asksSessions)
        (self.facts, self.otherFormat, self.ended, self.term) = (facts, otherFormat, ended, term)
        self.opened = opened
    }

    /// Returns `true` if the bytes are a whole value that belongs to a key of a table.
    public func isSound(_ bytes: [UInt8], _ table: TableCode, key: [UInt8]) -> Bool {
        ValueCheck.isSound(bytes, table, key: key, self)
    }
}

/// Where a value was found.
public enum ValueOrigin: UInt8, Sendable, Comparable {
    /// On a page that was given up, or never became part of the store.
    case stale
    /// On a page that nothing explains, while the list of free pages cannot be read.
    case unsure
    /// On a page that is neither in a tree nor listed as free: the page that led to it is damaged.
    case current
    /// In its tree.
    case tree

    public static func < (one: ValueOrigin, other: ValueOrigin) -> Bool { one.rawValue < other.rawValue }
}

/// A value, or its remains, in the file.
public struct FoundValue: Sendable {
    public let table: TableCode
    /// The key under which the table held it.
    public let key: [UInt8]
    public let stamp: CommitStamp
    /// Where it is in the file.
    public let offset: UInt64
    public let count: Int
    public internal(set) var origin: ValueOrigin
    /// Whether the value is whole, after mending.
    public internal(set) var isWhole = true
    /// The value with a bit set right; `nil` if it needed none.
    public internal(set) var mended: [UInt8]?

    public var commit: UInt64 { stamp.commit }
}
