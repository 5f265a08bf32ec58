/// A consumer of samples in the order of their starts.
protocol StatisticsCollector {
    mutating func add(_ row: StatisticsRow)
    /// Adds a sample, and states that no other sample starts before `next`.
    mutating func add(_ row: StatisticsRow, before next: Int64)
    /// Returns `true` if samples that start here or later can no longer change anything.
    func isDone(at start: Int64) -> Bool
}

extension StatisticsCollector {
    @inline(__always)
    mutating func add(_ row: StatisticsRow, before next: Int64) { add(row) }
}

/// Accumulates discrete samples: each belongs to the interval in which it starts.
struct DiscreteCollector: StatisticsCollector {
    private let stretches: StatisticsStretches
    private let stride: Int
    private(set) var cells: [StatisticsCell]
    private var stretch = -1
    private var cell: Int32 = -1
    private var nextBorder: Int64

    init(_ stretches: StatisticsStretches, cells: consuming [StatisticsCell], stride: Int = 1) {
        self.stretches = stretches
        self.stride = stride
        self.cells = cells
        nextBorder = stretches.borders.first ?? .max
    }

    func isDone(at start: Int64) -> Bool { start >= stretches.borders.last ?? .min }

    @inline(__always)
    mutating func add(_ row: StatisticsRow) {
        while nextBorder <= row.start, nextBorder < .max {
            stretch += 1
            cell = stretch < stretches.cells.count ? stretches.cells[stretch] : -1
            nextBorder = stretch + 1 < stretches.borders.count ? stretches.borders[stretch + 1] : .max
        }
        guard cell >= 0 else { return }
        let target = Int(cell) * stride + (stride > 1 ? Int(row.source) : 0)
        cells[target].begin(row.start, row.value)
        cells[target].sum += row.value
        cells[target].duration &+= row.end &- row.start
    }
}

/// Weights each value of an interval by the time until the next value of the interval, or until its end. If an interval
/// has no end, the last value is weighted by the length of its sample.
struct TimeWeights: StatisticsCollector {
    private let stretches: StatisticsStretches
    private let stride: Int
    /// By cell: the sum of values times seconds, and the sum of the seconds.
    private var weighted: [Double]
    private var seconds: [Double]
    /// By source: the last sample of the interval.
    private var held: [StatisticsRow?]
    private var stretch = -1
    private var nextBorder: Int64

    init(_ stretches: StatisticsStretches, cells: Int, stride: Int) {
        self.stretches = stretches
        self.stride = stride
        weighted = [Double](repeating: 0, count: cells)
        seconds = weighted
        held = Array(repeating: nil, count: stride)
        nextBorder = stretches.borders.first ?? .max
    }

    func isDone(at start: Int64) -> Bool { start >= stretches.borders.last ?? .min }

    mutating func add(_ row: StatisticsRow) {
        advance(to: row.start)
        guard stretch >= 0, stretch < stretches.cells.count, stretches.cells[stretch] >= 0 else { return }
        let source = stride > 1 ? Int(row.source) : 0
        settle(source, at: row.start)
        held[source] = row
    }

    mutating func finish() {
        advance(to: stretches.borders.last ?? .min)
        guard nextBorder == .max, stretch < stretches.cells.count else { return }
        for source in held.indices {
            if let row = held[source] { settle(source, at: row.end) }
            held[source] = nil
        }
    }

    /// Returns the means. In a cell whose weights are all zero, all values have the same weight.
    func means(_ cells: [StatisticsCell]) -> [Double] {
        cells.indices.map { index in
            let cell = cells[index]
            return seconds[index] > 0 ? weighted[index] / seconds[index] : cell.sum / Double(max(1, cell.count))
        }
    }

    private mutating func advance(to instant: Int64) {
        while nextBorder <= instant, nextBorder < .max {
            for source in held.indices {
                settle(source, at: nextBorder)
                held[source] = nil
            }
            stretch += 1
            nextBorder = stretch + 1 < stretches.borders.count ? stretches.borders[stretch + 1] : .max
        }
    }

    private mutating func settle(_ source: Int, at instant: Int64) {
        guard let row = held[source] else { return }
        let cell = Int(stretches.cells[stretch]) * stride + source
        // The distance may be longer than a signed number can express.
        let time = Double(UInt64(bitPattern: instant &- row.start)) / 1e9
        weighted[cell] += row.value * time
        seconds[cell] += time
    }
}
