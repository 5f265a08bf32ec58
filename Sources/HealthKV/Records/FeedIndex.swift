import ColumnFormat
import LMDB

/// The location of the rows of one large commit, or of several commits that share a record, by their positions in the
/// feed. With it, a page of the feed reads only the chunks of its own changes, not those of the whole commit.
///
/// The index stays valid while the store changes: rows only ever leave a commit, for later commits, so a region without
/// a position in some range never gets one. A snapshot older than the index must not use it.
struct FeedIndex: Sendable {
    /// A region of a lane, and the positions of its rows that belong to the commits.
    struct Region: Sendable {
        var lane: Lane
        var from: Point
        var to: Point
        var places: ClosedRange<FeedPlace>
    }

    var commits: ClosedRange<UInt64>
    /// The commit of the snapshot that the index was made from.
    var snapshot: UInt64
    /// In the order of their first positions.
    var regions: [Region]
}

/// The index of the large record that was read last. Readers of one record read page after page, so one index is
/// enough.
final class FeedIndexCache: Sendable {
    /// A record of fewer regions than this is searched again for each page.
    static let leastRegions = 16

    private let index = Monitor<FeedIndex?>(nil)

    func find(_ commits: ClosedRange<UInt64>, snapshot: UInt64) -> FeedIndex? {
        index.withLock { $0.flatMap { $0.commits == commits && $0.snapshot <= snapshot ? $0 : nil } }
    }

    func keep(_ made: FeedIndex) { index.withLock { $0 = made } }
}

/// A change that may belong to a page: its position in the feed, and the chunk that holds it.
struct FeedCandidate {
    var place: FeedPlace
    /// Position in the list of chunks; -1 for deletions and removals.
    var chunk: Int
}
