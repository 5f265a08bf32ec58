import ColumnFormat
import HealthModel
import LMDB

/// Records the start of the first sample.
private struct FirstStart: StatisticsCollector {
    private(set) var instant: Int64?

    mutating func add(_ row: StatisticsRow) { instant = instant ?? row.start }
    func isDone(at start: Int64) -> Bool { instant != nil }
}

/// Sums the samples of hours, as summaries hold them.
enum HourSums {
    /// Returns how the values of a type combine; `nil` if no summaries are kept of it.
    static func summarizedAggregation(of type: UInt32, in snapshot: Snapshot) throws -> SampleType.Aggregation? {
        // Another store of this process may define the type. Here it is defined by what this snapshot shows.
        snapshot.aggregation(of: try NameTable.type(type, in: snapshot))
    }

    /// Summarizes the samples of a type over the quarters of some hours.
    ///
    /// - Returns: a cell for each quarter, and the number of samples read.
    static func summarize(_ type: UInt32, hours: Range<Int64>, _ ranking: SourceRanking, in snapshot: Snapshot) throws
        -> (
            cells: [StatisticsCell], rows: Int
        )
    {
        let sampleType = try NameTable.type(type, in: snapshot)
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
        var reader = StatisticsReader(type: type, ranking: ranking, unit: snapshot.unit(of: sampleType))
        if snapshot.aggregation(of: sampleType) == .discrete {
            var collector = DiscreteCollector(stretches, cells: cells)
            try reader.feed(&collector, from: from, to: to, looksBack: false, snapshot)
            return (collector.cells, reader.rowsRead)
        }
        var sweep = StatisticsSweep(stretches, cells: cells, ranks: ranking.classes.count, contest: .merged)
        try reader.feed(&sweep, from: from, to: to, looksBack: true, snapshot)
        sweep.finish()
        return (sweep.cells, reader.rowsRead)
    }

    /// Returns the first start of a type's samples at or after an instant, so that centuries without samples can be
    /// skipped.
    static func nextStart(_ type: UInt32, from instant: Int64, _ ranking: SourceRanking, in snapshot: Snapshot) throws
        -> Int64?
    {
        var reader = StatisticsReader(
            type: type, ranking: ranking, unit: snapshot.unit(of: try NameTable.type(type, in: snapshot)))
        var first = FirstStart()
        try reader.feed(&first, from: instant, to: .max, looksBack: false, snapshot)
        return first.instant
    }
}
