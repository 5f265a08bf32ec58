import ColumnFormat
import HealthModel
import LMDB

/// Reads the samples of a type for statistics: hot columns only, in the order of their starts, merged across duration
/// classes.
struct StatisticsReader {
    let type: UInt32
    let ranking: SourceRanking
    /// The unit of the answer; for a type without canonical unit `nil` until the first sample determines it.
    private(set) var unit: HealthUnit?
    private var lanes: [StatisticsLane] = []
    private let scratch = StatisticsScratch()
    private var places = RevisionPlaces()
    /// What samples must match; `nil` for all.
    private let filter: RowFilter?
    /// The number of rows passed to the collectors.
    private(set) var rowsRead = 0

    init(type: UInt32, ranking: SourceRanking, unit: HealthUnit?, filter: RowFilter? = nil) {
        self.filter = filter
        self.type = type
        self.ranking = ranking
        self.unit = unit
    }

    /// Feeds all samples that start before `to` and either start at or after `from` or, with `looksBack`, reach beyond
    /// `from`.
    ///
    /// - Parameters:
    ///   - looksBack: whether to include samples that began before `from` and reach into the range.
    ///   - wanted: sorted intervals; samples that touch none of them may be skipped.
    mutating func feed(
        _ collector: inout some StatisticsCollector, from: Int64, to: Int64, looksBack: Bool,
        wanted: [Range<Int64>] = [], _ snapshot: borrowing Snapshot
    ) throws {
        lanes = DurationClass.allCases.map {
            StatisticsLane(
                Lane(type: type, duration: $0), from: from, to: to, looksBack: looksBack, wanted: wanted)
        }
        while true {
            for index in lanes.indices where lanes[index].needsRows { try fill(index, snapshot) }
            guard let turn = LaneMerge.turn(of: lanes) else { return }
            guard give(turn.lane, upTo: turn.rival ?? (.max, .max), to: &collector) else { return }
        }
    }

    /// Feeds a lane's rows until a row of another lane precedes them. Returns `false` when the collector needs no more.
    @inline(__always)
    private mutating func give(
        _ lane: Int, upTo other: (start: Int64, end: Int64), to collector: inout some StatisticsCollector
    ) -> Bool {
        let rows = lanes[lane].rows
        var position = lanes[lane].position
        defer {
            rowsRead += position - lanes[lane].position
            lanes[lane].position = position
        }
        while position < rows.count {
            let row = rows[position]
            if row.start > other.start || row.start == other.start && row.end > other.end { return true }
            if collector.isDone(at: row.start) { return false }
            position += 1
            // After the last decoded row, the next row is not known.
            let next = position < rows.count ? min(rows[position].start, other.start) : row.start
            collector.add(row, before: next)
        }
        return true
    }

    /// Decodes the next chunk of a lane that yields rows.
    private mutating func fill(_ index: Int, _ snapshot: borrowing Snapshot) throws {
        var lane = lanes[index]
        // Keep a single owner of the array, otherwise emptying it would reallocate.
        lanes[index].rows = []
        lane.rows.removeAll(keepingCapacity: true)
        lane.rows.reserveCapacity(ChunkEncoder.rowLimit)
        lane.position = 0
        let from = lane.next!
        lane.next = nil
        var follow: Point?
        try ChunkTable.forEachChunk(lane.lane, from: from, to: lane.limit, in: snapshot) { chunk in
            follow = chunk.upper
            guard chunk.rows > 0 else { return true }
            try append(chunk, to: &lane, snapshot)
            return lane.rows.isEmpty
        }
        if let follow, !lane.rows.isEmpty, follow < lane.limit { lane.next = follow }
        lanes[index] = lane
    }

    private mutating func append(_ chunk: HotChunk, to lane: inout StatisticsLane, _ snapshot: borrowing Snapshot)
        throws
    {
        try chunk.verify()
        if filter != nil || ChunkTable.mayHide(lane.lane, chunk.key.lower.start...chunk.upper.start, in: snapshot) {
            return try appendVisible(chunk, to: &lane, snapshot)
        }
        for revision in try chunk.commonRevision().map({ [$0] }) ?? chunk.distinctRevisions() {
            try places.learn(revision, ranking, snapshot)
        }
        let common = try chunk.commonUnit()
        if lane.isSparse, let common, unit != nil, try isUnit(common, snapshot), let columns = try chunk.openRows() {
            return try scratch.columns.append(chunk, columns, to: &lane, places)
        }
        try scratch.columns.decode(chunk)
        if let common, try isUnit(common, snapshot) {
            scratch.columns.append(to: &lane, places) { value, _ in value }
        } else {
            try scratch.columns.append(to: &lane, places) { try convert($0, $1, snapshot) }
        }
    }

