import HealthModel

/// One change in a store's feed.
public struct Change: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// A sample was saved, for the first time or anew. This is how it stands now.
        case saved(Sample)
        /// A sample was deleted.
        case deleted(DeletedSample)
        /// A mass operation took away whatever it covers of the changes before this one.
        case removedRange(RangeRemoval)
        /// The feed cannot go on; it ends here. Only observation gives this.
        case interrupted(String)
    }

    public let kind: Kind
    /// The place of the change: pass it to go on behind it.
    public let token: ChangeToken
}

/// What is known of a deleted sample.
public struct DeletedSample: Sendable, Hashable {
    public let id: SampleID
    public let type: SampleType
    public let source: SourceIdentity
    public let syncIdentifier: String?
    /// The version that was deleted; only a greater one lives again. 0 when no tombstone was left: the sample is gone from
    /// here, or has another type now, and there is nothing to pass on.
    public let version: Int64
    public let modified: ChangeClock
}

/// What a mass operation took away: samples of a source, or of a type that start in `from..<to`.
public struct RangeRemoval: Sendable, Hashable {
    public let type: SampleType?
    public let source: SourceIdentity?
    public let from: Instant
    public let to: Instant

    /// Whether it takes away a sample that was changed before it.
    public func covers(_ sample: Sample) -> Bool {
        if let source { return sample.source.identity == source }
        return sample.type == type && sample.start >= from && sample.start < to
    }
}

/// A page of the feed.
public struct ChangePage: Sendable {
    public let changes: [Change]
    /// Where the next page begins.
    public let next: ChangeToken
    /// Whether there is more now.
    public let hasMore: Bool
}
