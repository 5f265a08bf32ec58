import ColumnFormat
import HealthModel

/// What a writing transaction remembers until it commits. A value: a member of a group that fails gives it back as it was.
struct WriteState {
    /// The header as this commit will write it.
    var header: StoreHeader
    /// The mark of this commit, if it changes samples.
    let mark = UInt64.random(in: 1 ... .max)
    /// Whether the sum over the records is to be counted anew.
    var recountsRecords = false
    /// The next place in this commit.
    var ordinal: UInt32 = 1
    var spans = TouchedSpans()
    var deletions: [ChangeRecord.Deletion] = []
    var removals: [ChangeRecord.Removal] = []
    /// Types whose marks of shadowed samples are to be made anew, since a source's rank has changed.
    var reranked: Set<UInt32> = []
    /// Whether the identity index has new runs, which may have to be merged.
    var addedRuns = false
    /// Entries of the identity index that are written together; `nil` where each is written at once.
    var waitingEntries: [(entry: IdentityEntry, change: Int32)]?
    /// The peers that have a queue; `nil` until they are read.
    var queues: [RegisteredPeer]?
    /// When what is imported now can have been written at the earliest; `nil` for what is written now.
    var importClock: ChangeClock?
    /// Why nothing may be added; `nil` when there is room.
    var refusal: StoreError?
    /// Whether anything is added or edited, not only deleted.
    var adds = false
    /// Whether anything is to be committed.
    var isChanged = false
    /// How many deleted samples are kept for those who change their minds.
    var contentsKept = 0
    /// How many records were written, so that an operation can tell whether it had begun to change the store.
    var writes = 0
    /// The bytes of what was written.
    var bytes = 0
    /// An operation failed when it had changed a part of what belongs together: none of it may be committed, even if the
    /// closure caught the error.
    var isBroken = false

    /// Whether the commit has anything for the feed.
    var hasChanges: Bool { !spans.isEmpty || !deletions.isEmpty || !removals.isEmpty }

    mutating func takeOrdinal() -> UInt32 {
        defer { ordinal += 1 }
        return ordinal
    }
}

extension Int64 {
    /// The quotient rounded towards the past.
    func dividedDown(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

/// The stretches of start times that a commit touched, by lane.
struct TouchedSpans: Sendable, Equatable {
    private(set) var lanes: [Lane: [ClosedRange<Int64>]] = [:]
    /// More stretches than this are given as one hull: the feed reads more, and misses nothing.
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

    /// The stretches in order, overlapping ones joined.
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
