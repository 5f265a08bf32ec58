#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// A validated query, with types, sources and bounds resolved.
struct StatisticsPlan {
    let query: StatisticsQuery
    /// `nil` if the store has never met the type.
    let type: UInt32?
    let aggregation: SampleType.Aggregation
    let cumulative: CumulativeOptions
    let mean: DiscreteOptions.Mean
    let ranking: SourceRanking
    let unit: HealthUnit?
    /// The unit of the type in this store; `nil` if it has none.
    private let canonical: HealthUnit?
    private let combination: TypeDefinition.Combination?
    let borders: BucketBorders
    let from: Instant
    let to: Instant
    /// Whether each source has cells of its own.
    let separately: Bool
    /// Whether sources compete for time although each has cells of its own.
    private let isCompeting: Bool
    /// Whether the ranking is the one of the store, over all sources and samples.
    let isDefault: Bool

    /// The accumulated cells.
    struct Answer {
        var cells: [StatisticsCell]
        var means: [Double]?
        var unit: HealthUnit?
    }

    /// - Parameter told: the time of which peers told totals: the buckets of a query without bounds cover it, too.
    init(
        _ query: StatisticsQuery, _ snapshot: borrowing Snapshot, separately: Bool, competing: Bool = false,
        told: Range<Int64>? = nil
    ) throws {
        self.query = query
        isCompeting = competing
        self.separately = separately
        let path = snapshot.context.path
        type = try NameTable.askedNumber(of: query.type, in: snapshot)
        (canonical, combination) = (snapshot.unit(of: query.type), snapshot.combination(of: query.type))
        aggregation = try StatisticsPlan.aggregation(of: query, snapshot.aggregation(of: query.type), path)
        unit = try StatisticsPlan.unit(of: query, canonical, path)
        cumulative = query.options as? CumulativeOptions ?? CumulativeOptions()
        mean = (query.options as? DiscreteOptions)?.mean ?? .arithmetic
        guard cumulative.sources != .authoritative || cumulative.borders == .proportional else {
            throw StoreError(
                .unsuitableQuery, path: path,
                "A peer's total of a day counts what lies in the day: authoritative totals are for proportional borders"
            )
        }
        var (from, to) = (query.from, query.to)
        var selected: Set<UInt32>?
        if let sources = query.sources {
            selected = try sources.reduce(into: []) { $0.formUnion(try NameTable.numbers(meantBy: $1, in: snapshot)) }
        }
        if let type {
            ranking = try SourceRanking.ranking(
                of: type, order: cumulative.sources.priority, selected: selected, in: snapshot)
        } else {
            ranking = SourceRanking([])
        }
        isDefault = selected == nil && query.filter == nil && cumulative.sources.priority == nil
        if let own = query.borders {
            guard zip(own, own.dropFirst()).allSatisfy({ $0 < $1 }), own.count <= BucketBorders.limit else {
                throw StoreError(.invalidArgument, path: path, "The borders of buckets must ascend")
            }
            (self.from, self.to) = (max(from, own.first ?? from), min(to, own.last ?? to))
            borders = BucketBorders(at: own)
            return
        }
        guard let interval = query.interval else {
            (self.from, self.to) = (from, to)
            borders = BucketBorders(from: from, to: to)
            return
        }
        (from, to) = try StatisticsPlan.reach(of: query, snapshot, told)
        let sources = separately ? max(1, ranking.sources.count) : 1
        guard
            let borders = BucketBorders(
                interval, anchor: query.anchor, calendar: query.calendar, from: from, to: to),
            borders.count <= BucketBorders.limit / sources
        else {
            var refusal = StoreError(
                .unsuitableQuery, path: path, "The range has more buckets than an answer can hold")
            refusal.remedy = "Choose a shorter range or longer buckets, or read them one by one (forEachStatistics)."
            throw refusal
        }
        // A query without bounds covers whole buckets.
        if query.from == .distantPast, let first = borders.instants.first {
            from = max(Instant(nanoseconds: first), .earliest)
        }
        if query.to == .distantFuture, let last = borders.instants.last {
            to = min(Instant(nanoseconds: last), .latest)
        }
        (self.from, self.to) = (from, to)
        self.borders = borders
    }

