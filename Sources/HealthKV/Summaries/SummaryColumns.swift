import ColumnFormat
import HealthModel

/// Keeps the columns of an answer in one place.
final class SummaryBuffers {
    var columns: SummaryColumns

    init(_ columns: consuming SummaryColumns) { self.columns = columns }
}

/// The columns of one block that an answer adds up: those that all of are needed are decoded, others opened.
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
    private struct Edges {
        let level: SummaryLevel
        let counts, firsts, lasts: SummaryIntegers
        let firstValues, lastValues: SummaryValues?

        init(_ cells: SummaryCells, _ level: SummaryLevel, isDiscrete: Bool) throws {
            self.level = level
            counts = try cells.integers(of: .count)
            firsts = try cells.integers(of: .first)
            lasts = try cells.integers(of: .last)
            firstValues = isDiscrete ? try cells.values(of: .firstValue) : nil
            lastValues = isDiscrete ? try cells.values(of: .lastValue) : nil
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

    private struct Quarters {
        let edges: Edges
        let durations: SummaryIntegers
        let sums: SummaryValues
        let minima, maxima: SummaryValues?
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
            edges: try Edges(cells, .quarters, isDiscrete: isDiscrete), durations: try cells.integers(of: .duration),
            sums: try cells.values(of: .sum), minima: isDiscrete ? try cells.values(of: .minimum) : nil,
            maxima: isDiscrete ? try cells.values(of: .maximum) : nil)
    }

    /// Adds whole hours, counted since 2001.
    @inline(__always)
    func addHours(_ range: Range<Int64>, to cell: inout StatisticsCell, _ hours: SummaryCells) {
        let rows = hours.row(Int(range.lowerBound - firstHour))..<hours.row(Int(range.upperBound - firstHour))
        guard !rows.isEmpty else { return }
        let (counts, durations, sums) = (counts.span, durations.span, sums.span)
        var (count, duration, sum) = (Int64(0), Int64(0), 0.0)
        for row in rows { count &+= counts[row] }
        if wantsSums {
            for row in rows {
                duration &+= durations[row]
                sum += sums[row]
            }
        }
        cell.count &+= count
        cell.duration &+= duration
        cell.sum += sum
        guard count > 0 else { return }
        var (first, last) = (rows.lowerBound, rows.upperBound - 1)
        while counts[first] == 0 { first += 1 }
        while counts[last] == 0 { last -= 1 }
        hourEdges?.note(first, last, hours, since: firstHour * SummaryPeriod.hour, in: &cell)
        if wantsValues { addValues(rows, sum, to: &cell) }
    }

    private func addValues(_ rows: Range<Int>, _ sum: Double, to cell: inout StatisticsCell) {
        let (counts, minima, maxima) = (counts.span, minima.span, maxima.span)
        for row in rows where counts[row] > 0 {
            if minima[row] < cell.minimum { cell.minimum = minima[row] }
            if maxima[row] > cell.maximum { cell.maximum = maxima[row] }
        }
        if isDiscrete {
            cell.plain += sum
        } else {
            let plains = plains.span
            for row in rows { cell.plain += plains[row] }
        }
    }

    /// Adds whole quarters of an hour, counted since 2001; answers false when the block keeps none.
    func addQuarters(
        _ range: Range<Int64>, to cell: inout StatisticsCell, _ cells: SummaryCells?
    ) -> Bool {
        guard let quarters, let cells else { return false }
        let first = firstHour * 4
        let rows = cells.row(Int(range.lowerBound - first))..<cells.row(Int(range.upperBound - first))
        var count: Int64 = 0
        var ends: (first: Int, last: Int)?
        for row in rows {
            let samples = cells.value(quarters.edges.counts, at: row)
            count &+= samples
            cell.duration &+= cells.value(quarters.durations, at: row)
            let sum = cells.value(quarters.sums, at: row)
            cell.sum += sum
            if samples > 0 { ends = (ends?.first ?? row, row) }
            guard samples > 0, let minima = quarters.minima, let maxima = quarters.maxima else { continue }
            cell.plain += sum
            cell.minimum = min(cell.minimum, cells.value(minima, at: row))
            cell.maximum = max(cell.maximum, cells.value(maxima, at: row))
        }
        cell.count &+= count
        if let ends {
            quarters.edges.note(ends.first, ends.last, cells, since: firstHour * SummaryPeriod.hour, in: &cell)
        }
        return true
    }
}
