import ColumnFormat
import LMDB

/// Where the rows of one large commit lie, by their ordinals: so that a page of the feed reads the chunks of its own
/// changes and not those of the whole commit.
///
/// It stays right while the store goes on: rows of a commit only ever leave, to later commits, so a stretch that has no
/// ordinal in some range never gets one. A snapshot older than the index must not use it.
struct FeedIndex: Sendable {
    /// A stretch of a lane, and the ordinals that its rows of the commit have.
    struct Region: Sendable {
        var lane: Lane
        var from: Point
        var to: Point
        var ordinals: ClosedRange<UInt32>
    }

    var commit: UInt64
    /// The snapshot that it was made from.
    var snapshot: UInt64
    /// In the order of their first ordinals.
    var regions: [Region]
}

/// The index of the large commit that was read last. Readers of one commit go page by page, so one is enough.
final class FeedIndexCache: Sendable {
    /// A commit in fewer chunks than this is looked through anew for each page.
    static let leastRegions = 16

    private let index = Monitor<FeedIndex?>(nil)

    func find(commit: UInt64, snapshot: UInt64) -> FeedIndex? {
        index.withLock { $0.flatMap { $0.commit == commit && $0.snapshot <= snapshot ? $0 : nil } }
    }

    func keep(_ made: FeedIndex) { index.withLock { $0 = made } }
}

extension Snapshot {
    /// The stretches that hold rows of a commit.
    func feedIndex(of record: ChangeRecord) throws -> FeedIndex {
        if let known = context.feedIndex?.find(commit: record.commit, snapshot: header.commit) { return known }
        var regions: [FeedIndex.Region] = []
        var seen: Set<ChunkKey> = []
        for span in record.spans {
            try forEachChunk(span.lane, from: .at(span.starts.lowerBound), to: .after(span.starts.upperBound)) {
                chunk in
                guard chunk.rows > 0, seen.insert(chunk.key).inserted else { return true }
                let ordinals = try ordinals(chunk.key, of: record.commit)
                guard let first = ordinals.min(), let last = ordinals.max() else { return true }
                regions.append(
                    FeedIndex.Region(lane: span.lane, from: chunk.key.lower, to: chunk.upper, ordinals: first...last))
                return true
            }
        }
        regions.sort { $0.ordinals.lowerBound < $1.ordinals.lowerBound }
        let index = FeedIndex(commit: record.commit, snapshot: header.commit, regions: regions)
        if regions.count >= FeedIndexCache.leastRegions { context.feedIndex?.keep(index) }
        return index
    }

    /// A commit whose record leads to more chunks than this is taken to hold rows.
    private static let mostChunksLookedAt = 64

    /// Whether there are rows that a commit changed last, or so many places to look that it is not worth it.
    func holdsRows(of record: ChangeRecord) throws -> Bool {
        var (left, holds) = (Snapshot.mostChunksLookedAt, false)
        for span in record.spans where !holds {
            try forEachChunk(span.lane, from: .at(span.starts.lowerBound), to: .after(span.starts.upperBound)) {
                chunk in
                left -= 1
                holds = try left < 0 || chunk.rows > 0 && !ordinals(chunk.key, of: record.commit).isEmpty
                return !holds
            }
        }
        return holds
    }

    /// The ordinals of a chunk's rows that a commit changed last; only two columns are read.
    private func ordinals(_ key: ChunkKey, of commit: UInt64) throws -> [UInt32] {
        let bytes = key.bytes
        guard let span = try view.get(tables[.details], bytes) else { throw damaged("a chunk has no details") }
        let details = try DetailsChunk(span, key: bytes.rawBytes, verified: context.verified)
        guard details.rows > 0 else { return [] }
        if let common = try details.commonCommit(), common != commit { return [] }
        return try details.ordinals(of: commit)
    }

    /// The rows of a commit behind a place in it, by their ordinals, and the chunks that hold them: at least `limit` of those
    /// with the least ordinals, if there are so many. `isWhole` tells that there are no others.
    func candidates(
        of record: ChangeRecord, after: UInt32, limit: Int, _ types: Set<UInt32>?
    ) throws -> (found: [FeedCandidate], keys: [ChunkKey], isWhole: Bool) {
        let regions = try feedIndex(of: record).regions.filter {
            $0.ordinals.upperBound > after && types?.contains($0.lane.type) ?? true
        }
        var found: [FeedCandidate] = []
        var keys: [ChunkKey] = []
        var seen: Set<ChunkKey> = []
        for (number, region) in regions.enumerated() {
            try forEachChunk(region.lane, from: region.from, to: region.to) { chunk in
                guard chunk.rows > 0, seen.insert(chunk.key).inserted else { return true }
                let ordinals = try ordinals(chunk.key, of: record.commit)
                for ordinal in ordinals where ordinal > after {
                    found.append(FeedCandidate(ordinal: ordinal, chunk: keys.count))
                }
                keys.append(chunk.key)
                return true
            }
            guard found.count >= limit, number + 1 < regions.count else { continue }
            // Regions are in the order of their first ordinals: what follows lies behind all that is needed.
            let next = regions[number + 1].ordinals.lowerBound
            if found.count(where: { $0.ordinal < next }) >= limit {
                return (found.filter { $0.ordinal < next }, keys, false)
            }
        }
        return (found, keys, true)
    }
}

/// A row that may belong to a page: its place in the commit, and the chunk that holds it.
struct FeedCandidate {
    var ordinal: UInt32
    /// Position in the list of chunks; -1 for deletions and removals.
    var chunk: Int
}
