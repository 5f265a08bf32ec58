import ColumnFormat
import HealthModel
import LMDB

/// Checks every chunk: checksums, bounds, order, details, names, marks, counts, and that the feed leads to each sample.
struct ChunkCheck {
    private let log: CheckLog
    private let feed: FeedCoverage
    /// The samples to which no change record leads.
    private var untold: [Untold: (starts: ClosedRange<Int64>, count: Int, first: SampleID)] = [:]

    /// What samples without a change record have in common. The commit of their last change is `nil` once there are
    /// very many of these.
    private struct Untold: Hashable {
        let commit: UInt64?
        let type: UInt32
    }

    private static let untoldCommits = 1_000

    /// - Parameter afterRecords: whether the change records were checked before.
    init(log: CheckLog, _ snapshot: borrowing Snapshot, afterRecords: Bool) {
        self.log = log
        feed = FeedCoverage(snapshot, areReported: afterRecords)
    }

    mutating func run(_ snapshot: borrowing Snapshot, _ progress: (Double) -> Bool) throws {
        var counts: [UInt32: TypeCounts] = [:]
        var last = LaneEnd.begin
        let total = max(1, try snapshot.view.count(snapshot.tables[.chunks]))
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        while try cursor.next() {
            log.report.chunks += 1
            if log.report.chunks % 256 == 0, !progress(0.1 + 0.5 * Double(log.report.chunks) / Double(total)) {
                reportUntold(snapshot)
                return
            }
            let key = cursor.key.copied()
            do {
                let chunk = try HotChunk(cursor.value, key: key.rawBytes)
                checkTiling(chunk, after: last)
                last = LaneEnd(lane: chunk.key.lane, upper: chunk.upper, place: place(of: chunk.key))
                do { try checkRows(snapshot, chunk, &counts) } catch let error as FormatError {
                    // `checkOrphans` reports details that cannot be read.
                    guard try !hasReadableDetails(chunk, in: snapshot) else { throw error }
                    log.noteDamage(ofChunk: key)
                }
            } catch let error as FormatError {
                log.add(
                    Finding.Kind(error, else: .chunkUnreadable), .chunks, "\(place(of: key)): \(error)",
                    key: key)
                log.noteDamage(ofChunk: key)
                last = LaneEnd(lane: CheckLog.chunkKey(key)?.lane, upper: nil, place: place(of: key))
            } catch let error as StoreError where error.code == .damaged {
                log.add(
                    error.underlying is MissingName ? .nameMissing : .detailsMismatch, .chunks,
                    "\(place(of: key)): \(error.detail)", key: key)
                log.noteDamage(ofChunk: key)
            }
        }
        checkLaneEnd(last)
        reportUntold(snapshot)
        checkOrphans(snapshot)
        checkCounts(snapshot, counts)
    }

    /// Describes the chunk being checked, by its number in the table.
    private func place(of key: ChunkKey) -> String { "\(CheckLog.name(key.lane.type)), chunk \(log.report.chunks)" }

    private func place(of key: [UInt8]) -> String {
        CheckLog.chunkKey(key).map { place(of: $0) } ?? "chunk \(log.report.chunks)"
    }

    private func checkTiling(_ chunk: HotChunk, after last: LaneEnd) {
        if last.lane == chunk.key.lane {
            if let upper = last.upper, upper != chunk.key.lower { addGap(chunk.key.lane, "behind \(last.place)") }
            return
        }
        checkLaneEnd(last)
        // After a chunk of an unknown lane nothing can be checked.
        if last.lane != nil || last.upper != nil, chunk.key.lower != .least {
            addGap(chunk.key.lane, "before \(place(of: chunk.key))", key: chunk.key.bytes)
        }
    }

    private func checkLaneEnd(_ last: LaneEnd) {
        if let lane = last.lane, let upper = last.upper, upper != .greatest { addGap(lane, "behind \(last.place)") }
    }

    /// The samples in the gap are missing from counts and summaries, too.
    private func addGap(_ lane: Lane, _ detail: String, key: [UInt8]? = nil) {
        log.add(.chunkGap, .chunks, detail, key: key)
        log.noteDamage(ofType: lane.type)
    }

    private mutating func checkRows(
        _ snapshot: borrowing Snapshot, _ chunk: HotChunk, _ counts: inout [UInt32: TypeCounts]
    ) throws {
        let lane = chunk.key.lane
        let rows = try ChunkTable.allRows(chunk, in: snapshot)
        log.report.samples += rows.count
        if rows.count(where: \.isShadowed) != chunk.shadowed {
            log.add(
                .shadowWrong, .chunks, "the number of marks of \(place(of: chunk.key)) is wrong",
                key: chunk.key.bytes)
        }
        let hides = try ChunkTable.hidden(rows, lane, in: snapshot)
        for row in rows {
            if hides?(row) ?? false {
                counts[lane.type, default: TypeCounts()].hidden += 1
                continue
            }
            let source = try NameTable.revision(row.revision, in: snapshot).sourceNumber
            counts[lane.type, default: TypeCounts()].add(row, source: source, 1)
            _ = try NameTable.unit(row.unit, in: snapshot)
            _ = try NameTable.device(row.device, in: snapshot)
            try checkFinite(snapshot, row, lane, in: chunk.key)
            if !feed.covers(row, lane) { noteUntold(row, lane) }
        }
        try checkShadows(snapshot, lane, rows.filter { !(hides?($0) ?? false) })
    }

    private mutating func noteUntold(_ row: StoredRow, _ lane: Lane) {
        var place = Untold(commit: row.commit, type: lane.type)
        if untold[place] == nil, untold.count >= ChunkCheck.untoldCommits {
            place = Untold(commit: nil, type: lane.type)
        }
        let known = untold[place] ?? (row.start...row.start, 0, row.id)
        let starts = min(known.starts.lowerBound, row.start)...max(known.starts.upperBound, row.start)
        untold[place] = (starts, known.count + 1, known.first)
    }

