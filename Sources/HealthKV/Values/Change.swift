import HealthModel

/// One change in a store's feed.
public struct Change: Sendable, Hashable {
    /// What happened to the store.
    public enum Kind: Sendable, Hashable {
        /// A sample was saved, for the first time or again. The value is its current state.
        case saved(Sample)
        /// A sample was deleted.
        case deleted(DeletedSample)
        /// A mass operation removed every sample that it covers among the changes before this one.
        case removedRange(RangeRemoval)
        /// The feed cannot continue; it ends here. Only observation produces this.
        case interrupted(String)
    }

    /// What happened.
    public let kind: Kind
    /// The position of the change. Pass it to continue after the change.
    public let token: ChangeToken
}

/// A deleted sample.
public struct DeletedSample: Sendable, Hashable, Codable {
    /// The id that the sample had.
    public let id: SampleID
    /// The type that it had.
    public let type: SampleType
    /// Its source; without a name if no tombstone is left.
    public let source: SourceIdentity
    /// Its sync identifier, by which peers know it, if it had one.
    public let syncIdentifier: String?
    /// The version that was deleted; only a greater version makes the sample live again. 0 if no tombstone is left: the
    /// sample is gone from here, or has another type now, and there is nothing to pass on.
    public let version: Int64
    /// When and where the sample was deleted. A peer compares this with its own version.
    public let modified: ChangeClock
    /// The group that the sample belonged to, such as a meal; `nil` if it had none, or the group is unknown. Like the
    /// sync identifier, it is kept until every peer has received the deletion.
    public let group: String?
    /// When the sample started and ended, if that is known. By this, an import of a file without ids recognises it.
    public let start, end: Instant?

    /// Creates a deletion as another store, or another keeper of such records, reports it.
    public init(
        id: SampleID, type: SampleType, source: SourceIdentity, syncIdentifier: String?, version: Int64,
        modified: ChangeClock, group: String? = nil, start: Instant? = nil, end: Instant? = nil
    ) {
        self.id = id
        self.type = type
        self.source = source
        self.syncIdentifier = syncIdentifier
        self.version = version
        self.modified = modified
        self.group = group
        (self.start, self.end) = (start, end)
    }

    /// Returns the deletion of another version of the sample.
    package func raised(to version: Int64, at clock: ChangeClock? = nil) -> DeletedSample {
        DeletedSample(
            id: id, type: type, source: source, syncIdentifier: syncIdentifier, version: version,
            modified: clock ?? modified, group: group, start: start, end: end)
    }

    /// Whether the sample was hidden here and still exists at its source: then it must not be deleted there.
    public var isHidden: Bool { version == Sample.versionLimit }
}

/// The scope of a mass removal: samples of a source, or of a type that start in `from..<to`.
public struct RangeRemoval: Sendable, Hashable {
    /// The type of a removed range; `nil` if all samples of a source were removed.
    public let type: SampleType?
    /// The source that was removed in all its types; `nil` if a range was removed.
    public let source: SourceIdentity?
    /// The start of the range: samples that start at or after it were removed.
    public let from: Instant
    /// The end of the range: samples that start before it were removed.
    public let to: Instant

    /// Returns `true` if the removal removes this sample, provided that the sample last changed before the removal.
    public func covers(_ sample: Sample) -> Bool {
        if let source { return sample.source.identity == source }
        return sample.type == type && sample.start >= from && sample.start < to
    }
}

/// A page of the feed.
public struct ChangePage: Sendable {
    /// The changes, in the order in which they were made. Fewer changes than the limit do not mean that there are no
    /// more.
    public let changes: [Change]
    /// The position at which the next page begins.
    public let next: ChangeToken
    /// Whether more changes are available now.
    public let hasMore: Bool
}
