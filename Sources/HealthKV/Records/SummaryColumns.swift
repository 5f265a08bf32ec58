import ColumnFormat
import HealthModel

/// Holds the columns of an answer in one place. When the answer held them itself, and so was not copyable, release
/// builds of Swift 6.3.1 freed memory that did not belong to it.
final class SummaryBuffers {
    var columns: SummaryColumns

    init(_ columns: consuming SummaryColumns) { self.columns = columns }
}

/// The columns of one block that an answer adds: columns that are needed completely are decoded, others only opened.
struct SummaryColumns: ~Copyable {
    private var counts = ScratchColumn<Int64>(capacity: SummaryLevel.hours.cells)
    private var durations = ScratchColumn<Int64>(capacity: SummaryLevel.hours.cells)
    private var sums = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var plains = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var minima = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var maxima = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var hourEdges: Edges?
    private var quarters: Quarters?
    private var firstHour: Int64 = 0
    private let isDiscrete: Bool
    private let wantsValues: Bool
    /// Whether sums and durations are wanted.
    private let wantsSums: Bool

    /// First and last starts, and the values there.
    private struct Edges: ~Copyable {
        let level: SummaryLevel
        let firsts, lasts: SummaryIntegers
        let firstValues, lastValues: SummaryValues?

        init(_ cells: SummaryCells, _ level: SummaryLevel, isDiscrete: Bool) throws {
            let starts = (try cells.integers(of: .first), try cells.integers(of: .last))
            let values =
                isDiscrete ? (try cells.values(of: .firstValue), try cells.values(of: .lastValue)) : (nil, nil)
            self.level = level
            (firsts, lasts) = starts
            (firstValues, lastValues) = values
        }

        /// Notes the first start of one row and the last start of another.
        @inline(__always)
        func note(
            _ first: Int, _ last: Int, _ cells: SummaryCells, since start: Int64, in cell: inout StatisticsCell
        ) {
            let starts = cells.starts(firsts, at: first, lasts, at: last, length: level.length)
            cell.note(
                start &+ starts.first, start &+ starts.last,
                firstValues.map { cells.value($0, at: first) } ?? 0, lastValues.map { cells.value($0, at: last) } ?? 0)
        }
    }

    private struct Quarters: ~Copyable {
        let edges: Edges
        let counts, durations: SummaryIntegers
        let sums: SummaryValues
        let minima, maxima: SummaryValues?

        func add(_ rows: Range<Int>, to cell: inout StatisticsCell, _ cells: SummaryCells, since start: Int64) {
            var ends: (first: Int, last: Int)?
            for row in rows {
                let samples = cells.value(counts, at: row)
                cell.count &+= samples
                cell.duration &+= cells.value(durations, at: row)
                let sum = cells.value(sums, at: row)
                cell.sum += sum
                if samples > 0 { ends = (ends?.first ?? row, row) }
                guard samples > 0, let minima, let maxima else { continue }
                cell.plain += sum
                cell.minimum = min(cell.minimum, cells.value(minima, at: row))
                cell.maximum = max(cell.maximum, cells.value(maxima, at: row))
            }
            if let ends { edges.note(ends.first, ends.last, cells, since: start, in: &cell) }
        }
    }

    init(_ aggregation: SampleType.Aggregation, wantsPlain: Bool) {
        isDiscrete = aggregation == .discrete
        wantsValues = isDiscrete || wantsPlain
        wantsSums = isDiscrete || !wantsPlain
    }

    mutating func open(_ hours: SummaryCells, block: Int64) throws {
        firstHour = block * SummaryPeriod.hoursPerBlock
        quarters = nil
        hourEdges = try Edges(hours, .hours, isDiscrete: isDiscrete)
        try counts.refill { column throws(FormatError) in try hours.decode(.count, into: &column) }
        if wantsSums {
            try durations.refill { column throws(FormatError) in try hours.decode(.duration, into: &column) }
            try sums.refill { column throws(FormatError) in try hours.decode(.sum, into: &column) }
        }
        guard wantsValues else { return }
        if !isDiscrete { try plains.refill { column throws(FormatError) in try hours.decode(.plain, into: &column) } }
        try minima.refill { column throws(FormatError) in try hours.decode(.minimum, into: &column) }
        try maxima.refill { column throws(FormatError) in try hours.decode(.maximum, into: &column) }
    }

    mutating func openQuarters(_ cells: SummaryCells) throws {
        quarters = Quarters(
            edges: try Edges(cells, .quarters, isDiscrete: isDiscrete), counts: try cells.integers(of: .count),
            durations: try cells.integers(of: .duration), sums: try cells.values(of: .sum),
            minima: isDiscrete ? try cells.values(of: .minimum) : nil,
            maxima: isDiscrete ? try cells.values(of: .maximum) : nil)
    }

    /// Adds whole hours, counted since 2001.
    @inline(__always)
    func addHours(_ range: Range<Int64>, to cell: inout StatisticsCell, _ hours: SummaryCells) {
        let rows = hours.row(Int(range.lowerBound - firstHour))..<hours.row(Int(range.upperBound - firstHour))
        guard !rows.isEmpty else { return }
        let count = counts.sum(rows)
        var sum = 0.0
        if wantsSums {
            sum = sums.sum(rows)
            cell.duration &+= durations.sum(rows)
            cell.sum += sum
        }
        cell.count &+= count
        guard count > 0 else { return }
        let counted = counts.span
        var (first, last) = (rows.lowerBound, rows.upperBound - 1)
        while counted[first] == 0 { first += 1 }
        while counted[last] == 0 { last -= 1 }
        hourEdges?.note(first, last, hours, since: firstHour * SummaryPeriod.hour, in: &cell)
        guard wantsValues else { return }
        cell.plain += isDiscrete ? sum : plains.sum(rows)
        cell.minimum = min(cell.minimum, minima.least(rows, where: counts))
        cell.maximum = max(cell.maximum, maxima.greatest(rows, where: counts))
    }

    /// Adds whole quarters of an hour, counted since 2001. Returns `false` if the block has none.
    func addQuarters(
        _ range: Range<Int64>, to cell: inout StatisticsCell, _ cells: SummaryCells?
    ) -> Bool {
        guard let cells else { return false }
        let first = firstHour * 4
        let rows = cells.row(Int(range.lowerBound - first))..<cells.row(Int(range.upperBound - first))
        return quarters?.add(rows, to: &cell, cells, since: firstHour * SummaryPeriod.hour) != nil
    }
}
