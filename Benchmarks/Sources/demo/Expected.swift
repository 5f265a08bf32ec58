import HealthKV
import Histories

/// The expected content of the store: the generated samples with each change applied. Judges every answer.
struct Expected {
    /// One type's samples in the order of time.
    struct Column {
        var ids: [SampleID] = []
        var starts: [Int64] = []
        var ends: [Int64] = []
        /// In the type's canonical unit.
        var values: [Double] = []

        /// The positions of the samples that share an instant with a range.
        func overlapping(_ range: TimeRange) -> [Int] {
            starts.indices.filter {
                range.picks(
                    start: Instant(nanoseconds: starts[$0]), end: Instant(nanoseconds: ends[$0]), by: .overlap)
            }
        }
    }

    private(set) var columns: [SampleType: Column] = [:]

    var samples: Int { columns.values.reduce(0) { $0 + $1.ids.count } }

    mutating func add(_ batch: SampleBatch) {
        for (number, kind) in batch.kinds.enumerated() {
            // Take the column out and put it back, so that appending does not copy it.
            var column = columns.removeValue(forKey: kind.type) ?? Column()
            for row in 0..<batch.count where Int(batch.kindOfRow[row]) == number {
                column.ids.append(batch.ids[row])
                column.starts.append(batch.starts[row])
                column.ends.append(batch.ends[row])
                column.values.append(canonical(batch.values[row], kind))
            }
            columns[kind.type] = column
        }
    }

    private func canonical(_ value: Double, _ kind: SampleBatch.Kind) -> Double {
        guard let unit = kind.type.canonicalUnit, let converted = try? kind.unit.convert(value, to: unit) else {
            return value
        }
        return converted
    }

    /// Sorts each column by time. Batches are sorted over all kinds, but not within each kind.
    mutating func sort() {
        for (type, column) in columns {
            let order = column.starts.indices.sorted {
                (column.starts[$0], column.ends[$0], column.ids[$0]) < (
                    column.starts[$1], column.ends[$1], column.ids[$1]
                )
            }
            columns[type] = Column(
                ids: order.map { column.ids[$0] }, starts: order.map { column.starts[$0] },
                ends: order.map { column.ends[$0] }, values: order.map { column.values[$0] })
        }
    }

    mutating func change(_ edits: [SampleID: Double], of type: SampleType) {
        guard var column = columns.removeValue(forKey: type) else { return }
        for row in column.ids.indices {
            if let value = edits[column.ids[row]] { column.values[row] = value }
        }
        columns[type] = column
    }

    mutating func remove(_ ids: Set<SampleID>, of type: SampleType) {
        guard let column = columns[type] else { return }
        let kept = column.ids.indices.filter { !ids.contains(column.ids[$0]) }
        columns[type] = Column(
            ids: kept.map { column.ids[$0] }, starts: kept.map { column.starts[$0] },
            ends: kept.map { column.ends[$0] }, values: kept.map { column.values[$0] })
    }
}
