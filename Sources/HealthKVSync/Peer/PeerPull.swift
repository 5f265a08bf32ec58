import HealthKV

/// A request for a page of a peer's feed.
public struct PullRequest: Sendable, Hashable, Codable {
    /// The type to follow; `SampleType.every` if the peer has one feed.
    public var type: SampleType
    /// The place after which to continue; `nil` for the beginning.
    public var token: [UInt8]?
    /// Samples that start before this are left out; `nil` for all samples. It is the same in all requests with tokens
    /// of one feed, because a token is valid only with its predicate (SEMANTICS A13).
    public var from: Instant?
    /// The approximate maximum of additions and deletions in a page.
    public var limit: Int

    /// Creates a request for the page after a token.
    public init(type: SampleType, token: [UInt8]? = nil, from: Instant? = nil, limit: Int = 1_000) {
        self.type = type
        self.token = token
        self.from = from
        self.limit = limit
    }
}

/// A page of a peer's feed. Additions are applied before deletions, whatever their order in the feed (SEMANTICS C22).
public struct PullPage: Sendable, Hashable, Codable {
    /// Samples that were saved after the token.
    public var additions: [PulledSample]
    /// Samples that were deleted after the token.
    public var deletions: [PulledDeletion]
    /// The place after this page; `nil` only if the peer has none to give: then the old token stays valid.
    public var token: [UInt8]?
    /// Whether nothing was left when the page was made. An empty page need not be the last one, as long as its token
    /// differs from the request's.
    public var isDrained: Bool
    /// Whether the page belongs to a snapshot: only live samples, as they are at the time of reading, in any order. The
    /// token after the last page of a snapshot is the place in the feed where the snapshot began, or an earlier one.
    /// The feed from there on, the tail, has all changes made meanwhile.
    public var isSnapshot: Bool

    /// Creates a page.
    public init(
        additions: [PulledSample], deletions: [PulledDeletion] = [], token: [UInt8]?, isDrained: Bool,
        isSnapshot: Bool = false
    ) {
        self.additions = additions
        self.deletions = deletions
        self.token = token
        self.isDrained = isDrained
        self.isSnapshot = isSnapshot
    }
}

/// A sample as a peer holds it.
public struct PulledSample: Sendable, Hashable, Codable {
    /// The sample. From a peer that keeps records it is the other store's sample. Otherwise its id is the peer's UUID,
    /// its origin is imported, and its version and sync identifier are those that the peer shows (0 and `nil` for
    /// none). If the peer has no original unit for the value, the value is in the type's canonical unit (SEMANTICS
    /// A24).
    public var sample: Sample
    /// The peer's id for this version of the sample.
    public var idAtPeer: SampleID
    /// Whether this app wrote it: the sample is an echo of a push, or an earlier installation left it (SEMANTICS C21,
    /// C25).
    public var isOwn: Bool

    /// Creates a sample; `idAtPeer` defaults to the sample's id.
    public init(_ sample: Sample, idAtPeer: SampleID? = nil, isOwn: Bool = false) {
        self.sample = sample
        self.idAtPeer = idAtPeer ?? sample.id
        self.isOwn = isOwn
    }
}

/// A deletion that a peer reports. It names one version of a sample, not the sample.
public struct PulledDeletion: Sendable, Hashable, Codable {
    /// The peer's id for the deleted version.
    public var idAtPeer: SampleID
    /// The sync identifier of the deleted version, if the peer reports it.
    public var syncIdentifier: String?
    /// The number of the deleted version; `nil` if the peer does not report it.
    public var version: Int64?
    /// The group that the sample belonged to, if the peer reports it.
    public var group: String?
    /// The complete record of the deletion, from a peer that keeps records.
    public var record: DeletedSample?

    /// Creates a deletion of one version.
    public init(
        idAtPeer: SampleID, syncIdentifier: String? = nil, version: Int64? = nil, group: String? = nil
    ) {
        self.idAtPeer = idAtPeer
        self.syncIdentifier = syncIdentifier
        self.version = version
        self.group = group
    }

