import ColumnFormat
import HealthModel
import LMDB

extension Checker {
    /// Checks every chunk: checksums, bounds, order, details, names, marks, counts, and that the feed leads to each
    /// sample.
    mutating func checkChunks(_ snapshot: borrowing Snapshot, _ progress: (Double) -> Bool) throws {
        var counts: [UInt32: TypeCounts] = [:]
        let feed = FeedCoverage(snapshot)
        var last = LaneEnd.begin
        let total = max(1, try snapshot.view.statistics(snapshot.tables[.chunks]).entries)
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        while try cursor.next() {
            report.chunks += 1
            if report.chunks % 256 == 0, !progress(0.1 + 0.5 * Double(report.chunks) / Double(total)) { return }
            let key = cursor.key.copied()
            do {
                let chunk = try HotChunk(cursor.value, key: key.rawBytes)
                checkTiling(chunk, after: last)
                last = LaneEnd(lane: chunk.key.lane, upper: chunk.upper, place: place(of: chunk.key))
                try checkRows(snapshot, chunk, &counts, feed)
            } catch let error as FormatError {
                add(
                    Finding.Kind(error, else: .chunkUnreadable), .chunks, "\(place(of: key)): \(error)",
                    Checker.reference(key))
                noteDamage(ofChunk: key)
                last = LaneEnd(lane: Checker.chunkKey(key)?.lane, upper: nil, place: place(of: key))
            } catch let error as StoreError where error.code == .damaged {
                add(
                    error.underlying is MissingName ? .nameMissing : .detailsMismatch, .chunks,
                    "\(place(of: key)): \(error.detail)", Checker.reference(key))
                noteDamage(ofChunk: key)
            }
        }
        checkLaneEnd(last)
        checkOrphans(snapshot)
        checkCounts(snapshot, counts)
    }

    /// Describes the chunk being checked, by its number in the table.
    private func place(of key: ChunkKey) -> String { "\(Checker.name(key.lane.type)), chunk \(report.chunks)" }

    private func place(of key: [UInt8]) -> String {
        Checker.chunkKey(key).map { place(of: $0) } ?? "chunk \(report.chunks)"
    }

    private mutating func checkTiling(_ chunk: HotChunk, after last: LaneEnd) {
        if last.lane == chunk.key.lane {
            if let upper = last.upper, upper != chunk.key.lower { addGap(chunk.key.lane, "behind \(last.place)") }
            return
        }
        checkLaneEnd(last)
        // After a chunk of an unknown lane nothing can be checked.
        if last.lane != nil || last.upper != nil, chunk.key.lower != .least {
            addGap(chunk.key.lane, "before \(place(of: chunk.key))", Checker.reference(chunk.key.bytes))
        }
    }

    private mutating func checkLaneEnd(_ last: LaneEnd) {
        if let lane = last.lane, let upper = last.upper, upper != .greatest { addGap(lane, "behind \(last.place)") }
    }

    /// The samples in the gap are missing from counts and summaries, too.
    private mutating func addGap(_ lane: Lane, _ detail: String, _ reference: String? = nil) {
        add(.chunkGap, .chunks, detail, reference)
        noteDamage(ofType: lane.type)
    }

    private mutating func checkRows(
        _ snapshot: borrowing Snapshot, _ chunk: HotChunk, _ counts: inout [UInt32: TypeCounts],
        _ feed: FeedCoverage
    ) throws {
        let lane = chunk.key.lane
        let rows = try ChunkTable.allRows(chunk, in: snapshot)
        report.samples += rows.count
        if rows.count(where: \.isShadowed) != chunk.shadowed {
            add(
                .shadowWrong, .chunks, "number of marks of \(place(of: chunk.key))",
                Checker.reference(chunk.key.bytes))
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
            if !feed.covers(row, lane) {
                add(
                    .changeMissing, .changes,
                    "commit \(row.commit) does not lead to a sample of \(Checker.name(lane.type))", "id \(row.id)")
            }
        }
        try checkShadows(snapshot, lane, rows.filter { !(hides?($0) ?? false) })
    }

