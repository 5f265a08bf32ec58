import ColumnFormat
import PageReader

/// The chunks of commits behind a snapshot, on pages to which it does not lead. They show how much it lacks.
struct NewerChunks {
    /// The span of a chunk and the number of its samples.
    private struct Extent {
        let lower: Point
        let upper: Point
        let rows: Int

        func meets(_ other: Extent) -> Bool { lower < other.upper && other.lower < upper }
    }

    /// The share of the samples of a snapshot, as a divisor, that it may lack. A search without trees cannot tell all
    /// that was deleted, so to lose exactly one transaction is better, unless it brought much.
    private static let share = 100
    /// To have lost fewer samples than this is not much in any store.
    private static let least = 100

    private var newer: [Lane: [Extent]] = [:]
    private var older: [Lane: [Extent]] = [:]

    init(
        _ file: PageFile, _ survey: TreeSurvey, pages: UInt64, after commit: UInt64, _ history: SessionHistory,
        _ rules: SalvageRules, _ step: @escaping () throws -> Void
    ) throws {
        let pageSize = survey.meta.pageSize
        var scan = PageScan(file, pageSize: pageSize, byteCount: pages * UInt64(pageSize), rules)
        try scan.forEachWhole(on: { !survey.walk.usesInTree($0) }, step) { value, bytes in
            guard value.table == .chunks, value.commit > commit, history.happened(value.stamp) != false else { return }
            NewerChunks.note(bytes, key: value.key, in: &newer, rules)
        }
        guard !newer.isEmpty else { return }
        var held: [Lane: [Extent]] = [:]
        let walk = try SnapshotWalk(file, survey.meta, visits: { $0 == TableCode.chunks.name }) { entry in
            try step()
            NewerChunks.note(try entry.value(), key: entry.key, in: &held, rules)
        }
        if let failure = walk.failure { throw failure }
        older = held
    }

    private static func note(
        _ bytes: [UInt8], key: [UInt8], in extents: inout [Lane: [Extent]], _ rules: SalvageRules
    ) {
        guard let content = rules.opened(bytes), let chunk = try? HotChunk(content.rawBytes, key: key.rawBytes) else {
            return
        }
        extents[chunk.key.lane, default: []].append(
            Extent(lower: chunk.key.lower, upper: chunk.upper, rows: chunk.rows))
    }

    /// Whether the newer chunks have many more samples than the snapshot has in their places.
    var areMany: Bool {
        let held = older.values.joined().reduce(0) { $0 + $1.rows }
        return gained > max(NewerChunks.least, held / NewerChunks.share)
    }

    /// The number of samples that the newer chunks have beyond those of the snapshot in their places. Of several
    /// chunks of one place, written one after another, the greatest counts.
    private var gained: Int {
        var gained = 0
        for (lane, extents) in newer {
            let places = Dictionary(extents.map { ($0.lower, $0) }) { $0.rows < $1.rows ? $1 : $0 }.values
                .sorted { $0.lower < $1.lower }
            gained += places.reduce(0) { $0 + $1.rows }
            // The chunks of a snapshot tile their lane, so both are walked in order.
            var next = 0
            for old in (older[lane] ?? []).sorted(by: { $0.lower < $1.lower }) {
                while next < places.count, places[next].upper <= old.lower { next += 1 }
                if next < places.count, places[next].meets(old) { gained -= old.rows }
            }
        }
        return gained
    }
}