    /// Decodes row by row if a filter needs to see each row, or an unfinished mass operation hides some.
    private mutating func appendVisible(
        _ chunk: HotChunk, to lane: inout StatisticsLane, _ snapshot: borrowing Snapshot
    ) throws {
        for row in try ChunkTable.visibleRows(chunk, in: snapshot)
        where !row.isShadowed && row.start < lane.starts.upperBound {
            let end = row.end == .max ? row.start : row.end
            if row.start < lane.from, !lane.looksBack || end <= lane.from { continue }
            try places.learn(row.revision, ranking, snapshot)
            let place = places.place(row.revision, isUserEntered: row.flags.contains(.userEntered))
            if place.rank < 0 { continue }
            if let filter, try !filter.matches(row, in: snapshot) { continue }
            let value = try convert(row.value, row.unit, snapshot)
            // An older release stored values that are not finite, and one of them would make every sum meaningless
            // (SEMANTICS C32).
            guard value.isFinite else { continue }
            lane.rows.append(
                StatisticsRow(start: row.start, end: end, value: value, rank: place.rank, source: place.source))
        }
    }

    /// Returns `true` if a number is that of the unit of the answer.
    private func isUnit(_ number: UInt32, _ snapshot: borrowing Snapshot) throws -> Bool {
        guard let unit else { return false }
        return try NameTable.number(of: unit, in: snapshot) == number
    }

    /// Converts a value. Without a unit, the first sample determines it.
    private mutating func convert(_ value: Double, _ number: UInt32, _ snapshot: borrowing Snapshot) throws -> Double {
        let entered = try NameTable.unit(number, in: snapshot)
        guard let unit else {
            self.unit = entered
            return value
        }
        do {
            return try entered.convert(value, to: unit)
        } catch {
            throw StoreError(
                .mixedUnits, path: snapshot.context.path,
                "\(try NameTable.type(type, in: snapshot)) has samples in \(entered), "
                    + "which cannot be converted to \(unit)"
            )
        }
    }
}

/// The decoded rows of one lane that were not fed yet.
struct StatisticsLane: MergedLane {
    let lane: Lane
    let from: Int64
    let looksBack: Bool
    /// The sorted intervals that samples must touch; empty if all samples are wanted.
    let wanted: [Range<Int64>]
    /// The first interval that does not end before the next rows.
    private var firstWanted = 0
    /// Whether so little is wanted that rows are decoded one by one.
    let isSparse: Bool
    /// The range of starts that wanted samples can have.
    let starts: Range<Int64>
    let limit: Point
    var next: Point?
    var rows: [StatisticsRow] = []
    var position = 0

    init(_ lane: Lane, from: Int64, to: Int64, looksBack: Bool, wanted: [Range<Int64>]) {
        self.lane = lane
        self.wanted = wanted
        self.from = from
        self.looksBack = looksBack
        let earliest =
            !looksBack
            ? from
            : lane.duration == .long
                ? Int64.min : (Instant(nanoseconds: from) - lane.duration.longest).nanoseconds
        starts = earliest..<max(earliest, to)
        // The distance may be centuries, which overflows an integer.
        let reach = wanted.reduce(Double(wanted.count) * Double(DurationClass.hour.longest)) {
            $0 + Double($1.upperBound) - Double($1.lowerBound)
        }
        isSparse = !wanted.isEmpty && lane.duration == .hour && reach * 4 < Double(to) - Double(from)
        limit = to == .max ? .greatest : .at(to)
        next = earliest == .min ? .least : .at(earliest)
        if next! >= limit { next = nil }
    }

    /// Returns `true` if a sample of this lane's class may touch a wanted interval. Starts must ascend from call to
    /// call.
    @inline(__always)
    mutating func mayWant(_ start: Int64) -> Bool {
        while firstWanted < wanted.count, wanted[firstWanted].upperBound <= start { firstWanted += 1 }
        return firstWanted < wanted.count && start &+ lane.duration.longest >= wanted[firstWanted].lowerBound
    }

    /// Returns `true` if a sample touches a wanted interval. Starts must ascend from call to call.
    @inline(__always)
    mutating func wants(_ start: Int64, _ end: Int64) -> Bool {
        while firstWanted < wanted.count, wanted[firstWanted].upperBound <= start { firstWanted += 1 }
        guard firstWanted < wanted.count else { return false }
        return end > wanted[firstWanted].lowerBound || start >= wanted[firstWanted].lowerBound
    }

    var needsRows: Bool { position >= rows.count && next != nil }

    var head: (start: Int64, end: Int64)? {
        position < rows.count ? (rows[position].start, rows[position].end) : nil
    }

    func comes(_ place: (start: Int64, end: Int64), before other: (start: Int64, end: Int64)) -> Bool { place < other }
}

/// A class, because a closure cannot capture non-copyable buffers by value.
private final class StatisticsScratch {
    var columns = StatisticsColumns()
}

