import ColumnFormat
import HealthModel

/// Keeps the columns of an answer in one place. With an answer that held them itself, and so could not be copied, what Swift 6.3.1 made
/// for release freed memory that was not its own.
final class SummaryBuffers {
    var columns: SummaryColumns

    init(_ columns: consuming SummaryColumns) { self.columns = columns }
}

/// What an answer wants of a summary.
struct SummaryWish {
    let isDiscrete: Bool
    /// Whether sums and durations are wanted.
    let sums: Bool
    /// Whether values as such are wanted: their sum, the least and the greatest.
    let values: Bool

    init(_ aggregation: SampleType.Aggregation, wantsPlain: Bool) {
        isDiscrete = aggregation == .discrete
        values = isDiscrete || wantsPlain
        sums = isDiscrete || !wantsPlain
    }
}

/// The columns of one block that an answer adds up. Those of the longest cells are decoded, those of hours beside them too where any are
/// needed; quarters, of which few are, are read row by row.
struct SummaryColumns: ~Copyable {
    private var whole = DecodedLevel()
    private var hours = DecodedLevel()
    private var hasHours = false
    private var quarters: QuarterRows?
    private var block: Int64 = 0
    private let wish: SummaryWish

    /// How long the longest cells are.
    var length: Int64 { whole.level.length }

    init(_ aggregation: SampleType.Aggregation, wantsPlain: Bool) {
        wish = SummaryWish(aggregation, wantsPlain: wantsPlain)
    }

    /// Decodes the longest cells of a block; finer ones have to be opened anew.
    mutating func open(_ cells: SummaryCells, _ level: SummaryLevel, block: Int64) throws {
        self.block = block
        hasHours = false
        quarters = nil
        try whole.open(cells, level, wish)
    }

    mutating func openHours(_ cells: SummaryCells) throws {
        try hours.open(cells, .hours, wish)
        hasHours = true
    }

    mutating func openQuarters(_ cells: SummaryCells) throws { quarters = try QuarterRows(cells, wish) }

    /// The rows of cells that are counted since 2001.
    @inline(__always)
    private func rows(_ range: Range<Int64>, _ level: SummaryLevel, _ cells: SummaryCells) -> Range<Int> {
        let first = block * Int64(level.cells)
        return cells.row(Int(range.lowerBound - first))..<cells.row(Int(range.upperBound - first))
    }

    private var start: Int64 { block * SummaryPeriod.block }

    /// Adds some of the longest cells, counted since 2001.
    @inline(__always)
    func add(_ range: Range<Int64>, to cell: inout StatisticsCell, _ cells: SummaryCells) {
        whole.add(rows(range, whole.level, cells), to: &cell, cells, wish, since: start)
    }

    /// Adds whole hours beside them, counted since 2001; answers false when they are not open.
    func addHours(_ range: Range<Int64>, to cell: inout StatisticsCell, _ cells: SummaryCells) -> Bool {
        guard hasHours else { return false }
        hours.add(rows(range, .hours, cells), to: &cell, cells, wish, since: start)
        return true
    }

    /// Adds whole quarters of an hour, counted since 2001; answers false when they are not open.
    func addQuarters(_ range: Range<Int64>, to cell: inout StatisticsCell, _ cells: SummaryCells) -> Bool {
        quarters?.add(rows(range, .quarters, cells), to: &cell, cells, since: start) != nil
    }
}

/// First and last starts, and the values there.
private struct SummaryEdges: ~Copyable {
    let length: Int64
    let firsts, lasts: SummaryIntegers
    let firstValues, lastValues: SummaryValues?

    init(_ cells: SummaryCells, _ level: SummaryLevel, isDiscrete: Bool) throws {
        let starts = (try cells.integers(of: .first), try cells.integers(of: .last))
        let values = isDiscrete ? (try cells.values(of: .firstValue), try cells.values(of: .lastValue)) : (nil, nil)
        length = level.length
        (firsts, lasts) = starts
        (firstValues, lastValues) = values
    }

    /// Notes the first start of one row and the last start of another.
    @inline(__always)
    func note(_ first: Int, _ last: Int, _ cells: SummaryCells, since start: Int64, in cell: inout StatisticsCell) {
        let starts = cells.starts(firsts, at: first, lasts, at: last, length: length)
        cell.note(
            start &+ starts.first, start &+ starts.last,
            firstValues.map { cells.value($0, at: first) } ?? 0, lastValues.map { cells.value($0, at: last) } ?? 0)
    }
}

/// A level whose columns are decoded.
private struct DecodedLevel: ~Copyable {
    private(set) var level = SummaryLevel.hours
    private var counts = ScratchColumn<Int64>(capacity: SummaryLevel.hours.cells)
    private var durations = ScratchColumn<Int64>(capacity: SummaryLevel.hours.cells)
    private var sums = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var plains = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var minima = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var maxima = ScratchColumn<Double>(capacity: SummaryLevel.hours.cells)
    private var edges: SummaryEdges?

    mutating func open(_ cells: SummaryCells, _ level: SummaryLevel, _ wish: SummaryWish) throws {
        self.level = level
        edges = try SummaryEdges(cells, level, isDiscrete: wish.isDiscrete)
        try counts.refill { column throws(FormatError) in try cells.decode(.count, into: &column) }
        if wish.sums {
            try durations.refill { column throws(FormatError) in try cells.decode(.duration, into: &column) }
            try sums.refill { column throws(FormatError) in try cells.decode(.sum, into: &column) }
        }
        guard wish.values else { return }
        if !wish.isDiscrete {
            try plains.refill { column throws(FormatError) in try cells.decode(.plain, into: &column) }
        }
        try minima.refill { column throws(FormatError) in try cells.decode(.minimum, into: &column) }
        try maxima.refill { column throws(FormatError) in try cells.decode(.maximum, into: &column) }
    }

    @inline(__always)
    func add(
        _ rows: Range<Int>, to cell: inout StatisticsCell, _ cells: SummaryCells, _ wish: SummaryWish,
        since start: Int64
    ) {
        guard !rows.isEmpty else { return }
        let count = counts.sum(rows)
        var sum = 0.0
        if wish.sums {
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
        edges?.note(first, last, cells, since: start, in: &cell)
        guard wish.values else { return }
        cell.plain += wish.isDiscrete ? sum : plains.sum(rows)
        cell.minimum = min(cell.minimum, minima.least(rows, where: counts))
        cell.maximum = max(cell.maximum, maxima.greatest(rows, where: counts))
    }
}

/// Quarters of an hour, whose columns are opened.
private struct QuarterRows: ~Copyable {
    private let edges: SummaryEdges
    private let counts, durations: SummaryIntegers
    private let sums: SummaryValues
    private let minima, maxima: SummaryValues?

    init(_ cells: SummaryCells, _ wish: SummaryWish) throws {
        let integers = (try cells.integers(of: .count), try cells.integers(of: .duration))
        let values = (
            try cells.values(of: .sum), wish.isDiscrete ? try cells.values(of: .minimum) : nil,
            wish.isDiscrete ? try cells.values(of: .maximum) : nil
        )
        edges = try SummaryEdges(cells, .quarters, isDiscrete: wish.isDiscrete)
        (counts, durations) = integers
        (sums, minima, maxima) = values
    }

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
