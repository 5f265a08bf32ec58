/// Accumulated statistics of the samples in one interval of time.
struct StatisticsCell: Sendable, Equatable {
    /// The number of samples that start in the interval.
    var count: Int64 = 0
    /// For cumulative types the contributions of the samples to the interval, for discrete types the sum of the values
    /// that start in it.
    var sum = 0.0
    /// The sum of the contributions if each sample's value were its length; for discrete types the lengths of the
    /// samples that start in the interval.
    var duration: Int64 = 0
    /// The sum of the values that start in the interval.
    var plain = 0.0
    var minimum = Double.infinity
    var maximum = -Double.infinity
    /// The first and the last start, and the values there; ties are ordered by end and id.
    var first = Int64.max
    var last = Int64.min
    var firstValue = 0.0
    var lastValue = 0.0

    /// Whether the sum has a total that a peer told, which may be zero.
    var isTold = false

    /// Whether no sample starts in the interval or extends into it, and no peer told a total of it.
    var isEmpty: Bool { count == 0 && duration == 0 && sum == 0 && !isTold }

    /// Compares bit for bit, because a NaN does not equal itself.
    func isSame(as other: StatisticsCell) -> Bool {
        let (numbers, others) = (
            [sum, plain, minimum, maximum, firstValue, lastValue],
            [other.sum, other.plain, other.minimum, other.maximum, other.firstValue, other.lastValue]
        )
        return (count, duration, first, last) == (other.count, other.duration, other.first, other.last)
            && numbers.elementsEqual(others) { $0.bitPattern == $1.bitPattern }
    }

    /// Counts a sample that starts in the interval.
    @inline(__always)
    mutating func begin(_ start: Int64, _ value: Double) {
        note(start, start, value, value)
        count += 1
        plain += value
        // Comparisons with NaN are false, so a NaN never becomes the minimum or maximum.
        if value < minimum { minimum = value }
        if value > maximum { maximum = value }
    }

    /// Among equal starts, the first one noted stays the first and the last one noted becomes the last.
    @inline(__always)
    mutating func note(_ first: Int64, _ last: Int64, _ firstValue: Double, _ lastValue: Double) {
        if first < self.first { (self.first, self.firstValue) = (first, firstValue) }
        if last >= self.last { (self.last, self.lastValue) = (last, lastValue) }
    }

    /// Adds the statistics of another, disjoint interval.
    mutating func append(_ other: StatisticsCell) {
        if other.count > 0 { note(other.first, other.last, other.firstValue, other.lastValue) }
        count += other.count
        sum += other.sum
        // Lengths of centuries overflow; such a sum is meaningless, but must not crash the process.
        duration &+= other.duration
        plain += other.plain
        if other.minimum < minimum { minimum = other.minimum }
        if other.maximum > maximum { maximum = other.maximum }
    }
}

/// A sample as statistics need it: its value in the unit of the answer, its rank, and the index of its source among the
/// selected ones.
struct StatisticsRow: Sendable {
    var start: Int64
    /// The start itself for samples of zero length, and for samples whose end is not known yet.
    var end: Int64
    var value: Double
    var rank: Int32
    var source: Int32
}

/// Consecutive intervals of time, each with the cell to which its samples go; a negative cell means none.
struct StatisticsStretches: Sendable {
    /// Interval i reaches from border i to border i + 1.
    private(set) var borders: [Int64] = []
    private(set) var cells: [Int32] = []
    /// The number of cells.
    var cellCount = 0

    var isEmpty: Bool { cells.isEmpty }

    mutating func reserve(_ count: Int) {
        borders.reserveCapacity(count + 1)
        cells.reserveCapacity(count)
    }

    /// Appends an interval after all others.
    mutating func append(_ from: Int64, _ to: Int64, cell: Int) {
        guard from < to else { return }
        if let last = borders.last, last < from {
            cells.append(-1)
            borders.append(from)
        } else if borders.isEmpty {
            borders.append(from)
        }
        borders.append(to)
        cells.append(Int32(cell))
        cellCount = max(cellCount, cell + 1)
    }

    /// The intervals that have a cell; empty if all have one.
    var wanted: [Range<Int64>] {
        guard cells.contains(where: { $0 < 0 }) else { return [] }
        return cells.indices.filter { cells[$0] >= 0 }.map { borders[$0]..<borders[$0 + 1] }
    }

    /// Splits at gaps longer than `pause`, so that the samples in these gaps need not be read.
    func parts(pause: Int64) -> [StatisticsStretches] {
        var parts: [StatisticsStretches] = []
        var part = StatisticsStretches()
        for index in cells.indices {
            if cells[index] < 0 {
                // A gap may be longer than a signed number can express.
                let length = UInt64(bitPattern: borders[index + 1] &- borders[index])
                if length > UInt64(max(0, pause)), !part.isEmpty {
                    parts.append(part)
                    part = StatisticsStretches()
                }
            } else {
                part.append(borders[index], borders[index + 1], cell: Int(cells[index]))
            }
        }
        if !part.isEmpty { parts.append(part) }
        return parts
    }
}
