import HealthModel

/// One change in a store's feed.
public struct Change: Sendable, Hashable {
    /// What happened to the store.
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

    /// What happened.
    public let kind: Kind
    /// The place of the change: pass it to go on behind it.
    public let token: ChangeToken
}

/// What is known of a deleted sample.
public struct DeletedSample: Sendable, Hashable, Codable {
    /// The id that the sample had.
    public let id: SampleID
    /// The type that it had.
    public let type: SampleType
    /// Its source; without a name where no tombstone was left.
    public let source: SourceIdentity
    /// Its sync identifier, by which peers know it, if it had one.
    public let syncIdentifier: String?
    /// The version that was deleted; only a greater one lives again. 0 when no tombstone was left: the sample is gone from
    /// here, or has another type now, and there is nothing to pass on.
    public let version: Int64
    /// When and where it was deleted: what a peer compares with its own version.
    public let modified: ChangeClock
    /// The group that it belonged to, such as a meal; `nil` where it had none, or nobody says so. Like the sync identifier it is
    /// kept until every peer has heard of the deletion.
    public let group: String?

    /// A deletion as another store, or whoever keeps such records, tells of it.
    public init(
        id: SampleID, type: SampleType, source: SourceIdentity, syncIdentifier: String?, version: Int64,
        modified: ChangeClock, group: String? = nil
    ) {
        self.id = id
        self.type = type
        self.source = source
        self.syncIdentifier = syncIdentifier
        self.version = version
        self.modified = modified
        self.group = group
    }

    /// The deletion of another version of the sample.
    package func raised(to version: Int64, at clock: ChangeClock? = nil) -> DeletedSample {
        DeletedSample(
            id: id, type: type, source: source, syncIdentifier: syncIdentifier, version: version,
            modified: clock ?? modified, group: group)
    }

    /// Whether the sample was hidden here and still exists at its source: nothing is to be deleted there.
    public var isHidden: Bool { version == Sample.versionLimit }
}

/// What a mass operation took away: samples of a source, or of a type that start in `from..<to`.
public struct RangeRemoval: Sendable, Hashable {
    /// The type of a removed range; `nil` when all samples of a source went.
    public let type: SampleType?
    /// The source that was removed in all its types; `nil` when a range went.
    public let source: SourceIdentity?
    /// Samples that start here or later went.
    public let from: Instant
    /// Samples that start before this went.
    public let to: Instant

    /// Whether it takes away a sample that was changed before it.
    public func covers(_ sample: Sample) -> Bool {
        if let source { return sample.source.identity == source }
        return sample.type == type && sample.start >= from && sample.start < to
    }
}

/// A page of the feed.
public struct ChangePage: Sendable {
    /// The changes in the order in which they were made; fewer than the limit does not mean that there is no more.
    public let changes: [Change]
    /// Where the next page begins.
    public let next: ChangeToken
    /// Whether there is more now.
    public let hasMore: Bool
}
