import ColumnFormat
import LMDB

/// Finds the rows that a change record leads to.
enum FeedPositions {
    /// Returns the regions that hold rows of a record's commits.
    static func feedIndex(of record: ChangeRecord, in snapshot: Snapshot) throws -> FeedIndex {
        if let known = snapshot.context.feedIndex?.find(record.commits, snapshot: snapshot.header.commit) {
            return known
        }
        var regions: [FeedIndex.Region] = []
        var seen: Set<ChunkKey> = []
        for span in record.spans {
            try ChunkTable.forEachChunk(
                span.lane, from: .at(span.starts.lowerBound), to: .after(span.starts.upperBound), in: snapshot
            ) {
                chunk in
                guard chunk.rows > 0, seen.insert(chunk.key).inserted else { return true }
                let places = try FeedPositions.places(chunk, of: record.commits, in: snapshot)
                guard let first = places.min(), let last = places.max() else { return true }
                regions.append(
                    FeedIndex.Region(lane: span.lane, from: chunk.key.lower, to: chunk.upper, places: first...last))
                return true
            }
        }
        regions.sort { $0.places.lowerBound < $1.places.lowerBound }
        let index = FeedIndex(commits: record.commits, snapshot: snapshot.header.commit, regions: regions)
        if regions.count >= FeedIndexCache.leastRegions { snapshot.context.feedIndex?.keep(index) }
        return index
    }

    /// Returns how many chunks a record leads to, and whether any rows were last changed by its commits. If there are
    /// more than `most` chunks, it reads only some of them and assumes that they hold rows.
    static func reach(of record: ChangeRecord, most: Int, in snapshot: Snapshot) throws -> (
        chunks: Int, holdsRows: Bool
    ) {
        var (chunks, holdsRows) = (0, false)
        for span in record.spans where chunks <= most {
            try ChunkTable.forEachChunk(
                span.lane, from: .at(span.starts.lowerBound), to: .after(span.starts.upperBound), in: snapshot
            ) {
                chunk in
                chunks += 1
                if !holdsRows {
                    holdsRows = try chunk.rows > 0 && !places(chunk, of: record.commits, in: snapshot).isEmpty
                }
                return chunks <= most
            }
        }
        return (chunks, holdsRows || chunks > most)
    }

    /// Returns the positions of a chunk's rows that some commits changed last. Reads only two columns.
    private static func places(_ chunk: HotChunk, of commits: ClosedRange<UInt64>, in snapshot: Snapshot) throws
        -> [FeedPlace]
    {
        let details = try ChunkTable.details(of: chunk, in: snapshot)
        guard details.rows > 0 else { return [] }
        if let common = try details.commonCommit(), !commits.contains(common) { return [] }
        return try details.places(of: commits).map { FeedPlace(commit: $0.commit, ordinal: $0.ordinal) }
    }

    /// Returns the rows of a record's commits after a position, and the chunks that hold them: at least the `limit`
    /// rows with the least positions, if there are that many. `isWhole` means that there are no others.
    static func candidates(
        of record: ChangeRecord, after: FeedPlace, limit: Int, _ types: Set<UInt32>?, in snapshot: Snapshot
    ) throws -> (found: [FeedCandidate], keys: [ChunkKey], isWhole: Bool) {
        let regions = try feedIndex(of: record, in: snapshot).regions.filter {
            $0.places.upperBound > after && types?.contains($0.lane.type) ?? true
        }
        var found: [FeedCandidate] = []
        var keys: [ChunkKey] = []
        var seen: Set<ChunkKey> = []
        for (number, region) in regions.enumerated() {
            try ChunkTable.forEachChunk(region.lane, from: region.from, to: region.to, in: snapshot) { chunk in
                guard chunk.rows > 0, seen.insert(chunk.key).inserted else { return true }
                for place in try places(chunk, of: record.commits, in: snapshot) where place > after {
                    found.append(FeedCandidate(place: place, chunk: keys.count))
                }
                keys.append(chunk.key)
                return true
            }
            guard found.count >= limit, number + 1 < regions.count else { continue }
            // Regions are in the order of their first positions: the following ones lie after everything that is
            // needed.
            let next = regions[number + 1].places.lowerBound
            if found.count(where: { $0.place < next }) >= limit {
                return (found.filter { $0.place < next }, keys, false)
            }
        }
        return (found, keys, true)
    }
}