    /// Reports the samples that the feed does not tell of, once for each commit and type.
    private func reportUntold(_ snapshot: borrowing Snapshot) {
        for (place, missed) in untold.sorted(by: {
            ($0.key.commit ?? .max, $0.key.type) < ($1.key.commit ?? .max, $1.key.type)
        }) {
            let words = missed.count == 1 ? "a sample" : "\(missed.count) samples"
            let commits = place.commit.map { "commit \($0) does" } ?? "many other commits do"
            let samples = (try? NameTable.type(place.type, in: snapshot)).map { type in
                let last = missed.starts.upperBound
                let end = last == .max ? Instant.distantFuture : Instant(nanoseconds: last + 1)
                return Finding.Samples(
                    type: type, starts: TimeRange(from: Instant(nanoseconds: missed.starts.lowerBound), to: end),
                    count: missed.count)
            }
            log.add(
                .changeMissing, .changes, "\(commits) not lead to \(words) of \(CheckLog.name(place.type))",
                "id \(missed.first)", samples: samples)
        }
    }

    /// Reports non-finite numbers of a sample. Older releases stored them.
    private func checkFinite(
        _ snapshot: borrowing Snapshot, _ row: StoredRow, _ lane: Lane, in key: ChunkKey
    ) throws {
        guard row.rare != nil || !(abs(row.value) <= Sample.greatestConverted) else { return }
        do {
            try NameTable.sample(row, lane.type, in: snapshot).validate()
        } catch ModelError.notFinite(let field) {
            let name = field.hasPrefix("metadata") ? "metadata" : field
            log.add(
                .valueNotFinite, .chunks, "\(place(of: key)): the number of \(name) of a sample is not finite",
                "id \(row.id)")
            if !row.value.isFinite { log.noteOddValue(ofType: lane.type) }
        } catch is ModelError {
            // Not reported: another release may have had other bounds.
        }
    }

    /// Checks that exactly one sample of a shadowing type is visible at each time, and that all samples of other types
    /// are.
    private func checkShadows(_ snapshot: borrowing Snapshot, _ lane: Lane, _ rows: [StoredRow]) throws {
        let shadows =
            snapshot.header.shadowing[lane.type] ?? SampleType(catalogNumber: lane.type)?.shadowsDuplicates ?? false
        if !shadows {
            if rows.contains(where: \.isShadowed) {
                log.add(.shadowWrong, .chunks, "\(CheckLog.name(lane.type)) shadows nothing")
            }
            return
        }
        var priorities: PriorityRecord?
        var index = 0
        while index < rows.count {
            var end = index + 1
            while end < rows.count, rows[end].start == rows[index].start, rows[end].end == rows[index].end { end += 1 }
            let isAtBorder = index == 0 || end == rows.count
            // An unreadable neighbour is reported as a finding of its own.
            let group =
                isAtBorder
                ? try? ShadowMarks.rows(lane, start: rows[index].start, end: rows[index].end, in: snapshot)
                : Array(rows[index..<end])
            if let shown = group?.count(where: { !$0.isShadowed }), shown != 1 {
                log.add(.shadowWrong, .chunks, "a time of \(CheckLog.name(lane.type)) shows \(shown) samples")
            } else if let group,
                try ShadowMarks.winner(of: group, lane.type, &priorities, in: snapshot)?.isShadowed == true
            {
                log.add(
                    .shadowWrong, .chunks,
                    "a time of \(CheckLog.name(lane.type)) shows another sample than the one that wins")
            }
            index = end
        }
    }

    private func hasReadableDetails(_ chunk: HotChunk, in snapshot: borrowing Snapshot) throws -> Bool {
        let key = chunk.key.bytes
        guard let span = try snapshot.view.get(snapshot.tables[.details], key) else { return true }
        do { try DetailsChunk(span, key: key.rawBytes).verify() } catch { return false }
        return true
    }

    /// Reports details that cannot be read, or whose chunk is gone.
    private func checkOrphans(_ snapshot: borrowing Snapshot) {
        log.forEachValue(snapshot, .details, as: .detailsMismatch) { value, key in
            if try ChunkTable.storedKey(of: ChunkKey(key.rawBytes), in: snapshot) == nil {
                log.add(.detailsMismatch, .details, "\(log.place) has no chunk", key: key)
            }
            try DetailsChunk(value, key: key.rawBytes).verify()
        }
    }

    private func checkCounts(_ snapshot: borrowing Snapshot, _ counted: [UInt32: TypeCounts]) {
        do {
            var kept: [UInt32: TypeCounts] = [:]
            for (type, counts) in try SummaryTable.allCounts(in: snapshot) { kept[type] = counts }
            for type in Set(kept.keys).union(counted.keys).sorted()
            where kept[type] ?? TypeCounts() != counted[type] ?? TypeCounts() && !log.damagedTypes.contains(type) {
                log.add(.countsWrong, .summaries, CheckLog.name(type))
            }
            for type in log.damagedTypes.sorted() {
                log.report.unexamined.append("counts of \(CheckLog.name(type)): not all of its chunks can be read")
            }
        } catch {
            log.add(Finding.Kind(error, else: .countsWrong), .summaries, "\(error)")
        }
    }
}

/// How far the walk has followed a lane. After an unreadable chunk, the end is unknown.
private struct LaneEnd {
    var lane: Lane?
    var upper: Point?
    var place = ""

    /// The start of the walk, which equals the end of a complete lane.
    static let begin = LaneEnd(lane: nil, upper: .greatest)
}
