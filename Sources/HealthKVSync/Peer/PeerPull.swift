import HealthKV

/// Asks for a page of a peer's feed.
public struct PullRequest: Sendable, Hashable, Codable {
    /// The type to follow; ``SampleType/every`` where the peer has one feed.
    public var type: SampleType
    /// The place behind which to go on; `nil` for the beginning.
    public var token: [UInt8]?
    /// Samples that start before this are left out. It is the same for all requests with tokens of one feed, since a token belongs to its
    /// predicate (SEMANTICS A13). `nil` for all.
    public var from: Instant?
    /// About the most additions and deletions that a page should have.
    public var limit: Int

    /// A request for the page behind a token.
    public init(type: SampleType, token: [UInt8]? = nil, from: Instant? = nil, limit: Int = 1_000) {
        self.type = type
        self.token = token
        self.from = from
        self.limit = limit
    }
}

/// A page of a peer's feed. Additions are applied before deletions, however they came (SEMANTICS C22).
public struct PullPage: Sendable, Hashable, Codable {
    /// What was saved behind the token.
    public var additions: [PulledSample]
    /// What was deleted behind the token.
    public var deletions: [PulledDeletion]
    /// The place behind this page. `nil` only where the peer has none to give: then the old one stays.
    public var token: [UInt8]?
    /// Whether nothing was left when the page was made. A page may be empty and not the last, as long as its token is another one.
    public var isDrained: Bool
    /// Whether the page belongs to a snapshot: live samples alone, as they are when they are read, in any order. The token behind the
    /// last page of a snapshot is a place in the feed where the snapshot was begun, or before: the tail, which has
    /// all that changed meanwhile.
    public var isSnapshot: Bool

    /// A page.
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
    /// The sample. Where the peer keeps records it is as the other store has it; elsewhere its id is the peer's UUID, its origin
    /// imported, its version and sync identifier those that the peer shows (0 and `nil` for none), and a value that the peer
    /// has no original unit for is in the type's canonical unit (SEMANTICS A24).
    public var sample: Sample
    /// What the peer calls this version of the sample.
    public var peerID: SampleID
    /// Whether this app wrote it: an echo of a push, or what an earlier installation left (SEMANTICS C21, C25).
    public var isOwn: Bool

    /// A sample; `peerID` is its id unless it is given.
    public init(_ sample: Sample, peerID: SampleID? = nil, isOwn: Bool = false) {
        self.sample = sample
        self.peerID = peerID ?? sample.id
        self.isOwn = isOwn
    }
}

/// A deletion as a peer tells of it. It names one version of a sample, not the sample.
public struct PulledDeletion: Sendable, Hashable, Codable {
    /// What the peer called the version that went.
    public var peerID: SampleID
    /// The sync identifier that it had, where the peer says so.
    public var syncIdentifier: String?
    /// The version that it had; `nil` where the peer does not say.
    public var version: Int64?
    /// The group that it belonged to, where the peer says so.
    public var group: String?
    /// The whole record of the deletion, from a peer that keeps records.
    public var record: DeletedSample?

    /// A deletion of one version.
    public init(
        peerID: SampleID, syncIdentifier: String? = nil, version: Int64? = nil, group: String? = nil
    ) {
        self.peerID = peerID
        self.syncIdentifier = syncIdentifier
        self.version = version
        self.group = group
    }

    /// A deletion that another store recorded.
    public init(_ record: DeletedSample) {
        self.init(
            peerID: record.id, syncIdentifier: record.syncIdentifier, version: record.version, group: record.group)
        self.record = record
    }
}

/// Asks for the live samples of a type in a window, the latest first.
public struct EnumerationRequest: Sendable, Hashable, Codable {
    /// The type; never ``SampleType/every``.
    public var type: SampleType
    /// Samples that start in the window.
    public var window: TimeRange
    /// Where the last page ended, in the peer's own form; `nil` for the latest samples.
    public var cursor: [UInt8]?
    /// The most samples that a page should have.
    public var limit: Int
    /// Only samples with one of these sync identifiers are wanted; `nil` for all. A peer that cannot look for them may show others as well.
    public var syncIdentifiers: Set<String>?

    /// A request for the first page, or the one behind a cursor.
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
    /// The samples. One may come again on the next page, never be left out.
    public var samples: [PulledSample]
    /// Where the next page begins; `nil` at the end.
    public var cursor: [UInt8]?

    /// A page.
    public init(samples: [PulledSample], cursor: [UInt8]?) {
        self.samples = samples
        self.cursor = cursor
    }
}

/// Asks for a peer's own totals of days.
public struct DailyTotalRequest: Sendable, Hashable, Codable {
    /// The type to sum up.
    public var type: SampleType
    /// Local days, `YYYY-MM-DD`, in order.
    public var days: [String]
    /// The time zone in whose days to count.
    public var zone: String

    /// A request for some days.
    public init(type: SampleType, days: [String], zone: String) {
        self.type = type
        self.days = days
        self.zone = zone
    }
}

/// What a peer says of one day.
public struct DayReading: Sendable, Hashable, Codable {
    /// The local day, `YYYY-MM-DD`.
    public var day: String
    /// The total; `nil` when the peer has no data.
    public var quantity: Quantity?

    /// A reading.
    public init(day: String, quantity: Quantity?) {
        self.day = day
        self.quantity = quantity
    }
}

/// What two sides compare before they enumerate: it depends on the samples alone, in any order, and on no layout.
public struct SyncDigest: Sendable, Hashable, Codable {
    /// How many live samples there are.
    public var count: Int
    /// A sum over one word a sample.
    public var sum: UInt64

    /// A digest of no sample, or of what is given.
    public init(count: Int = 0, sum: UInt64 = 0) {
        self.count = count
        self.sum = sum
    }
}
