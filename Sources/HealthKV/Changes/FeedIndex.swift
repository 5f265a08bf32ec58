import ColumnFormat
import LMDB

/// Where the rows of one large commit lie, or of some that share a record, by their places: so that a page of the feed
/// reads the chunks of its own changes and not those of the whole commit.
///
/// It stays right while the store goes on: rows of a commit only ever leave, to later commits, so a stretch that has no
/// place in some range never gets one. A snapshot older than the index must not use it.
struct FeedIndex: Sendable {
    /// A stretch of a lane, and the places that its rows of the commits have.
    struct Region: Sendable {
        var lane: Lane
        var from: Point
        var to: Point
        var places: ClosedRange<FeedPlace>
    }

    var commits: ClosedRange<UInt64>
    /// The snapshot that it was made from.
    var snapshot: UInt64
    /// In the order of their first places.
    var regions: [Region]
}

/// The index of the large record that was read last. Readers of one record go page by page, so one is enough.
final class FeedIndexCache: Sendable {
    /// A record of fewer chunks than this is looked through again for each page.
    static let leastRegions = 16

    private let index = Monitor<FeedIndex?>(nil)

    func find(_ commits: ClosedRange<UInt64>, snapshot: UInt64) -> FeedIndex? {
        index.withLock { $0.flatMap { $0.commits == commits && $0.snapshot <= snapshot ? $0 : nil } }
    }

    func keep(_ made: FeedIndex) { index.withLock { $0 = made } }
}

extension Snapshot {
    /// The stretches that hold rows of a record's commits.
    func feedIndex(of record: ChangeRecord) throws -> FeedIndex {
        if let known = context.feedIndex?.find(record.commits, snapshot: header.commit) { return known }
        var regions: [FeedIndex.Region] = []
        var seen: Set<ChunkKey> = []
        for span in record.spans {
            try forEachChunk(span.lane, from: .at(span.starts.lowerBound), to: .after(span.starts.upperBound)) {
                chunk in
                guard chunk.rows > 0, seen.insert(chunk.key).inserted else { return true }
                let places = try places(chunk, of: record.commits)
                guard let first = places.min(), let last = places.max() else { return true }
                regions.append(
                    FeedIndex.Region(lane: span.lane, from: chunk.key.lower, to: chunk.upper, places: first...last))
                return true
            }
        }
        regions.sort { $0.places.lowerBound < $1.places.lowerBound }
        let index = FeedIndex(commits: record.commits, snapshot: header.commit, regions: regions)
        if regions.count >= FeedIndexCache.leastRegions { context.feedIndex?.keep(index) }
        return index
    }

    /// How many chunks a record leads to, and whether there are rows that its commits changed last. Where there are
    /// more than `most`, they are not all looked at, and it is taken to hold rows.
    func reach(of record: ChangeRecord, most: Int) throws -> (chunks: Int, holdsRows: Bool) {
        var (chunks, holdsRows) = (0, false)
        for span in record.spans where chunks <= most {
            try forEachChunk(span.lane, from: .at(span.starts.lowerBound), to: .after(span.starts.upperBound)) {
                chunk in
                chunks += 1
                if !holdsRows { holdsRows = try chunk.rows > 0 && !places(chunk, of: record.commits).isEmpty }
                return chunks <= most
            }
        }
        return (chunks, holdsRows || chunks > most)
    }

    /// The places of a chunk's rows that some commits changed last; only two columns are read.
    private func places(_ chunk: HotChunk, of commits: ClosedRange<UInt64>) throws -> [FeedPlace] {
        guard let span = try view.get(tables[.details], chunk.key.bytes) else {
            throw damaged("a chunk has no details")
        }
        let details = try DetailsChunk(span, of: chunk, verified: context.verified)
        guard details.rows > 0 else { return [] }
        if let common = try details.commonCommit(), !commits.contains(common) { return [] }
        return try details.places(of: commits).map { FeedPlace(commit: $0.commit, ordinal: $0.ordinal) }
    }

    /// The rows of a record's commits behind a place, and the chunks that hold them: at least `limit` of those with the
    /// least places, if there are so many. `isWhole` tells that there are no others.
    func candidates(
        of record: ChangeRecord, after: FeedPlace, limit: Int, _ types: Set<UInt32>?
    ) throws -> (found: [FeedCandidate], keys: [ChunkKey], isWhole: Bool) {
        let regions = try feedIndex(of: record).regions.filter {
            $0.places.upperBound > after && types?.contains($0.lane.type) ?? true
        }
        var found: [FeedCandidate] = []
        var keys: [ChunkKey] = []
        var seen: Set<ChunkKey> = []
        for (number, region) in regions.enumerated() {
            try forEachChunk(region.lane, from: region.from, to: region.to) { chunk in
                guard chunk.rows > 0, seen.insert(chunk.key).inserted else { return true }
                for place in try places(chunk, of: record.commits) where place > after {
                    found.append(FeedCandidate(place: place, chunk: keys.count))
                }
                keys.append(chunk.key)
                return true
            }
            guard found.count >= limit, number + 1 < regions.count else { continue }
            // Regions are in the order of their first places: what follows lies behind all that is needed.
            let next = regions[number + 1].places.lowerBound
            if found.count(where: { $0.place < next }) >= limit {
                return (found.filter { $0.place < next }, keys, false)
            }
        }
        return (found, keys, true)
    }
}

/// A row that may belong to a page: its place in the feed, and the chunk that holds it.
struct FeedCandidate {
    var place: FeedPlace
    /// Position in the list of chunks; -1 for deletions and removals.
    var chunk: Int
}
