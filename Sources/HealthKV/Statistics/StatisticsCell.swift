/// What is known of the samples of one stretch of time.
struct StatisticsCell: Sendable, Equatable {
    /// Samples that start in the stretch.
    var count: Int64 = 0
    /// Of cumulative types what the samples contribute to the stretch, of discrete ones the sum of the values that start in it.
    var sum = 0.0
    /// The sum of what would be contributed if each sample's value were its length; of discrete types the lengths of the samples
    /// that start in the stretch.
    var duration: Int64 = 0
    /// The sum of the values that start in the stretch.
    var plain = 0.0
    var minimum = Double.infinity
    var maximum = -Double.infinity
    /// The first and the last start, and the values there; ties go by end and id.
    var first = Int64.max
    var last = Int64.min
    var firstValue = 0.0
    var lastValue = 0.0

    /// Whether nothing starts or passes here.
    var isEmpty: Bool { count == 0 && duration == 0 && sum == 0 }

    /// Whether both say the same, bit for bit: what is no number equals nothing, itself included.
    func isSame(as other: StatisticsCell) -> Bool {
        let (numbers, others) = (
            [sum, plain, minimum, maximum, firstValue, lastValue],
            [other.sum, other.plain, other.minimum, other.maximum, other.firstValue, other.lastValue]
        )
        return (count, duration, first, last) == (other.count, other.duration, other.first, other.last)
            && numbers.elementsEqual(others) { $0.bitPattern == $1.bitPattern }
    }

    /// Counts a sample that starts here.
    @inline(__always)
    mutating func begin(_ start: Int64, _ value: Double) {
        note(start, start, value, value)
        count += 1
        plain += value
        // No comparison with a value that is no number holds, so such a value is never the least or greatest.
        if value < minimum { minimum = value }
        if value > maximum { maximum = value }
    }

    /// Of equal starts the first one noted is the first, the last one the last.
    @inline(__always)
    mutating func note(_ first: Int64, _ last: Int64, _ firstValue: Double, _ lastValue: Double) {
        if first < self.first { (self.first, self.firstValue) = (first, firstValue) }
        if last >= self.last { (self.last, self.lastValue) = (last, lastValue) }
    }

    /// Adds what another stretch holds; no instant belongs to both.
    mutating func append(_ other: StatisticsCell) {
        if other.count > 0 { note(other.first, other.last, other.firstValue, other.lastValue) }
        count += other.count
        sum += other.sum
        // Lengths of centuries wrap; a sum of them means nothing, and must not end the process.
        duration &+= other.duration
        plain += other.plain
        if other.minimum < minimum { minimum = other.minimum }
        if other.maximum > maximum { maximum = other.maximum }
    }
}

/// A sample as statistics see it: its value in the unit of the answer, its rank, and its source's place among those asked for.
struct StatisticsRow: Sendable {
    var start: Int64
    /// The start itself for samples without length, among them those whose end is not known yet.
    var end: Int64
    var value: Double
    var rank: Int32
    var source: Int32
}

/// Stretches of time, in order, and the cell that each one's samples go to; a negative cell stands for none.
struct StatisticsStretches: Sendable {
    /// Stretch i reaches from border i to border i + 1.
    private(set) var borders: [Int64] = []
    private(set) var cells: [Int32] = []
    /// How many cells there are.
    var cellCount = 0

    var isEmpty: Bool { cells.isEmpty }

    mutating func reserve(_ count: Int) {
        borders.reserveCapacity(count + 1)
        cells.reserveCapacity(count)
    }

    /// Adds a stretch behind all others.
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

    /// The stretches that have a cell; none when all have.
    var wanted: [Range<Int64>] {
        guard cells.contains(where: { $0 < 0 }) else { return [] }
        return cells.indices.filter { cells[$0] >= 0 }.map { borders[$0]..<borders[$0 + 1] }
    }

    /// Parts between which there is a pause longer than `pause`, so that what lies in it need not be read.
    func parts(pause: Int64) -> [StatisticsStretches] {
        var parts: [StatisticsStretches] = []
        var part = StatisticsStretches()
        for index in cells.indices {
            if cells[index] < 0 {
                // A pause may be longer than a signed number can tell.
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
