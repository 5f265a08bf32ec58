import ColumnFormat
import HealthModel
import LMDB

/// Adds summaries over buckets, and determines the intervals that must be read from samples: stale hours, the time
/// between a border and the next whole hour or quarter, and blocks without a summary.
struct SummaryAnswer {
    let type: UInt32
    let aggregation: SampleType.Aggregation
    private let borders: [Int64]
    private let from: Int64
    private let to: Int64
    private(set) var cells: [StatisticsCell]
    /// The intervals to read from samples, in order, with their buckets.
    private(set) var rest = StatisticsStretches()
    /// Everything before this position is added to a cell or is in `rest`.
    private var position: Int64
    private var bucket: Int
    /// The bucket in which the range begins.
    private let firstBucket: Int
    private let wantsPlain: Bool
    /// Quarters of cumulative types do not hold the plain values.
    private var hasQuarters: Bool { !wantsPlain || aggregation == .discrete }
    private let buffers: SummaryBuffers

    /// - Parameter wantsPlain: whether the plain values of a cumulative type are wanted: their sum, minimum and
    ///   maximum.
    init(
        type: UInt32, aggregation: SampleType.Aggregation, borders: BucketBorders, from: Int64, to: Int64,
        wantsPlain: Bool = false
    ) {
        self.type = type
        self.aggregation = aggregation
        self.borders = borders.instants
        self.wantsPlain = wantsPlain
        self.from = max(from, borders.instants.first ?? 0)
        self.to = min(to, borders.instants.last ?? 0)
        cells = [StatisticsCell](repeating: StatisticsCell(), count: borders.count)
        position = self.from
        // A query with borders of its own may begin in any of their buckets.
        let begin = self.from
        let following = self.borders.firstIndex { $0 > begin } ?? self.borders.count
        firstBucket = max(0, min(following - 1, self.borders.count - 2))
        bucket = firstBucket
        buffers = SummaryBuffers(SummaryColumns(aggregation, wantsPlain: wantsPlain))
    }

    /// Iterates over the blocks that the range touches. If one of them was computed from values that are not finite,
    /// the whole range is left to the samples, because statistics leave such values out.
    mutating func add(_ snapshot: borrowing Snapshot) throws {
        guard from < to else { return }
        try addBlocks(snapshot)
        // A value that is not finite becomes NaN when multiplied by zero. The sums include all values that were
        // counted.
        var probe = 0.0
        for index in cells.indices { probe += 0 * cells[index].sum + 0 * cells[index].plain }
        if probe == 0 { return }
        cells = [StatisticsCell](repeating: StatisticsCell(), count: cells.count)
        rest = StatisticsStretches()
        (position, bucket) = (from, firstBucket)
        leave(until: to)
    }

    private mutating func addBlocks(_ snapshot: borrowing Snapshot) throws {
        let (first, last) = (SummaryPeriod.block(of: from), SummaryPeriod.block(of: to - 1))
        let hours = (first * SummaryPeriod.hoursPerBlock)...((last + 1) * SummaryPeriod.hoursPerBlock - 1)
        let stale = try StaleTable.ranges(type, touching: hours, in: snapshot)
        var nextStale = 0
        var cursor = try snapshot.view.cursor(snapshot.tables[.summaries])
        var found = try cursor.seek(SummaryTable.key(type, first))
        while found, let (other, block) = try SummaryTable.parse(cursor.key), other == type, block <= last {
            let firstHour = block * SummaryPeriod.hoursPerBlock
            let endHour = firstHour + SummaryPeriod.hoursPerBlock
            while nextStale < stale.count, stale[nextStale].upperBound < firstHour { nextStale += 1 }
            if nextStale < stale.count, stale[nextStale].contains(firstHour), stale[nextStale].contains(endHour - 1) {
                // The whole block is stale.
                found = try cursor.next()
                continue
            }
            let stored = try SummaryBlock(cursor.value, key: cursor.key, verified: snapshot.context.verified)
            try add(stored, block, stale[nextStale...])
            found = try cursor.next()
        }
        leave(until: to)
    }

