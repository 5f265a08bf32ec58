import HealthKV

/// What one commit stores of the lines that were read.
struct LoadedBatch: Sendable {
    var samples: SampleBatch
    /// The kinds that stand for sources of a dump.
    var headKinds: Set<Int>
    var states: [StateEntry]
    /// The line of each row.
    var lineOfRow: [Int]
    var lastLine: Int

    /// The sources of all rows and of the dump, in the order in which the lines named them.
    var sources: [Source] {
        var isUsed = [Bool](repeating: false, count: samples.kinds.count)
        for kind in samples.kindOfRow { isUsed[Int(kind)] = true }
        return samples.kinds.indices.filter { isUsed[$0] || headKinds.contains($0) }.map { samples.kinds[$0].source }
    }

    /// A batch of one row.
    func sample(_ row: Int) -> SampleBatch {
        var part = SampleBatch()
        let kind = samples.kinds[Int(samples.kindOfRow[row])]
        let number = part.kind(
            kind.type, kind.unit, source: kind.source, origin: kind.origin, isUserEntered: kind.isUserEntered,
            device: kind.device)
        part.append(
            kind: number, start: Instant(nanoseconds: samples.starts[row]),
            end: Instant(nanoseconds: samples.ends[row]), value: samples.values[row], id: samples.ids[row],
            modified: samples.modified(at: row))
        if let extras = samples.extras[row] { part.setExtras(extras, row: 0) }
        return part
    }
}

/// A line that was not taken.
struct BadLine: Error, Sendable {
    let line: Int
    let reason: String
}
