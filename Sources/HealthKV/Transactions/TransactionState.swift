import ColumnFormat
import HealthModel

/// Everything that a transaction knows and changes in memory until it commits. It is a value: to undo the failed member
/// of a group commit, copy the previous value back.
struct TransactionState {
    /// The header that the snapshot shows; in a writer, the header that this commit will write.
    var header: StoreHeader
    /// The mark of this commit if it changes samples; 0 in a reader.
    var mark: UInt64 = 0
    /// The last commit of the session before, if this commit is the first of its session.
    var endedSession: CommitStamp?
    /// Starts with the names that the store knows. A writer adds its own.
    var names: NameBook
    var intents: [Intent] = []
    /// The partitions of the identity index that were looked up, by lower bound.
    var partitions: [IdentityPartition] = []
    /// The counts of the types that a writer changed. The table has them only after the commit.
    var counts: [UInt32: TypeCounts] = [:]
    /// The queue directories that a writer changed, by peer. The table has them only after the commit.
    var directories: [PeerID: QueueDirectory] = [:]
    /// The peers with packed links; `nil` until they are loaded.
    var linkLevels: [PeerLevels]?
    /// The ranking of sources, if a writer changed it. The table has it only after the commit.
    var priorities: PriorityRecord?
    /// The hours whose summaries a writer invalidated. The table has them only after the commit.
    var stale = StaleHours()
    /// Whether to recompute the sum over the records.
    var recountsRecords = false
    /// The next ordinal in this commit.
    var ordinal: UInt32 = 1
    var spans = TouchedSpans()
    var deletions: [ChangeRecord.Deletion] = []
    var removals: [ChangeRecord.Removal] = []
    /// Types whose shadow marks must be recomputed because the rank of a source changed.
    var reranked: Set<UInt32> = []
    /// Whether the identity index has new runs that may need merging.
    var addedRuns = false
    /// Entries of the identity index that are written together; `nil` if each is written at once.
    var waitingEntries: [(entry: IdentityEntry, change: Int32)]?
    /// The peers that have a queue; `nil` until they are loaded.
    var queues: [RegisteredPeer]?
    /// The earliest time at which the samples being imported can have been written; `nil` for samples that are written
    /// now.
    var importClock: ChangeClock?
    /// The reason why nothing may be added; `nil` if there is room.
    var refusal: StoreError?
    /// Whether anything is added or edited, not only deleted.
    var adds = false
    /// Whether there is anything to commit.
    var isChanged = false
    /// The number of deleted samples whose content was kept for an undo.
    var contentsKept = 0
    /// The number of records written so far. An operation compares it to tell whether it has begun to change the store.
    var writes = 0
    /// The types that apps have defined.
    var definitions: [String: TypeDefinition] = [:]
    /// Whether the commit changes them.
    var changesDefinitions = false
    /// Whether the commit changes which types shadow duplicates.
    var changesShadowing = false
    /// Whether a merge stored what neither side held: an edit of one over an import of the other.
    var hasCombined = false
    /// The number of bytes written.
    var bytes = 0
    /// Whether an operation failed after it had made a part of its changes. Then nothing may be committed, even if the
    /// closure caught the error.
    var isBroken = false

    init(header: StoreHeader, names: NameBook) {
        self.header = header
        self.names = names
    }

    /// Whether the commit has any change for the feed.
    var hasChanges: Bool { !spans.isEmpty || !deletions.isEmpty || !removals.isEmpty }

    mutating func takeOrdinal() -> UInt32 {
        defer { ordinal += 1 }
        return ordinal
    }
}

/// The ranges of start times that a commit touched, by lane.
struct TouchedSpans: Sendable, Equatable {
    private(set) var lanes: [Lane: [ClosedRange<Int64>]] = [:]
    /// More ranges than this are replaced by their hull: a reader of the feed then reads more rows and misses none.
    private static let limit = 256

    var isEmpty: Bool { lanes.isEmpty }

    mutating func add(_ lane: Lane, _ range: ClosedRange<Int64>) {
        var ranges = lanes[lane] ?? []
        if let last = ranges.last, last.contains(range.lowerBound), last.contains(range.upperBound) { return }
        ranges.append(range)
        if ranges.count > TouchedSpans.limit {
            ranges = [ranges.map(\.lowerBound).min()!...ranges.map(\.upperBound).max()!]
        }
        lanes[lane] = ranges
    }

    /// The ranges in order, with overlapping ones joined.
    var sorted: [(lane: Lane, starts: ClosedRange<Int64>)] {
        lanes.keys.sorted().flatMap { lane in
            var joined: [ClosedRange<Int64>] = []
            for range in lanes[lane]!.sorted(by: { $0.lowerBound < $1.lowerBound }) {
                if let last = joined.last, range.lowerBound <= last.upperBound {
                    joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
                } else {
                    joined.append(range)
                }
            }
            return joined.map { (lane, $0) }
        }
    }
}