/// Buffers for the columns of one chunk.
private struct StatisticsColumns: ~Copyable {
    private var starts = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    private var durations = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    private var values = ScratchColumn<Double>(capacity: ChunkEncoder.rowLimit)
    private var revisions = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    private var flags = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    private var units = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)

    mutating func decode(_ chunk: borrowing HotChunk) throws(FormatError) {
        try starts.refill { column throws(FormatError) in try chunk.decodeStarts(into: &column) }
        try durations.refill { column throws(FormatError) in try chunk.decodeDurations(into: &column) }
        try values.refill { column throws(FormatError) in try chunk.decodeValues(into: &column) }
        try revisions.refill { column throws(FormatError) in try chunk.decodeRevisions(into: &column) }
        try flags.refill { column throws(FormatError) in try chunk.decodeFlags(into: &column) }
        try units.refill { column throws(FormatError) in try chunk.decodeUnits(into: &column) }
    }

    /// Appends the wanted rows if they are few: decodes the other columns only for these rows.
    mutating func append(
        _ chunk: borrowing HotChunk, _ columns: HotRows, to lane: inout StatisticsLane, _ places: RevisionPlaces
    ) throws(FormatError) {
        try starts.refill { column throws(FormatError) in try chunk.decodeStarts(into: &column) }
        let starts = starts.span
        for index in 0..<starts.count {
            let start = starts[index]
            if start >= lane.starts.upperBound { break }
            guard lane.mayWant(start) else { continue }
            let row = chunk.row(columns, at: index)
            let end = row.duration == -1 ? start : start &+ row.duration
            if start < lane.from, !lane.looksBack || end <= lane.from { continue }
            guard lane.wants(start, end) else { continue }
            let bits = StoredRow.Flags(rawValue: row.flags)
            if bits.contains(.shadowed) { continue }
            let place = places.place(row.revision, isUserEntered: bits.contains(.userEntered))
            if place.rank < 0 || !row.value.isFinite { continue }
            lane.rows.append(
                StatisticsRow(start: start, end: end, value: row.value, rank: place.rank, source: place.source))
        }
    }

    /// Appends the wanted rows, with their values converted.
    @inline(__always)
    func append<Failure: Error>(
        to lane: inout StatisticsLane, _ places: RevisionPlaces,
        _ convert: (Double, UInt32) throws(Failure) -> Double
    ) throws(Failure) {
        let (starts, durations, values) = (starts.span, durations.span, values.span)
        let (revisions, flags, units) = (revisions.span, flags.span, units.span)
        for index in 0..<starts.count {
            let start = starts[index]
            if start >= lane.starts.upperBound { break }
            // -1 means an open end, which counts as the start.
            let end = durations[index] == -1 ? start : start &+ durations[index]
            if start < lane.from, !lane.looksBack || end <= lane.from { continue }
            if !lane.wanted.isEmpty, !lane.wants(start, end) { continue }
            let bits = StoredRow.Flags(rawValue: UInt16(truncatingIfNeeded: flags[index]))
            if bits.contains(.shadowed) { continue }
            let place = places.place(
                UInt32(truncatingIfNeeded: revisions[index]), isUserEntered: bits.contains(.userEntered))
            if place.rank < 0 { continue }
            let value = try convert(values[index], UInt32(truncatingIfNeeded: units[index]))
            guard value.isFinite else { continue }
            lane.rows.append(
                StatisticsRow(start: start, end: end, value: value, rank: place.rank, source: place.source))
        }
    }
}

/// Rank and source of each revision, looked up once.
private struct RevisionPlaces {
    struct Place {
        /// -1 if the source is not selected, -2 if it was not looked up yet.
        var rank: Int32
        var source: Int32
    }

    /// Two entries per revision: not entered by the user, and entered.
    private var places: [Place] = []
    /// Numbers of revisions are small; a damaged number must not allocate much memory.
    private static let limit: UInt32 = 1 << 20

    mutating func learn(_ revision: UInt32, _ ranking: SourceRanking, _ snapshot: borrowing Snapshot) throws {
        guard revision < RevisionPlaces.limit else { throw snapshot.damaged(.revisionNameless) }
        let index = 2 * Int(revision)
        if index >= places.count {
            places += Array(repeating: Place(rank: -2, source: -1), count: index + 2 - places.count)
        }
        guard places[index].rank == -2 else { return }
        let source = try NameTable.revision(revision, in: snapshot).sourceNumber
        for isUserEntered in [false, true] {
            places[index + (isUserEntered ? 1 : 0)] = Place(
                rank: ranking.rank(source: source, isUserEntered: isUserEntered) ?? -1,
                source: ranking.index(ofSource: source) ?? -1)
        }
    }

    @inline(__always)
    func place(_ revision: UInt32, isUserEntered: Bool) -> Place {
        places[2 * Int(revision) + (isUserEntered ? 1 : 0)]
    }
}
