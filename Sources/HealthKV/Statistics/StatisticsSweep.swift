/// Sums cumulative samples over intervals of time, by sweeping over them in the order of their starts (SEMANTICS B).
///
/// For each rank a clock counts the nanoseconds that it has won so far. A sample remembers the value of its clock when
/// it began, or when its share was last counted. Its won time is therefore a difference of integers, however many
/// others it competes with, and nothing is ever added and subtracted again.
struct StatisticsSweep: StatisticsCollector {
    /// How the sources of a type are combined.
    enum Contest: Sendable {
        /// At every instant the best rank wins.
        case merged
        /// Every sample counts.
        case none
    }

    private struct Active {
        var end: Int64
        /// The value of the clock of its rank when the share was last counted.
        var entry: Int64
        var value: Double
        var length: Double
        var rank: Int32
        /// The cell for its share, if the whole share goes to one cell.
        var cell: Int32
        var source: Int32
    }

    private struct Pending {
        var value: Double
        var rank: Int32
        var source: Int32
    }

    private let stretches: StatisticsStretches
    private let contest: Contest
    /// Whether a sample counts whole in the interval in which it starts.
    private let isStrict: Bool
    /// The number of cells of one interval: one for each source that is kept separate.
    private let stride: Int
    private(set) var cells: [StatisticsCell]

    private var stretch = -1
    private var cell: Int32 = -1
    private var nextBorder: Int64
    private var now = Int64.min
    private var won: [Int64]
    private var activeOfRank: [Int32]
    /// The best rank that has active samples.
    private var top: Int
    /// A heap: the sample that ends first is the first element.
    private var active: [Active] = []
    /// Samples of zero length at `now`. They count once all other samples of this instant are known.
    private var pending: [Pending] = []
    /// The number of active samples whose share goes to one cell.
    private var strictShares = 0

    /// - Parameters:
    ///   - cells: the cells to add to; one for each cell of the intervals and each source.
    ///   - stride: the number of sources that are kept separate, 1 for none.
    init(
        _ stretches: StatisticsStretches, cells: consuming [StatisticsCell], ranks: Int, contest: Contest,
        isStrict: Bool = false, stride: Int = 1
    ) {
        self.stretches = stretches
        self.contest = contest
        self.isStrict = isStrict
        self.stride = stride
        self.cells = cells
        nextBorder = stretches.borders.first ?? .max
        // Without competition all share one rank, which wins while any sample is active.
        won = [Int64](repeating: 0, count: contest == .merged ? max(1, ranks) : 1)
        activeOfRank = [Int32](repeating: 0, count: won.count)
        top = won.count
    }

    /// Returns `true` if samples that start here or later can no longer change anything.
    func isDone(at start: Int64) -> Bool {
        start >= stretches.borders.last ?? .min && (strictShares == 0 || active.isEmpty)
    }

    /// Adds a sample that starts no earlier than those before it.
    @inline(__always)
    mutating func add(_ row: StatisticsRow) {
        advance(to: row.start)
        insert(row)
    }

    /// Adds a sample. If nothing competes with it and no border cuts it, it counts whole, whatever its rank.
    @inline(__always)
    mutating func add(_ row: StatisticsRow, before next: Int64) {
        advance(to: row.start)
        guard row.end <= next, row.end > row.start, row.end <= nextBorder, active.isEmpty, pending.isEmpty, !isStrict
        else { return insert(row) }
        guard cell >= 0 else { return }
        let target = Int(cell) * stride + (stride > 1 ? Int(row.source) : 0)
        cells[target].begin(row.start, row.value)
        cells[target].sum += row.value
        cells[target].duration &+= row.end &- row.start
    }

