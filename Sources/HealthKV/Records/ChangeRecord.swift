import ColumnFormat
import HealthModel

/// A position in the change feed.
struct FeedPlace: Sendable, Hashable, Comparable {
    var commit: UInt64
    var ordinal: UInt32

    static func < (one: FeedPlace, other: FeedPlace) -> Bool {
        (one.commit, one.ordinal) < (other.commit, other.ordinal)
    }
}

/// The changes of one commit, or of a range of consecutive commits: where to find the rows they wrote, and what they
/// deleted.
struct ChangeRecord: Sendable {
    /// A sample that left its place: it was deleted, or an edit moved it to another start, type or source.
    struct Deletion: Sendable, Equatable {
        var commit: UInt64
        var ordinal: UInt32
        var id: SampleID
        var type: UInt32

        var place: FeedPlace { FeedPlace(commit: commit, ordinal: ordinal) }
    }

    /// A mass operation, at the place at which it was committed.
    struct Removal: Sendable, Equatable {
        var ordinal: UInt32
        var scope: Intent.Scope
    }

    var commit: UInt64
    /// The time of the commit.
    var time: Int64
    /// A random number that distinguishes this commit from a commit with the same number in a copy of the file.
    var mark: UInt64
    /// The first commit whose record this record replaced; 0 if it replaced none.
    var since: UInt64 = 0
    var spans: [(lane: Lane, starts: ClosedRange<Int64>)] = []
    var deletions: [Deletion] = []
    var removals: [Removal] = []

    /// The commits that the record describes.
    var commits: ClosedRange<UInt64> { (since > 0 ? since : commit)...commit }
    /// The place after the last change of the record.
    var end: FeedPlace { FeedPlace(commit: commit, ordinal: .max) }

    init(commit: UInt64, time: Int64, mark: UInt64) {
        self.commit = commit
        self.time = time
        self.mark = mark
    }
}
