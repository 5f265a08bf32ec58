import ColumnFormat
import HealthModel
import LMDB

/// The constants of a pass over the stale hours of a type, and its current step size.
private struct SummaryPass {
    let ranking: SourceRanking
    let type: UInt32
    let aggregation: SampleType.Aggregation
    var hours: Int64
    /// The number of samples that the last step read.
    var rows = 0

    /// If a step would read more samples than this, it covers fewer hours.
    static let mostRows = 20_000
}

/// Updates the summaries. A write only marks the hours that it touched; steps of bounded length recompute them from
/// samples, so that sums never drift. Until then these hours are read from samples.
enum SummaryUpkeep {
    /// Recomputes stale hours until about `limit` samples were read. If samples of a type are damaged, or in units that
    /// do not fit its definition, its hours stay stale and are answered from samples. This is an error only if nothing
    /// else was left to do, so that it does not affect other types.
    static func refreshSummaries(rows limit: Int, in txn: inout WriteTransaction) throws {
        var left = limit
        var (passed, damage): (UInt32?, (any Error)?) = (nil, nil)
        var isAnyDone = false
        while left > 0, let (type, hours) = try StaleTable.firstRange(behind: passed, in: txn.snapshot) {
            do {
                try refreshSummaries(type, hours, rows: &left, in: &txn)
                isAnyDone = true
            } catch  where StoreError.isDamage(error) || StoreError.isOfMixedUnits(error) {
                (passed, damage) = (type, error)
            }
        }
        if let damage, !isAnyDone { throw damage }
    }

    private static func refreshSummaries(
        _ type: UInt32, _ hours: ClosedRange<Int64>, rows left: inout Int, in txn: inout WriteTransaction
    ) throws {
        guard let aggregation = try HourSums.summarizedAggregation(of: type, in: txn.snapshot) else {
            try StaleTable.remove(type, hours, in: &txn)
            return
        }
        let next = try refresh(type, aggregation, hours, rows: &left, in: &txn)
        try StaleTable.remove(type, hours, in: &txn)
        if next <= hours.upperBound {
            try StaleTable.put(type, next...hours.upperBound, in: &txn)
        }
    }

    /// Recomputes stale hours starting with the first one, and returns the next hour.
    private static func refresh(
        _ type: UInt32, _ aggregation: SampleType.Aggregation, _ stale: ClosedRange<Int64>, rows left: inout Int,
        in txn: inout WriteTransaction
    ) throws -> Int64 {
        // Ranges without samples have no summaries and need not be processed.
        let blocks = SummaryPeriod.block(ofHour: stale.lowerBound)...SummaryPeriod.block(ofHour: stale.upperBound)
        guard let extent = try ChunkExtent.extent(of: type, in: txn.snapshot) else {
            try removeSummaries(type, blocks, in: &txn)
            return stale.upperBound + 1
        }
        let inside = SummaryPeriod.block(of: extent.lowerBound)...SummaryPeriod.block(of: extent.upperBound)
        if blocks.lowerBound < inside.lowerBound {
            try removeSummaries(type, blocks.lowerBound...min(blocks.upperBound, inside.lowerBound - 1), in: &txn)
        }
        if blocks.upperBound > inside.upperBound {
            try removeSummaries(type, max(blocks.lowerBound, inside.upperBound + 1)...blocks.upperBound, in: &txn)
        }
        let last = min(stale.upperBound, (inside.upperBound + 1) * SummaryPeriod.hoursPerBlock - 1)
        var hour = max(stale.lowerBound, inside.lowerBound * SummaryPeriod.hoursPerBlock)
        let hours = max(1, extent.upperBound / SummaryPeriod.hour - extent.lowerBound / SummaryPeriod.hour)
        let rowsPerHour = try Int64(SummaryTable.counts(of: type, in: txn.snapshot).samples) / hours
        var pass = SummaryPass(
            ranking: try SourceRanking.ranking(of: type, in: txn.snapshot), type: type, aggregation: aggregation,
            hours: min(SummaryPeriod.hoursPerBlock, Int64(SummaryPass.mostRows) / max(1, rowsPerHour) + 1))
        while hour <= last, left > 0 {
            let block = SummaryPeriod.block(ofHour: hour)
            let next = try HourSums.nextStart(type, from: block * SummaryPeriod.block, pass.ranking, in: txn.snapshot)
            let nextBlock = next.map { SummaryPeriod.block(of: $0) } ?? inside.upperBound + 1
            guard nextBlock == block else {
                // No sample starts before that block, so there is nothing to keep.
                try removeSummaries(type, block...min(nextBlock - 1, blocks.upperBound), in: &txn)
                hour = min(nextBlock * SummaryPeriod.hoursPerBlock, last + 1)
                left -= 64
                continue
            }
            let end = (block + 1) * SummaryPeriod.hoursPerBlock
            // If the stale range extends to the end of a block, a later pass may finish it. If valid hours follow, all
            // stale hours of the block must be recomputed now.
            hour = try refresh(hour, to: min(last + 1, end), mayStop: stale.upperBound + 1 >= end, &pass, in: &txn)
            left -= pass.rows + 256
        }
        return hour > last ? stale.upperBound + 1 : hour
    }

    /// Recomputes hours of one block starting with a stale one, and returns the next hour.
    private static func refresh(
        _ hour: Int64, to limit: Int64, mayStop: Bool, _ pass: inout SummaryPass, in txn: inout WriteTransaction
    ) throws -> Int64 {
        let block = SummaryPeriod.block(ofHour: hour)
        let (start, end) = (block * SummaryPeriod.hoursPerBlock, (block + 1) * SummaryPeriod.hoursPerBlock)
        let known = try SummaryTable.summary(pass.type, block, pass.aggregation, in: txn.snapshot)
        var content = known ?? SummaryContent()
        let to = mayStop ? min(limit, hour + pass.hours) : known == nil ? end : limit
        if known == nil { content.quarters = SummaryContent.emptyQuarters }
        pass.rows = 0
        try sum(known == nil ? start..<to : hour..<to, block, &content, &pass, in: txn)
        if content.quarters == nil, content.samples > txn.environment.limits.coarseSamples {
            // The block has outgrown the limit for blocks without quarters, so compute quarters for all valid hours.
            content.quarters = SummaryContent.emptyQuarters
            try sum(start..<(mayStop ? to : end), block, &content, &pass, in: txn)
        } else if content.samples <= txn.environment.limits.coarseSamples / (known == nil ? 1 : 2) {
            content.quarters = nil
        }
        try SummaryTable.put(content, of: pass.type, block, pass.aggregation, in: &txn)
        pass.hours = pass.rows > SummaryPass.mostRows ? max(1, pass.hours / 2) : min(end - start, pass.hours * 2)
        return to > limit ? limit : to
    }

    private static func sum(
        _ hours: Range<Int64>, _ block: Int64, _ content: inout SummaryContent, _ pass: inout SummaryPass,
        in txn: borrowing WriteTransaction
    ) throws {
        let (cells, rows) = try HourSums.summarize(pass.type, hours: hours, pass.ranking, in: txn.snapshot)
        let first = Int(hours.lowerBound - block * SummaryPeriod.hoursPerBlock)
        content.replace(first..<first + hours.count, by: cells)
        pass.rows += rows
    }

    /// Removes the summaries of some blocks.
    private static func removeSummaries(_ type: UInt32, _ blocks: ClosedRange<Int64>, in txn: inout WriteTransaction)
        throws
    {
        for block in try SummaryTable.summarizedBlocks(type, blocks, in: txn.snapshot) {
            try SummaryTable.removeSummary(type, block, in: &txn)
        }
    }
}
