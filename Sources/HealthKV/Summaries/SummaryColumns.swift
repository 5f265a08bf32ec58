import ColumnFormat
import HealthModel

/// Keeps the columns of an answer in one place. With an answer that held them itself, and so could not be copied, what Swift 6.3.1 made
/// for release freed memory that was not its own.
final class SummaryBuffers {
    var columns: SummaryColumns

    init(_ columns: consuming SummaryColumns) { self.columns = columns }
}

/// The columns of one block that an answer adds up: those of the longest cells are decoded, those of finer ones opened and read row by row.
struct SummaryColumns: ~Copyable {
    private var counts = ScratchColumn<Int64>(capacity: SummaryLevel.hours.cells)
    private var durations = ScratchColumn<Int64>(capacity: SummaryLevel.hours.cells)
    private var sums = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var plains = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var minima = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var maxima = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var edges: Edges?
    private var hours: Rows?
    private var quarters: Rows?
    private var level = SummaryLevel.hours
    private var block: Int64 = 0
    private let isDiscrete: Bool
    private let wantsValues: Bool
    /// Whether sums and durations are wanted.
    private let wantsSums: Bool

    /// How long the cells of the decoded level are.
    var length: Int64 { level.length }

    /// First and last starts, and the values there.
    private struct Edges: ~Copyable {
        let length: Int64
        let firsts, lasts: SummaryIntegers
        let firstValues, lastValues: SummaryValues?

        init(_ cells: SummaryCells, _ level: SummaryLevel, isDiscrete: Bool) throws {
            let starts = (try cells.integers(of: .first), try cells.integers(of: .last))
            let values =
                isDiscrete ? (try cells.values(of: .firstValue), try cells.values(of: .lastValue)) : (nil, nil)
            length = level.length
            (firsts, lasts) = starts
            (firstValues, lastValues) = values
        }

        /// Notes the first start of one row and the last start of another.
        @inline(__always)
        func note(
            _ first: Int, _ last: Int, _ cells: SummaryCells, since start: Int64, in cell: inout StatisticsCell
        ) {
            let starts = cells.starts(firsts, at: first, lasts, at: last, length: length)
            cell.note(
                start &+ starts.first, start &+ starts.last,
                firstValues.map { cells.value($0, at: first) } ?? 0, lastValues.map { cells.value($0, at: last) } ?? 0)
        }
    }

    /// The columns of a level of which few rows are needed.
    private struct Rows: ~Copyable {
        let edges: Edges
        let counts: SummaryIntegers
        let durations: SummaryIntegers?
        let sums: SummaryValues?
        let plains, minima, maxima: SummaryValues?

        init(
            _ cells: SummaryCells, _ level: SummaryLevel, isDiscrete: Bool, wantsSums: Bool, wantsValues: Bool
        ) throws {
            let numbers = (
                counts: try cells.integers(of: .count), durations: wantsSums ? try cells.integers(of: .duration) : nil
            )
            let values = (
                sums: wantsSums ? try cells.values(of: .sum) : nil,
                plains: wantsValues && !isDiscrete ? try cells.values(of: .plain) : nil,
                minima: wantsValues ? try cells.values(of: .minimum) : nil,
                maxima: wantsValues ? try cells.values(of: .maximum) : nil
            )
            edges = try Edges(cells, level, isDiscrete: isDiscrete)
            (counts, durations) = numbers
            (sums, plains, minima, maxima) = values
        }

