import ColumnFormat
import HealthModel
import LMDB
import PageReader
import Salvage

/// Fills the gaps among the chunks row by row, from what is left of chunks.
///
/// What was part of the store when it was damaged owns its whole span. An older state of a chunk fills what is left:
/// its rows are certain where no later change record touches their place, and doubtful otherwise.
struct SalvagedRows {
    /// What is left of a chunk: its hot value, its details, or both. A commit that wrote a chunk several times may have
    /// left several of them.
    struct Remains {
        var key: ChunkKey
        var stamp: CommitStamp
        var origin: ValueOrigin
        var hot: [Part] = []
        var details: [Part] = []

        var commit: UInt64 { stamp.commit }

        enum Part {
            case bytes([UInt8])
            case found(FoundValue)
        }
    }

    private let gaps: [Lane: [SalvagedTables.Gap]]
    private let records: [ChangeRecord]
    /// Commits whose change records may be lost: nothing shows that a row of a state before one of them is current.
    private let unknown: [ClosedRange<UInt64>]
    private let includesDoubtful: Bool
    /// Whether samples whose ids are lost get new ones.
    private let keepsNameless: Bool
    /// The last deletion of each sample in change records.
    private let deleted: [SampleID: FeedPlace]
    /// The mass operations in change records: a row that one of them removed may still be in a chunk.
    private let operations: [Intent]
    /// The spans that the newest state found of them owns.
    private var covered: [Lane: [SalvagedTables.Gap]] = [:]
    /// Those of which all rows are there for certain.
    private var settled: [Lane: [SalvagedTables.Gap]] = [:]

    private(set) var doubtful: [UInt32: Tally] = [:]
    private(set) var nameless: [UInt32: Tally] = [:]
    /// The number of chunks outside the trees whose rows were taken.
    private(set) var filledChunks = 0
    /// The ids whose samples are lost, by type.
    private(set) var strayIDs: [UInt32: Int] = [:]

    /// How many samples, and when they start.
    struct Tally {
        private(set) var count = 0
        private(set) var starts: ClosedRange<Int64>?

        mutating func add(_ start: Int64) {
            count += 1
            starts = starts.map { min($0.lowerBound, start)...max($0.upperBound, start) } ?? start...start
        }
    }

    init(
        _ gaps: [SalvagedTables.Gap], _ records: [ChangeRecord], unknown: [ClosedRange<UInt64>],
        includesDoubtful: Bool, keepsNameless: Bool
    ) {
        self.gaps = Dictionary(grouping: gaps, by: \.lane)
        (self.records, self.unknown) = (records, unknown)
        (self.includesDoubtful, self.keepsNameless) = (includesDoubtful, keepsNameless)
        var deleted: [SampleID: FeedPlace] = [:]
        for record in records {
            for deletion in record.deletions {
                deleted[deletion.id] = max(deleted[deletion.id] ?? deletion.place, deletion.place)
            }
        }
        self.deleted = deleted
        operations = records.flatMap(\.operations)
    }

    /// Fills the gaps from remains, the surest and newest first.
    mutating func fill(
        from remains: [Remains], _ read: (FoundValue) throws -> [UInt8], in txn: inout WriteTransaction,
        _ step: () throws -> Void
    ) throws {
        let order = remains.sorted { one, other in
            let (isSure, isOtherSure) = (one.origin >= .current, other.origin >= .current)
            if isSure != isOtherSure { return isSure }
            return one.commit != other.commit ? one.commit > other.commit : one.key < other.key
        }
        for item in order {
            try step()
            guard gaps[item.key.lane] != nil else { continue }
            func bytes(_ part: Remains.Part) throws -> [UInt8] {
                switch part {
                case .bytes(let bytes): bytes
                case .found(let value): try read(value)
                }
            }
            let pair = pairs(try item.hot.map(bytes), try item.details.map(bytes), item, txn.context)
            try fill(from: item, pair.hot, pair.details, in: &txn)
        }
    }