    /// Returns the range of a query; missing bounds are those of the samples.
    static func reach(
        of query: StatisticsQuery, _ snapshot: borrowing Snapshot, _ told: Range<Int64>? = nil
    ) throws -> (from: Instant, to: Instant) {
        var (from, to) = (query.from, query.to)
        if from == .distantPast || to == .distantFuture {
            var extent: ClosedRange<Int64>?
            if let type = try NameTable.number(of: query.type, in: snapshot) {
                extent = try ChunkExtent.extent(of: type, in: snapshot)
            }
            if let told {
                let last = told.upperBound - 1
                extent =
                    extent.map { min($0.lowerBound, told.lowerBound)...max($0.upperBound, last) }
                    ?? told.lowerBound...last
            }
            guard let extent else {
                // Without samples, nothing determines the missing bounds of the range.
                let known = from == .distantPast ? to == .distantFuture ? Instant(nanoseconds: 0) : to : from
                return (known, known)
            }
            if from == .distantPast { from = Instant(nanoseconds: extent.lowerBound) }
            if to == .distantFuture { to = Instant(nanoseconds: extent.upperBound) + 1 }
        }
        return (from, to)
    }

    private static func aggregation(
        of query: StatisticsQuery, _ own: SampleType.Aggregation?, _ path: String
    ) throws -> SampleType.Aggregation {
        if let options = query.options, !(options is CumulativeOptions), !(options is DiscreteOptions) {
            throw StoreError(
                .unsuitableQuery, path: path,
                "Statistics know CumulativeOptions and DiscreteOptions, and no \(Swift.type(of: options))")
        }
        let asked = query.options.map { Swift.type(of: $0).aggregation }
        guard let own else { return asked ?? .discrete }
        guard asked ?? own == own else {
            throw StoreError(
                .unsuitableQuery, path: path,
                "\(query.type) is \(own.rawValue) and was asked with options for \(asked!.rawValue) types")
        }
        return own
    }

    private static func unit(
        of query: StatisticsQuery, _ canonical: HealthUnit?, _ path: String
    ) throws -> HealthUnit? {
        guard let unit = query.unit else { return canonical }
        if let canonical, !canonical.isCompatible(with: unit) {
            throw StoreError(
                .unsuitableQuery, path: path, "\(query.type) is measured in \(canonical), which \(unit) cannot express")
        }
        return unit
    }

    /// The number of cells per bucket.
    private var stride: Int { separately ? max(1, ranking.sources.count) : 1 }

    /// The intervals of all buckets within the range.
    var stretches: StatisticsStretches {
        var stretches = StatisticsStretches()
        stretches.reserve(borders.count)
        for index in 0..<borders.count {
            let bucket = borders[index]
            stretches.append(
                max(bucket.lowerBound, from.nanoseconds), min(bucket.upperBound, to.nanoseconds), cell: index)
        }
        return stretches
    }

    func answer(_ snapshot: borrowing Snapshot) throws -> Answer {
        guard let type, borders.count > 0, !ranking.classes.isEmpty else {
            return Answer(cells: noCells, unit: unit)
        }
        let filter = try query.filter.map { try RowFilter($0, of: query.type, in: snapshot) }
        let isSummarized = try mayUseSummaries && HourSums.summarizedAggregation(of: type, in: snapshot) == aggregation
        guard let canonical, isSummarized else {
            let reader = StatisticsReader(type: type, ranking: ranking, unit: unit, filter: filter)
            return try sum(stretches, into: noCells, reader, snapshot)
        }
        var summaries = SummaryAnswer(
            type: type, aggregation: aggregation, borders: borders, from: from.nanoseconds, to: to.nanoseconds)
        try summaries.add(snapshot)
        let reader = StatisticsReader(type: type, ranking: ranking, unit: canonical)
        var answer = try sum(summaries.rest, into: summaries.cells, reader, snapshot)
        if let unit, unit != canonical {
            for index in answer.cells.indices {
                answer.cells[index].sum = try canonical.convert(answer.cells[index].sum, to: unit)
            }
            answer.unit = unit
        }
        return answer
    }