    /// Creates a deletion that another store recorded.
    public init(_ record: DeletedSample) {
        self.init(
            idAtPeer: record.id, syncIdentifier: record.syncIdentifier, version: record.version, group: record.group)
        self.record = record
    }
}

/// A request for the live samples of a type in a window, the latest first.
public struct EnumerationRequest: Sendable, Hashable, Codable {
    /// The type; never `SampleType.every`.
    public var type: SampleType
    /// The window that the samples start in.
    public var window: TimeRange
    /// The end of the last page, in the peer's own form; `nil` for the latest samples.
    public var cursor: [UInt8]?
    /// The maximum number of samples in a page.
    public var limit: Int
    /// Restricts the request to samples with one of these sync identifiers; `nil` for all. A peer that cannot search by
    /// identifier may return others as well.
    public var syncIdentifiers: Set<String>?

    /// Creates a request for the first page, or for the page after a cursor.
    public init(
        type: SampleType, window: TimeRange = .all, cursor: [UInt8]? = nil, limit: Int = 1_000,
        syncIdentifiers: Set<String>? = nil
    ) {
        self.type = type
        self.window = window
        self.cursor = cursor
        self.limit = limit
        self.syncIdentifiers = syncIdentifiers
    }
}

/// A page of the live samples in a window, the latest first.
public struct EnumerationPage: Sendable, Hashable, Codable {
    /// The samples. A sample may appear again on the next page, but none may be left out.
    public var samples: [PulledSample]
    /// Where the next page begins; `nil` at the end.
    public var cursor: [UInt8]?

    /// Creates a page.
    public init(samples: [PulledSample], cursor: [UInt8]?) {
        self.samples = samples
        self.cursor = cursor
    }
}

/// A sample of an enumeration without its content.
public struct SampleOutline: Sendable, Hashable, Codable {
    /// The peer's id for the present version of the sample.
    public var idAtPeer: SampleID
    /// The start of the sample.
    public var start: Instant
    /// Whether this app wrote the sample.
    public var isOwn: Bool

    /// Creates an outline.
    public init(idAtPeer: SampleID, start: Instant, isOwn: Bool = false) {
        self.idAtPeer = idAtPeer
        self.start = start
        self.isOwn = isOwn
    }
}

/// A page of outlines of the live samples in a window, the latest first.
public struct OutlinePage: Sendable, Hashable, Codable {
    /// The outlines. A sample may appear again on the next page, but none may be left out.
    public var samples: [SampleOutline]
    /// Where the next page begins; `nil` at the end.
    public var cursor: [UInt8]?

    /// Creates a page.
    public init(samples: [SampleOutline], cursor: [UInt8]?) {
        self.samples = samples
        self.cursor = cursor
    }
}

/// A request for a peer's own totals of days.
public struct DailyTotalRequest: Sendable, Hashable, Codable {
    /// The type to sum up.
    public var type: SampleType
    /// Local days, `YYYY-MM-DD`, in order.
    public var days: [String]
    /// The time zone that defines the days.
    public var zone: String

    /// Creates a request for some days.
    public init(type: SampleType, days: [String], zone: String) {
        self.type = type
        self.days = days
        self.zone = zone
    }
}

/// A peer's total for one day.
public struct DayReading: Sendable, Hashable, Codable {
    /// The local day, `YYYY-MM-DD`.
    public var day: String
    /// The total; `nil` if the peer has no data.
    public var quantity: Quantity?

    /// Creates a reading.
    public init(day: String, quantity: Quantity?) {
        self.day = day
        self.quantity = quantity
    }
}

/// A digest that two sides compare before they enumerate. It depends only on the set of samples, not on their order or
/// storage layout.
public struct SyncDigest: Sendable, Hashable, Codable {
    /// How many live samples there are.
    public var count: Int
    /// The sum of one word for each sample.
    public var sum: UInt64

    /// Creates a digest; by default it covers no sample.
    public init(count: Int = 0, sum: UInt64 = 0) {
        self.count = count
        self.sum = sum
    }
}