    private mutating func insert(_ row: StatisticsRow) {
        let target = cell < 0 ? -1 : Int(cell) * stride + (stride > 1 ? Int(row.source) : 0)
        if target >= 0 { cells[target].begin(row.start, row.value) }
        let rank = contest == .merged ? row.rank : 0
        if row.end <= row.start {
            pending.append(Pending(value: row.value, rank: rank, source: row.source))
            return
        }
        activeOfRank[Int(rank)] += 1
        if Int(rank) < top { top = Int(rank) }
        if isStrict, target >= 0 { strictShares += 1 }
        push(
            Active(
                end: row.end, entry: won[Int(rank)], value: row.value,
                length: Double(UInt64(bitPattern: row.end &- row.start)), rank: rank,
                cell: isStrict ? Int32(target) : 0, source: row.source))
    }

    /// Counts the remaining samples.
    mutating func finish() {
        advance(to: isStrict ? .max : max(now, stretches.borders.last ?? .min))
        settlePending()
    }

    /// Advances the clocks to an instant: ends the samples that end before or at it, and crosses borders.
    @inline(__always)
    private mutating func advance(to instant: Int64) {
        if instant == now { return }
        if !pending.isEmpty { settlePending() }
        while true {
            let end = active.isEmpty ? Int64.max : active[0].end
            let event = min(end, nextBorder)
            guard event <= instant, event < .max else { break }
            tick(event)
            // A sample that ends at a border has its share before the border.
            if end <= nextBorder { endFirst() } else { crossBorder() }
        }
        tick(instant)
    }

    @inline(__always)
    private mutating func tick(_ instant: Int64) {
        if top < won.count { won[top] &+= instant &- now }
        now = instant
    }

    private mutating func crossBorder() {
        if !isStrict, cell >= 0 {
            for index in active.indices { share(index) }
        } else if !isStrict {
            for index in active.indices { active[index].entry = won[Int(active[index].rank)] }
        }
        stretch += 1
        cell = stretch < stretches.cells.count ? stretches.cells[stretch] : -1
        nextBorder = stretch + 1 < stretches.borders.count ? stretches.borders[stretch + 1] : .max
    }

    /// Gives a sample's cell its share of the time that its rank has won since the share was last counted.
    @inline(__always)
    private mutating func share(_ index: Int) {
        let sample = active[index]
        // Centuries may be longer than a signed number can express.
        let time = UInt64(bitPattern: won[Int(sample.rank)] &- sample.entry)
        guard time > 0 else { return }
        active[index].entry = won[Int(sample.rank)]
        let target = isStrict ? Int(sample.cell) : Int(cell) * stride + (stride > 1 ? Int(sample.source) : 0)
        cells[target].sum += sample.value * (Double(time) / sample.length)
        cells[target].duration &+= Int64(bitPattern: time)
    }

    private mutating func endFirst() {
        let rank = Int(active[0].rank)
        if isStrict ? active[0].cell >= 0 : cell >= 0 { share(0) }
        if isStrict, active[0].cell >= 0 { strictShares -= 1 }
        activeOfRank[rank] -= 1
        if rank == top, activeOfRank[rank] == 0 {
            while top < won.count, activeOfRank[top] == 0 { top += 1 }
        }
        popFirst()
    }

    /// A sample of zero length counts whole unless a better rank covers its instant.
    private mutating func settlePending() {
        var best = Int32(min(top, won.count))
        for sample in pending { best = min(best, sample.rank) }
        if cell >= 0 {
            for sample in pending where sample.rank <= best {
                cells[Int(cell) * stride + (stride > 1 ? Int(sample.source) : 0)].sum += sample.value
            }
        }
        pending.removeAll(keepingCapacity: true)
    }

    // MARK: the heap

    private mutating func push(_ sample: Active) {
        active.append(sample)
        var index = active.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard active[index].end < active[parent].end else { return }
            active.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func popFirst() {
        let last = active.removeLast()
        guard !active.isEmpty else { return }
        active[0] = last
        var index = 0
        while true {
            var least = 2 * index + 1
            guard least < active.count else { return }
            if least + 1 < active.count, active[least + 1].end < active[least].end { least += 1 }
            guard active[least].end < active[index].end else { return }
            active.swapAt(least, index)
            index = least
        }
    }
}