    /// Reports non-finite numbers of a sample. Older releases stored them.
    private mutating func checkFinite(
        _ snapshot: borrowing Snapshot, _ row: StoredRow, _ lane: Lane, in key: ChunkKey
    ) throws {
        guard row.rare != nil || !(abs(row.value) <= Sample.greatestConverted) else { return }
        do {
            try NameTable.sample(row, lane.type, in: snapshot).validate()
        } catch ModelError.notFinite(let field) {
            let name = field.hasPrefix("metadata") ? "metadata" : field
            add(
                .valueNotFinite, .chunks, "\(place(of: key)): the number of \(name) of a sample is not finite",
                "id \(row.id)")
            if !row.value.isFinite { oddTypes.insert(lane.type) }
        } catch is ModelError {
            // Not reported: another release may have had other bounds.
        }
    }

    /// Checks that exactly one sample of a shadowing type is visible at each time, and that all samples of other types
    /// are.
    private mutating func checkShadows(_ snapshot: borrowing Snapshot, _ lane: Lane, _ rows: [StoredRow]) throws {
        let shadows =
            snapshot.header.shadowing[lane.type] ?? SampleType(catalogNumber: lane.type)?.shadowsDuplicates ?? false
        if !shadows {
            if rows.contains(where: \.isShadowed) {
                add(.shadowWrong, .chunks, "\(Checker.name(lane.type)) shadows nothing")
            }
            return
        }
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
                add(.shadowWrong, .chunks, "a time of \(Checker.name(lane.type)) shows \(shown) samples")
            } else if let group, try ShadowMarks.winner(of: group, lane.type, in: snapshot)?.isShadowed == true {
                add(
                    .shadowWrong, .chunks,
                    "a time of \(Checker.name(lane.type)) shows another sample than the one that wins")
            }
            index = end
        }
    }

    /// Reports details whose chunk is gone.
    private mutating func checkOrphans(_ snapshot: borrowing Snapshot) {
        forEachValue(snapshot, .details, as: .detailsMismatch) { checker, value, key in
            if try ChunkTable.storedKey(of: ChunkKey(key.rawBytes), in: snapshot) == nil {
                checker.add(.detailsMismatch, .details, "\(checker.place) has no chunk", Checker.reference(key))
            }
            try DetailsChunk(value, key: key.rawBytes).verify()
        }
    }

    private mutating func checkCounts(_ snapshot: borrowing Snapshot, _ counted: [UInt32: TypeCounts]) {
        do {
            var kept: [UInt32: TypeCounts] = [:]
            for (type, counts) in try SummaryTable.allCounts(in: snapshot) { kept[type] = counts }
            for type in Set(kept.keys).union(counted.keys).sorted()
            where kept[type] ?? TypeCounts() != counted[type] ?? TypeCounts() && !damagedTypes.contains(type) {
                add(.countsWrong, .summaries, Checker.name(type))
            }
            for type in damagedTypes.sorted() {
                report.unexamined.append("counts of \(Checker.name(type)): not all of its chunks can be read")
            }
        } catch {
            add(Finding.Kind(error, else: .countsWrong), .summaries, "\(error)")
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

/// The spans that the change records name, by the commits that the records cover.
struct FeedCoverage {
    /// In the order of commits. `spans` is `nil` for a record of a newer release: its format is unknown.
    private var records: [(commits: ClosedRange<UInt64>, spans: [(lane: Lane, starts: ClosedRange<Int64>)]?)] = []

    init(_ snapshot: borrowing Snapshot) {
        var records = records
        ChangeLog.forEachReadableRecord(in: snapshot) { commit, result in
            switch result {
            case .success(let record): records.append((record.commits, record.spans))
            case .failure(let error):
                // Other damage is reported as a finding of its own.
                guard error.isOfNewerRelease, let commit else { return }
                let first = min((records.last?.commits.upperBound ?? 0) &+ 1, commit)
                records.append((first...commit, nil))
            }
        }
        self.records = records
    }

    func covers(_ row: StoredRow, _ lane: Lane) -> Bool {
        let low = (0..<records.count).firstIndex(notPreceding: { records[$0].commits.upperBound < row.commit })
        guard low < records.count, records[low].commits.contains(row.commit) else { return false }
        return records[low].spans?.contains { $0.lane == lane && $0.starts.contains(row.start) } ?? true
    }
}