    /// Returns the hot value and the details that belong together. Of several pairs it is the one that the commit wrote
    /// last: its changes have the greatest ordinals.
    private func pairs(
        _ hot: [[UInt8]], _ details: [[UInt8]], _ item: Remains, _ context: ReadContext
    ) -> (hot: [UInt8]?, details: [UInt8]?) {
        if hot.count < 2, details.count < 2 { return (hot.first, details.first) }
        var best: (hot: [UInt8], details: [UInt8], last: UInt32, rows: Int)?
        for one in hot {
            guard let key = hotKey(one, item), let chunk = try? HotChunk(one.rawBytes, key: key.rawBytes),
                (try? chunk.verify()) != nil
            else { continue }
            for other in details {
                guard let decoder = try? ChunkDecoder(hot: chunk, details: DetailsChunk(other.rawBytes, of: chunk)),
                    let rows = try? decoder.rows(context)
                else { continue }
                let last = rows.lazy.filter { $0.commit == item.commit }.map(\.ordinal).max() ?? 0
                // Without an insertion in between, fewer rows are later: others were deleted.
                if let best, (best.last, -best.rows) >= (last, -rows.count) { continue }
                best = (one, other, last, rows.count)
            }
        }
        return best.map { ($0.hot, $0.details) } ?? (hot.first, details.first)
    }

    private mutating func fill(
        from item: Remains, _ hot: [UInt8]?, _ details: [UInt8]?, in txn: inout WriteTransaction
    ) throws {
        let lane = item.key.lane
        guard let hot, let hotKey = hotKey(hot, item) else {
            // Cold columns without hot ones.
            if item.origin >= .current, let details { noteStrays(details, item) }
            return
        }
        let chunk: HotChunk
        do { chunk = try HotChunk(hot.rawBytes, key: hotKey.rawBytes) } catch { return }
        let span = SalvagedTables.Gap(lane: lane, lower: chunk.key.lower, upper: chunk.upper)
        guard gaps[lane]!.contains(where: { $0.lower < span.upper && span.lower < $0.upper }) else { return }
        guard (try? chunk.verify()) != nil, (try? NameTable.loadNames(of: chunk, in: txn.snapshot)) != nil else {
            return
        }
        var (rows, missing): ([StoredRow], [Int]) = ([], [])
        if let details {
            (rows, missing) = SalvagedRows.rows(chunk, details, txn.context)
        } else {
            missing = Array(0..<chunk.rows)
        }
        let isSure = item.origin >= .current
        var isSettled = missing.isEmpty
        if isSure || missing.isEmpty {
            var certain: [StoredRow] = []
            for var row in rows where isOpen(row.point, lane) {
                // The name of its device may be lost, and the sample is worth more.
                if row.device != 0, (try? NameTable.device(row.device, in: txn.snapshot)) == nil { row.device = 0 }
                let removing = operations + txn.state.intents
                if try isDeleted(row) || isRemoved(row, lane, by: removing, in: txn.snapshot) { continue }
                if isSure || isCertain(row, lane, item) {
                    certain.append(row)
                } else {
                    isSettled = false
                    doubtful[lane.type, default: Tally()].add(row.start)
                    if includesDoubtful { certain.append(row) }
                }
            }
            try insert(certain, lane, in: &txn)
        }
        if isSure { try insertNameless(missing, chunk, item, in: &txn) }
        if isSure || missing.isEmpty { covered[lane, default: []].append(span) }
        if !isSure, missing.isEmpty { filledChunks += 1 }
        // Rows that were added since are in no older state, so change records have to show that there are none.
        if isSettled, isSure || isUntouched(span, since: item.commit) { settled[lane, default: []].append(span) }
    }

