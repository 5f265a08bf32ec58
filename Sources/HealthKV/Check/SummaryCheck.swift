import ColumnFormat
import HealthModel

/// Recomputes every summary from its samples, except for hours that are marked as stale. Counts, times, and the least
/// and greatest value must match to the last bit, sums to 1e-9. Blocks of many samples must have a summary.
struct SummaryCheck {
    let log: CheckLog

    func run(_ snapshot: borrowing Snapshot) {
        do {
            var known: Set<UInt32> = []
            for type in try ChunkTable.typesWithChunks(in: snapshot) {
                known.insert(type)
                try checkSummaries(of: type, snapshot)
            }
            for type in try SummaryTable.summarizedTypes(in: snapshot) where !known.contains(type) {
                log.add(.summaryWrong, .summaries, "\(CheckLog.name(type)) has summaries and no samples")
            }
        } catch {
            log.add(Finding.Kind(error, else: .summaryWrong), .summaries, "\(error)")
        }
    }

    /// Checks the summaries of one type. Skips a type with damaged chunks or odd values, and reports it as unexamined.
    private func checkSummaries(of type: UInt32, _ snapshot: borrowing Snapshot) throws {
        if log.oddTypes.contains(type) {
            log.report.unexamined.append("summaries of \(CheckLog.name(type)): it has values that are not finite")
            return
        }
        guard log.damagedTypes.contains(type) else { return try checkSummaries(snapshot, type) }
        log.report.unexamined.append("summaries of \(CheckLog.name(type)): not all of its chunks can be read")
    }

    private func checkSummaries(_ snapshot: borrowing Snapshot, _ type: UInt32) throws {
        var blocks = Set(try SummaryTable.summarizedBlocks(type, in: snapshot))
        let aggregation = try HourSums.summarizedAggregation(of: type, in: snapshot)
        guard let aggregation else {
            if !blocks.isEmpty {
                log.add(.summaryWrong, .summaries, "\(CheckLog.name(type)) has summaries and no sums")
            }
            return
        }
        let ranking = try SourceRanking.ranking(of: type, in: snapshot)
        var instant = Int64.min
        while let start = try HourSums.nextStart(type, from: instant, ranking, in: snapshot) {
            let block = SummaryPeriod.block(of: start)
            blocks.insert(block)
            instant = (block + 1) * SummaryPeriod.block
        }
        for block in blocks.sorted() {
            do {
                try checkSummary(snapshot, type, block, aggregation, ranking)
            } catch let error as FormatError {
                log.add(
                    Finding.Kind(error, else: .summaryWrong), .summaries, "a block of \(CheckLog.name(type)): \(error)",
                    "block \(block)")
            }
        }
    }

    private func checkSummary(
        _ snapshot: borrowing Snapshot, _ type: UInt32, _ block: Int64, _ aggregation: SampleType.Aggregation,
        _ ranking: SourceRanking
    ) throws {
        let first = block * SummaryPeriod.hoursPerBlock
        let hours = first..<first + SummaryPeriod.hoursPerBlock
        let stale = try StaleTable.ranges(type, touching: first...first + SummaryPeriod.hoursPerBlock - 1, in: snapshot)
        let kept = try SummaryTable.summary(type, block, aggregation, in: snapshot)
        if kept == nil, stale.contains(where: { $0.overlaps(hours) }) { return }
        var counted = SummaryContent()
        counted.quarters = SummaryContent.emptyQuarters
        counted.replace(0..<hours.count, by: try HourSums.summarize(type, hours: hours, ranking, in: snapshot).cells)
        log.report.summaries += 1
        guard let kept else {
            if counted.samples > snapshot.context.thinSamples {
                log.add(.summaryWrong, .summaries, "a block of \(CheckLog.name(type)) has none", "block \(block)")
            }
            return
        }
        for hour in 0..<hours.count where !stale.contains(where: { $0.contains(first + Int64(hour)) }) {
            let isRight =
                kept.hours[hour].agrees(with: counted.hours[hour], .hours, aggregation)
                && (0..<4).allSatisfy { quarter in
                    let index = hour * 4 + quarter
                    return kept.quarters?[index].agrees(with: counted.quarters![index], .quarters, aggregation) ?? true
                }
            if !isRight {
                log.add(
                    .summaryWrong, .summaries, "an hour of \(CheckLog.name(type)) differs from its samples",
                    "hour \(first + Int64(hour))")
            }
        }
    }
}

extension StatisticsCell {
    /// Returns `true` if a stored cell matches the recomputed one in the fields that its level stores.
    fileprivate func agrees(
        with other: StatisticsCell, _ level: SummaryLevel, _ aggregation: SampleType.Aggregation
    ) -> Bool {
        guard count == other.count, duration == other.duration, first == other.first, last == other.last,
            StatisticsCell.isNear(sum, other.sum)
        else { return false }
        let kept = level.values(aggregation)
        if kept.contains(.minimum), minimum != other.minimum || maximum != other.maximum { return false }
        if kept.contains(.firstValue), count > 0,
            firstValue.bitPattern != other.firstValue.bitPattern || lastValue.bitPattern != other.lastValue.bitPattern
        {
            return false
        }
        return !kept.contains(.plain) || StatisticsCell.isNear(plain, other.plain)
    }

    private static func isNear(_ left: Double, _ right: Double) -> Bool {
        left == right || left.isNaN && right.isNaN || abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }
}
