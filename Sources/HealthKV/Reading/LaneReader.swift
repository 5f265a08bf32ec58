import ColumnFormat
import HealthModel
import LMDB

/// Reads the picked rows of one lane in order, a chunk at a time.
struct LaneReader {
    let lane: Lane
    private let query: SampleQuery
    private let sources: Set<UInt32>?
    private var buffer: [StoredRow] = []
    private var position = 0
    /// Where the next chunk begins (ascending) or ends (descending); `nil` at the end.
    private var next: Point?
    private let limit: Point

    /// - Parameter sources: numbers of sources to give; `nil` for all.
    init(_ lane: Lane, _ query: SampleQuery, sources: Set<UInt32>?) {
        self.lane = lane
        self.query = query
        self.sources = sources
        let starts = query.starts(of: lane.duration)
        next = query.order == .ascending ? starts.from : starts.to
        limit = query.order == .ascending ? starts.to : starts.from
        if starts.from >= starts.to || query.range.isEmpty { next = nil }
    }

    /// The row that comes next; `nil` when there is none.
    mutating func peek(_ snapshot: borrowing Snapshot) throws -> StoredRow? {
        while position >= buffer.count {
            guard next != nil else { return nil }
            try fill(snapshot)
        }
        return buffer[position]
    }

    mutating func advance() { position += 1 }

    private mutating func fill(_ snapshot: borrowing Snapshot) throws {
        buffer = []
        position = 0
        let from = next!
        let ascending = query.order == .ascending
        next = nil
        var picked: [StoredRow] = []
        var follow: Point?
        try snapshot.forEachChunk(
            lane, from: ascending ? from : limit, to: ascending ? limit : from, descending: !ascending
        ) { chunk in
            follow = ascending ? chunk.upper : chunk.key.lower
            if try !snapshot.mayHold(chunk, sources) { return true }
            for row in try snapshot.visibleRows(chunk) where query.picks(row) {
                if let sources, !sources.contains(try snapshot.revision(row.revision).sourceNumber) { continue }
                picked.append(row)
            }
            return picked.isEmpty
        }
        if let follow, !picked.isEmpty, ascending ? follow < limit : follow > limit { next = follow }
        buffer = ascending ? picked : picked.reversed()
    }
}

extension Snapshot {
    /// Whether a chunk's dictionary of revisions has one of the wanted sources.
    func mayHold(_ chunk: HotChunk, _ sources: Set<UInt32>?) throws -> Bool {
        guard let sources, chunk.rows > 0, let common = try chunk.commonRevision() else { return chunk.rows > 0 }
        try chunk.verify()
        return sources.contains(try revision(common).sourceNumber)
    }

    /// Calls `body` with each picked row of a type in the total order, until it answers false.
    func forEachRow(of type: UInt32, _ query: SampleQuery, _ body: (StoredRow) throws -> Bool) throws {
        guard !query.range.isEmpty else { return }
        var sources: Set<UInt32>?
        if let source = query.source {
            guard let number = try number(of: source) else { return }
            sources = [number]
        }
        var readers = DurationClass.allCases.map {
            LaneReader(Lane(type: type, duration: $0), query, sources: sources)
        }
        while true {
            var best: (index: Int, row: StoredRow)?
            for index in readers.indices {
                guard let row = try readers[index].peek(self) else { continue }
                if let found = best, (found.row.point < row.point) == (query.order == .ascending) { continue }
                best = (index, row)
            }
            guard let best else { return }
            readers[best.index].advance()
            guard try body(best.row) else { return }
        }
    }
}