    private var noCells: [StatisticsCell] {
        [StatisticsCell](repeating: StatisticsCell(), count: borders.count * stride)
    }

    /// Whether the summaries can answer the query. Minimum and maximum must be converted sample by sample, because
    /// converting to the canonical unit and back changes the last bit.
    private var mayUseSummaries: Bool {
        guard isDefault, !separately, cumulative.borders == .proportional,
            cumulative.sources == .merged || cumulative.sources == .authoritative
        else { return false }
        return aggregation == .cumulative || mean == .arithmetic && unit == canonical
    }

    /// Adds the contributions of samples in some intervals.
    func sum(
        _ stretches: StatisticsStretches, into cells: consuming [StatisticsCell], _ reader: consuming StatisticsReader,
        _ snapshot: borrowing Snapshot
    ) throws -> Answer {
        var answer = Answer(cells: cells)
        var reader = reader
        for part in stretches.parts(pause: try pause(snapshot)) {
            guard let from = part.borders.first, let to = part.borders.last else { continue }
            if aggregation == .discrete {
                var collector = DiscreteCollector(part, cells: answer.cells, stride: stride)
                try reader.feed(&collector, from: from, to: to, looksBack: false, wanted: part.wanted, snapshot)
                answer.cells = collector.cells
                if mean == .timeWeighted {
                    var weights = TimeWeights(part, cells: answer.cells.count, stride: stride)
                    try reader.feed(&weights, from: from, to: to, looksBack: false, snapshot)
                    weights.finish()
                    answer.means = weights.means(answer.cells)
                }
            } else {
                let isStrict = cumulative.borders == .strictStart
                let contest: StatisticsSweep.Contest =
                    separately && !isCompeting || cumulative.sources == .unmergedCountingOverlapsTwice
                    ? .none : .merged
                var sweep = StatisticsSweep(
                    part, cells: answer.cells, ranks: ranking.classes.count, contest: contest, isStrict: isStrict,
                    stride: stride)
                try reader.feed(
                    &sweep, from: from, to: isStrict ? .max : to, looksBack: true, wanted: isStrict ? [] : part.wanted,
                    snapshot)
                sweep.finish()
                answer.cells = sweep.cells
            }
        }
        answer.unit = reader.unit
        return answer
    }

    /// Returns the smallest gap between intervals that is worth a new seek: about as long as it takes to skip 500
    /// samples, if they are spread over ten years.
    private func pause(_ snapshot: borrowing Snapshot) throws -> Int64 {
        guard let type else { return .max }
        let samples = Int64(try SummaryTable.counts(of: type, in: snapshot).samples)
        // Limited to a century, because gaps are compared with it and it is added to times.
        return SummaryPeriod.hour * min(876_000, max(1, 500 * 87_600 / max(1, samples)))
    }

    /// Returns the buckets of one source, or of all together.
    func collection(_ answer: Answer, source: Int) -> StatisticsCollection {
        let places = Swift.stride(from: source, to: answer.cells.count, by: stride)
        return StatisticsCollection(
            type: query.type, unit: answer.unit, aggregation: aggregation, combination: combination, borders: borders,
            cells: stride == 1 ? answer.cells : places.map { answer.cells[$0] },
            means: stride == 1 ? answer.means : answer.means.map { means in places.map { means[$0] } },
            fills: query.fillsEmptyBuckets)
    }
}
