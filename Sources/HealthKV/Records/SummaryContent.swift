import ColumnFormat
import HealthModel

/// The decoded cells of one block, for changes and comparisons.
struct SummaryContent: Equatable {
    static let empty = [StatisticsCell](repeating: StatisticsCell(), count: SummaryLevel.hours.cells)
    static let emptyQuarters = [StatisticsCell](repeating: StatisticsCell(), count: SummaryLevel.quarters.cells)

    var hours = SummaryContent.empty
    /// `nil` if the block has none.
    var quarters: [StatisticsCell]?

    var samples: Int64 { hours.reduce(0) { $0 &+ $1.count } }

    init() {}

    /// Replaces some hours by cells that were recomputed for their quarters.
    mutating func replace(_ range: Range<Int>, by fresh: [StatisticsCell]) {
        for hour in range {
            var cell = StatisticsCell()
            for quarter in 0..<4 { cell.append(fresh[(hour - range.lowerBound) * 4 + quarter]) }
            hours[hour] = cell
        }
        quarters?.replaceSubrange(range.lowerBound * 4..<range.upperBound * 4, with: fresh)
    }

    // MARK: bytes

    func value(key: [UInt8], block: Int64, _ aggregation: SampleType.Aggregation, stamp: CommitStamp) -> [UInt8] {
        var encoder = SummaryEncoder(key: key)
        let start = block * SummaryPeriod.block
        SummaryContent.add(hours, .hours, start, aggregation, to: &encoder)
        if let quarters { SummaryContent.add(quarters, .quarters, start, aggregation, to: &encoder) }
        return encoder.finish(stamp: stamp)
    }

    private static func add(
        _ cells: [StatisticsCell], _ level: SummaryLevel, _ start: Int64, _ aggregation: SampleType.Aggregation,
        to encoder: inout SummaryEncoder
    ) {
        let occupied = cells.indices.filter { !cells[$0].isEmpty }
        guard !occupied.isEmpty else { return }
        func offset(_ instant: Int64, _ index: Int) -> Int64 {
            cells[index].count > 0 ? instant - start - Int64(index) * level.length : 0
        }
        let values = level.values(aggregation).map { column in
            (column, occupied.map { cells[$0].count > 0 ? cells[$0].number(column) : 0 })
        }
        encoder.add(
            level, cells: occupied,
            integers: [
                (.count, occupied.map { cells[$0].count }), (.duration, occupied.map { cells[$0].duration }),
                (.first, occupied.map { offset(cells[$0].first, $0) }),
                (.last, occupied.map { offset(cells[$0].last, $0) }),
            ],
            values: [(.sum, occupied.map { cells[$0].sum })] + values)
    }

    init(_ block: borrowing SummaryBlock, block number: Int64, _ aggregation: SampleType.Aggregation) throws {
        let start = number * SummaryPeriod.block
        hours = try SummaryContent.cells(block, .hours, start, aggregation) ?? SummaryContent.empty
        quarters = try SummaryContent.cells(block, .quarters, start, aggregation)
    }

    private static func cells(
        _ block: borrowing SummaryBlock, _ level: SummaryLevel, _ start: Int64, _ aggregation: SampleType.Aggregation
    ) throws -> [StatisticsCell]? {
        guard let stored = try block.cells(level) else { return nil }
        var cells = [StatisticsCell](repeating: StatisticsCell(), count: level.cells)
        let (counts, durations) = (try stored.integers(of: .count), try stored.integers(of: .duration))
        let (firsts, lasts) = (try stored.integers(of: .first), try stored.integers(of: .last))
        let sums = try stored.values(of: .sum)
        var values: [(SummaryColumn, SummaryValues)] = []
        for column in level.values(aggregation) { values.append((column, try stored.values(of: column))) }
        for row in 0..<stored.rows {
            let index = stored.cell(row)
            var cell = StatisticsCell()
            cell.count = stored.value(counts, at: row)
            cell.sum = stored.value(sums, at: row)
            cell.duration = stored.value(durations, at: row)
            if cell.count > 0 {
                let (first, last) = (stored.value(firsts, at: row), stored.value(lasts, at: row))
                guard first >= 0, first <= last, last < level.length else {
                    throw FormatError(.invalid, "time in a summary")
                }
                let base = start + Int64(index) * level.length
                (cell.first, cell.last) = (base + first, base + last)
                for (column, opened) in values { cell.set(column, stored.value(opened, at: row)) }
                if aggregation == .discrete { cell.plain = cell.sum }
            }
            cells[index] = cell
        }
        return cells
    }
}

extension StatisticsCell {
    fileprivate func number(_ column: SummaryColumn) -> Double {
        switch column {
        case .plain: plain
        case .minimum: minimum
        case .maximum: maximum
        case .firstValue: firstValue
        case .lastValue: lastValue
        default: sum
        }
    }

    fileprivate mutating func set(_ column: SummaryColumn, _ number: Double) {
        switch column {
        case .plain: plain = number
        case .minimum: minimum = number
        case .maximum: maximum = number
        case .firstValue: firstValue = number
        case .lastValue: lastValue = number
        default: sum = number
        }
    }
}