    /// Leaves everything from the position to `end` to the samples.
    private mutating func leave(until end: Int64) {
        while position < end {
            let upper = min(borders[bucket + 1], end)
            rest.append(position, upper, cell: bucket)
            position = upper
            if upper == borders[bucket + 1], bucket + 2 < borders.count { bucket += 1 }
        }
    }

    /// Adds the hours of a block that are not stale.
    private mutating func add(
        _ stored: borrowing SummaryBlock, _ block: Int64, _ stale: ArraySlice<ClosedRange<Int64>>
    ) throws {
        guard let hours = try stored.cells(.hours, allColumns: wantsPlain || aggregation == .discrete) else { return }
        try buffers.columns.open(hours, block: block)
        if hasQuarters, cutsHours(block), let quarters = try stored.cells(.quarters) {
            try buffers.columns.openQuarters(quarters)
            add(hours, quarters, block, stale, buffers.columns)
        } else {
            add(hours, nil, block, stale, buffers.columns)
        }
    }

    /// Returns `true` if a bucket begins or ends within an hour of a block.
    private func cutsHours(_ block: Int64) -> Bool {
        let (start, end) = (block * SummaryPeriod.block, (block + 1) * SummaryPeriod.block)
        if max(position, start) % SummaryPeriod.hour != 0 || min(to, end) % SummaryPeriod.hour != 0 { return true }
        var index = bucket + 1
        while index < borders.count, borders[index] < end {
            if borders[index] % SummaryPeriod.hour != 0 { return true }
            index += 1
        }
        return false
    }

    private mutating func add(
        _ hours: SummaryCells, _ quarters: SummaryCells?, _ block: Int64,
        _ stale: ArraySlice<ClosedRange<Int64>>, _ columns: borrowing SummaryColumns
    ) {
        var hour = block * SummaryPeriod.hoursPerBlock
        let endHour = hour + SummaryPeriod.hoursPerBlock
        var index = stale.startIndex
        while hour < endHour {
            let fresh = index < stale.endIndex ? min(endHour, stale[index].lowerBound) : endHour
            let start = max(position, hour * SummaryPeriod.hour)
            let end = min(to, fresh * SummaryPeriod.hour)
            if start < end {
                leave(until: start)
                while position < end {
                    let upper = min(borders[bucket + 1], end)
                    addPiece(hours, quarters, position, upper, columns)
                    position = upper
                    if upper == borders[bucket + 1], bucket + 2 < borders.count { bucket += 1 }
                }
            }
            guard index < stale.endIndex else { return }
            hour = max(hour, stale[index].upperBound + 1)
            index += 1
        }
    }

    /// Adds the part of one bucket that lies in one block.
    @inline(__always)
    private mutating func addPiece(
        _ hours: SummaryCells, _ quarters: SummaryCells?, _ from: Int64, _ to: Int64,
        _ columns: borrowing SummaryColumns
    ) {
        let hour = SummaryPeriod.hour
        let first = (from + hour - 1).dividedDown(by: hour)
        let last = to.dividedDown(by: hour)
        guard first < last else { return addQuarters(quarters, from, to, columns) }
        if from < first * hour { addQuarters(quarters, from, first * hour, columns) }
        columns.addHours(first..<last, to: &cells[bucket], hours)
        if last * hour < to { addQuarters(quarters, last * hour, to, columns) }
    }

    private mutating func addQuarters(
        _ quarters: SummaryCells?, _ from: Int64, _ to: Int64, _ columns: borrowing SummaryColumns
    ) {
        let quarter = SummaryPeriod.quarter
        let first = (from + quarter - 1).dividedDown(by: quarter)
        let last = to.dividedDown(by: quarter)
        guard first < last, columns.addQuarters(first..<last, to: &cells[bucket], quarters) else {
            return rest.append(from, to, cell: bucket)
        }
        // Before and after the whole quarters, in the order of time, as `rest` requires.
        if from < first * quarter { rest.append(from, first * quarter, cell: bucket) }
        if last * quarter < to { rest.append(last * quarter, to, cell: bucket) }
    }
}