    /// Returns `true` if all rows of the gaps of a type are there for certain.
    func closes(_ type: UInt32) -> Bool {
        gaps.allSatisfy { lane, gaps in
            lane.type != type
                || gaps.allSatisfy { gap in
                    var point = gap.lower
                    for span in (settled[lane] ?? []).sorted(by: { $0.lower < $1.lower }) where span.lower <= point {
                        point = max(point, span.upper)
                    }
                    return point >= gap.upper
                }
        }
    }

    /// Returns the key under which a hot value verifies.
    private func hotKey(_ hot: [UInt8], _ item: Remains) -> [UInt8]? {
        item.key.stored(commit: StoredValue.commit(head: hot.rawBytes))
    }

    private func isOpen(_ point: Point, _ lane: Lane) -> Bool {
        gaps[lane]!.contains { $0.holds(point) } && covered[lane]?.contains { $0.holds(point) } != true
    }

    private func isCertain(_ row: StoredRow, _ lane: Lane, _ item: Remains) -> Bool {
        !unknown.contains { $0.upperBound > item.commit }
            && !records.contains { record in
                record.commits.upperBound > item.commit
                    && (record.spans.contains { $0.lane == lane && $0.starts.contains(row.start) })
            }
    }

    /// Returns `true` if no change record after a commit leads into a span.
    private func isUntouched(_ span: SalvagedTables.Gap, since commit: UInt64) -> Bool {
        !unknown.contains { $0.upperBound > commit }
            && !records.contains { record in
                record.commits.upperBound > commit
                    && record.spans.contains {
                        $0.lane == span.lane && $0.starts.lowerBound <= span.upper.start
                            && $0.starts.upperBound >= span.lower.start
                    }
            }
    }

    /// Whether a change record says that the sample left its place after this state of it was written.
    private func isDeleted(_ row: StoredRow) -> Bool {
        deleted[row.id].map { $0 > FeedPlace(commit: row.commit, ordinal: row.ordinal) } ?? false
    }

    /// Whether one of some mass operations removes the row. An inserted row counts as new, so that no operation under
    /// way hides it any more.
    private func isRemoved(
        _ row: StoredRow, _ lane: Lane, by operations: [Intent], in snapshot: Snapshot
    ) throws -> Bool {
        guard !operations.isEmpty else { return false }
        let source = try NameTable.revision(row.revision, in: snapshot).sourceNumber
        return operations.contains { $0.hides(row, type: lane.type, source: source) }
    }

    /// Returns the rows of a chunk that can be read, and the places of the others.
    private static func rows(_ chunk: HotChunk, _ details: [UInt8], _ context: ReadContext) -> ([StoredRow], [Int]) {
        do {
            let decoder = try ChunkDecoder(hot: chunk, details: try DetailsChunk(details.rawBytes, of: chunk))
            if let all = try? decoder.rows(context) { return (all, []) }
            var (rows, missing): ([StoredRow], [Int]) = ([], [])
            for index in 0..<chunk.rows {
                if let row = try? decoder.rows(index..<index + 1, context).first {
                    rows.append(row)
                } else {
                    missing.append(index)
                }
            }
            return (rows, missing)
        } catch {
            return ([], Array(0..<chunk.rows))
        }
    }

    private mutating func noteStrays(_ details: [UInt8], _ item: Remains) {
        let key = item.key.bytes
        guard let chunk = try? DetailsChunk(details.rawBytes, key: key.rawBytes), chunk.rows > 0 else { return }
        strayIDs[item.key.lane.type, default: 0] += chunk.rows
    }

