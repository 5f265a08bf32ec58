import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    /// Returns how the values of a type combine; `nil` if no summaries are kept of it.
    func summarizedAggregation(of type: UInt32) throws -> SampleType.Aggregation? { try self.type(type).aggregation }

    /// Summarizes the samples of a type over the quarters of some hours.
    ///
    /// - Returns: a cell for each quarter, and the number of samples read.
    func summarize(_ type: UInt32, hours: Range<Int64>, _ ranking: SourceRanking) throws -> (
        cells: [StatisticsCell], rows: Int
    ) {
        let sampleType = try self.type(type)
        let from = hours.lowerBound * SummaryPeriod.hour
        var stretches = StatisticsStretches()
        let count = hours.count * 4
        stretches.reserve(count)
        for index in 0..<count {
            let start = from + Int64(index) * SummaryPeriod.quarter
            stretches.append(start, start + SummaryPeriod.quarter, cell: index)
        }
        let to = hours.upperBound * SummaryPeriod.hour
        let cells = [StatisticsCell](repeating: StatisticsCell(), count: count)
        var reader = StatisticsReader(type: type, ranking: ranking, unit: sampleType.canonicalUnit)
        if sampleType.aggregation == .discrete {
            var collector = DiscreteCollector(stretches, cells: cells)
            try reader.feed(&collector, from: from, to: to, looksBack: false, self)
            return (collector.cells, reader.rowsRead)
        }
        var sweep = StatisticsSweep(stretches, cells: cells, ranks: ranking.classes.count, contest: .merged)
        try reader.feed(&sweep, from: from, to: to, looksBack: true, self)
        sweep.finish()
        return (sweep.cells, reader.rowsRead)
    }

    /// Returns the first start of a type's samples at or after an instant, so that centuries without samples can be
    /// skipped.
    func nextStart(_ type: UInt32, from instant: Int64, _ ranking: SourceRanking) throws -> Int64? {
        var reader = StatisticsReader(type: type, ranking: ranking, unit: try self.type(type).canonicalUnit)
        var first = FirstStart()
        try reader.feed(&first, from: instant, to: .max, looksBack: false, self)
        return first.instant
    }

    /// Returns the summary of a block; `nil` if there is none, so that samples must be read.
    func summary(_ type: UInt32, _ block: Int64, _ aggregation: SampleType.Aggregation) throws -> SummaryContent? {
        let key = SummaryPeriod.key(type, block)
        guard let span = try view.get(tables[.summaries], key) else { return nil }
        let stored = try SummaryBlock(span, key: key.rawBytes, verified: context.verified)
        return try SummaryContent(stored, block: block, aggregation)
    }

    /// Returns the first stale range of hours with its type, of any type, or of the types after `passed`; `nil` if
    /// nothing is stale.
    func firstStaleRange(behind passed: UInt32? = nil) throws -> (type: UInt32, hours: ClosedRange<Int64>)? {
        var cursor = try view.cursor(tables[.upkeep])
        guard try cursor.seek(passed.map { StaleRange.key($0, .max) } ?? [StaleRange.upkeepKind]) else { return nil }
        let key = cursor.key.copied()
        guard key.count == 13, key[0] == StaleRange.upkeepKind else { return nil }
        let type = key[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (type, try StaleRange.read(cursor.value, key: key))
    }
}

/// Records the start of the first sample.
private struct FirstStart: StatisticsCollector {
    private(set) var instant: Int64?

    mutating func add(_ row: StatisticsRow) { instant = instant ?? row.start }
    func isDone(at start: Int64) -> Bool { instant != nil }
}