        func add(_ rows: Range<Int>, to cell: inout StatisticsCell, _ cells: SummaryCells, since start: Int64) {
            var sum = 0.0
            if let durations, let sums {
                sum = cells.sum(sums, rows)
                cell.duration &+= cells.sum(durations, rows)
                cell.sum += sum
            }
            // Rows where nothing starts only share samples that began before them.
            var (first, last) = (rows.lowerBound, rows.upperBound - 1)
            while first <= last, cells.value(counts, at: first) == 0 { first += 1 }
            while first <= last, cells.value(counts, at: last) == 0 { last -= 1 }
            guard first <= last else { return }
            cell.count &+= cells.sum(counts, first..<last + 1)
            edges.note(first, last, cells, since: start, in: &cell)
            guard let minima, let maxima else { return }
            cell.plain += plains.map { cells.sum($0, rows) } ?? sum
            for row in first...last where cells.value(counts, at: row) > 0 {
                cell.minimum = min(cell.minimum, cells.value(minima, at: row))
                cell.maximum = max(cell.maximum, cells.value(maxima, at: row))
            }
        }
    }

    init(_ aggregation: SampleType.Aggregation, wantsPlain: Bool) {
        isDiscrete = aggregation == .discrete
        wantsValues = isDiscrete || wantsPlain
        wantsSums = isDiscrete || !wantsPlain
    }

    /// Decodes a level; cells of finer ones have to be opened anew.
    mutating func open(_ cells: SummaryCells, _ level: SummaryLevel, block: Int64) throws {
        (self.level, self.block) = (level, block)
        hours = nil
        quarters = nil
        edges = try Edges(cells, level, isDiscrete: isDiscrete)
        try counts.refill { column throws(FormatError) in try cells.decode(.count, into: &column) }
        if wantsSums {
            try durations.refill { column throws(FormatError) in try cells.decode(.duration, into: &column) }
            try sums.refill { column throws(FormatError) in try cells.decode(.sum, into: &column) }
        }
        guard wantsValues else { return }
        if !isDiscrete { try plains.refill { column throws(FormatError) in try cells.decode(.plain, into: &column) } }
        try minima.refill { column throws(FormatError) in try cells.decode(.minimum, into: &column) }
        try maxima.refill { column throws(FormatError) in try cells.decode(.maximum, into: &column) }
    }

    mutating func openHours(_ cells: SummaryCells) throws {
        hours = try Rows(cells, .hours, isDiscrete: isDiscrete, wantsSums: wantsSums, wantsValues: wantsValues)
    }

    mutating func openQuarters(_ cells: SummaryCells) throws {
        // Those of cumulative types do not keep what values as such are.
        quarters = try Rows(cells, .quarters, isDiscrete: isDiscrete, wantsSums: true, wantsValues: isDiscrete)
    }

    /// The rows of cells that are counted since 2001.
    @inline(__always)
    private func rows(_ range: Range<Int64>, _ level: SummaryLevel, _ cells: SummaryCells) -> Range<Int> {
        let first = block * Int64(level.cells)
        return cells.row(Int(range.lowerBound - first))..<cells.row(Int(range.upperBound - first))
    }

    /// Adds whole cells of the decoded level, counted since 2001.
    @inline(__always)
    func add(_ range: Range<Int64>, to cell: inout StatisticsCell, _ cells: SummaryCells) {
        let rows = rows(range, level, cells)
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
        edges?.note(first, last, cells, since: block * SummaryPeriod.block, in: &cell)
        guard wantsValues else { return }
        cell.plain += isDiscrete ? sum : plains.sum(rows)
        cell.minimum = min(cell.minimum, minima.least(rows, where: counts))
        cell.maximum = max(cell.maximum, maxima.greatest(rows, where: counts))
    }

    /// Adds whole hours beside those of the decoded level, counted since 2001; answers false when they are not open.
    func addHours(_ range: Range<Int64>, to cell: inout StatisticsCell, _ cells: SummaryCells) -> Bool {
        hours?.add(rows(range, .hours, cells), to: &cell, cells, since: block * SummaryPeriod.block) != nil
    }

    /// Adds whole quarters of an hour, counted since 2001; answers false when they are not open.
    func addQuarters(_ range: Range<Int64>, to cell: inout StatisticsCell, _ cells: SummaryCells) -> Bool {
        quarters?.add(rows(range, .quarters, cells), to: &cell, cells, since: block * SummaryPeriod.block) != nil
    }
}