    private func insert(_ rows: [StoredRow], _ lane: Lane, in txn: inout WriteTransaction) throws {
        var fresh: [StoredRow] = []
        for var row in rows {
            if try SampleLookup.find(row.id, in: txn.snapshot) != nil { continue }
            if let tombstone = try TombstoneTable.tombstone(row.id, in: txn.snapshot) {
                // The later one of deletion and sample counts.
                if tombstone.commit >= row.commit { continue }
                try TombstoneTable.revive(row.id, tombstone.sync, [tombstone], in: &txn)
            }
            // Told again, because the record that told of it may be lost.
            row.commit = txn.commit
            row.ordinal = txn.state.takeOrdinal()
            fresh.append(row)
        }
        guard !fresh.isEmpty else { return }
        try LaneWriter.apply(lane, inserts: fresh.sorted { $0.point < $1.point }, in: &txn)
        try IdentityIndex.indexingTogether(in: &txn) { txn in
            for row in fresh { try IdentityIndex.reindex(from: nil, to: (row, lane), in: &txn) }
        }
    }

    /// Stores samples whose ids are lost under new ones. If peers may still hold them under the old ones, only if that
    /// is wanted.
    private mutating func insertNameless(
        _ indices: [Int], _ chunk: HotChunk, _ item: Remains, in txn: inout WriteTransaction
    ) throws {
        guard !indices.isEmpty else { return }
        let lane = item.key.lane
        var found: [StoredRow] = []
        for var row in try SalvagedRows.renamed(indices, chunk) {
            // When it last changed is lost, too. Writing a chunk carries out all operations that cover it, so those
            // that it still needs are later, or under way and of the same commit.
            (row.commit, row.ordinal) = (item.commit, .max)
            if try isRemoved(row, lane, by: operations, in: txn.snapshot) { continue }
            row.ordinal = 0
            if try isRemoved(row, lane, by: txn.state.intents, in: txn.snapshot) { continue }
            // A new id may order the first and the last rows outside the gap that they are from.
            let isInside = row.point >= chunk.key.lower && row.point < chunk.upper
            guard isOpen(isInside ? row.point : chunk.key.lower, lane) else { continue }
            nameless[lane.type, default: Tally()].add(row.start)
            found.append(row)
        }
        if keepsNameless { try insert(found, lane, in: &txn) }
    }

    /// Returns rows of a chunk under new ids, with what the hot columns tell.
    private static func renamed(_ indices: [Int], _ chunk: HotChunk) throws(FormatError) -> [StoredRow] {
        func column<Element: BitwiseCopyable>(
            _ decode: (inout OutputColumn<Element>) throws(FormatError) -> Void
        ) throws(FormatError) -> [Element] {
            var scratch = ScratchColumn<Element>(capacity: ChunkEncoder.rowLimit)
            try scratch.refill(decode)
            return scratch.span.indices.map { scratch.span[$0] }
        }
        let starts = try column { into throws(FormatError) in try chunk.decodeStarts(into: &into) }
        let durations = try column { into throws(FormatError) in try chunk.decodeDurations(into: &into) }
        let values = try column { into throws(FormatError) in try chunk.decodeValues(into: &into) }
        let units = try column { into throws(FormatError) in try chunk.decodeUnits(into: &into) }
        let revisions = try column { into throws(FormatError) in try chunk.decodeRevisions(into: &into) }
        let flags = try column { into throws(FormatError) in try chunk.decodeFlags(into: &into) }
        return indices.map { index in
            StoredRow(
                start: starts[index], end: durations[index] == -1 ? .max : starts[index] + durations[index],
                id: SampleID(), value: values[index], unit: UInt32(truncatingIfNeeded: units[index]),
                revision: UInt32(truncatingIfNeeded: revisions[index]),
                flags: StoredRow.Flags(rawValue: UInt16(truncatingIfNeeded: flags[index])).subtracting(.syncIsID),
                version: 1, clockTime: 0, clockReplica: 0, commit: 0, ordinal: 0)
        }
    }
}

extension ChangeRecord {
    /// The mass operations that the record tells of, as if none of their steps had been done: repeating one changes
    /// nothing.
    var operations: [Intent] {
        removals.map { removal in
            Intent(
                scope: removal.scope, commit: commit, ordinal: removal.ordinal,
                clock: ChangeClock(time: Instant(nanoseconds: time), replica: 0), time: time, leavesTombstones: true)
        }
    }
}
