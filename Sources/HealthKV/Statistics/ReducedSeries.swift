import HealthModel

/// A type's values reduced to the resolution of a chart: the minimum, the maximum and the mean value per pixel.
public struct ReducedSeries: Sendable, RandomAccessCollection {
    /// Statistics of the samples that start in one interval.
    public struct Point: Sendable, Hashable {
        /// The start of the interval.
        public let start: Instant
        /// The end of the interval; exclusive.
        public let end: Instant
        /// The number of samples that start in the interval; at least one.
        public let count: Int
        /// The minimum value.
        public let minimum: Double
        /// The maximum value.
        public let maximum: Double
        /// The arithmetic mean of the values.
        public let mean: Double
    }

    /// The queried type.
    public let type: SampleType
    /// The unit of the values; `nil` for a type without canonical unit that has no samples.
    public let unit: HealthUnit?
    private let points: [Point]

    init(type: SampleType, unit: HealthUnit?, points: [Point]) {
        self.type = type
        self.unit = unit
        self.points = points
    }

    /// The position of the first point: 0.
    public var startIndex: Int { 0 }
    /// The position after the last point.
    public var endIndex: Int { points.count }
    /// The point at a position.
    public subscript(_ position: Int) -> Point { points[position] }
}

/// Reduces a series to few points.
enum SeriesReducer {
    static func reduce(
        _ type: SampleType, _ number: UInt32, from: Instant, to: Instant, points: Int, unit: HealthUnit?,
        in snapshot: Snapshot
    ) throws -> ReducedSeries {
        var (from, to) = (from, to)
        if from == .distantPast || to == .distantFuture {
            let extent = try ChunkExtent.extent(of: number, in: snapshot)
            if from == .distantPast { from = Instant(nanoseconds: extent?.lowerBound ?? 0) }
            if to == .distantFuture { to = Instant(nanoseconds: extent?.upperBound ?? 0) + 1 }
        }
        // There are no samples outside these bounds, and whole hours could not be represented there.
        (from, to) = (max(from, .earliest), min(to, .latest))
        let borders = BucketBorders(pixels: min(points, 1 << 20), from: from, to: to)
        var stretches = StatisticsStretches()
        var cells = [StatisticsCell](repeating: StatisticsCell(), count: borders.count)
        if let aggregation = try HourSums.summarizedAggregation(of: number, in: snapshot),
            snapshot.unit(of: type) != nil
        {
            var summaries = SummaryAnswer(
                type: number, aggregation: aggregation, borders: borders, from: from.nanoseconds, to: to.nanoseconds,
                wantsPlain: true)
            try summaries.add(snapshot)
            (stretches, cells) = (summaries.rest, summaries.cells)
        } else {
            for index in 0..<borders.count {
                stretches.append(borders[index].lowerBound, borders[index].upperBound, cell: index)
            }
        }
        let ranking = try SourceRanking.ranking(of: number, in: snapshot)
        var reader = StatisticsReader(type: number, ranking: ranking, unit: snapshot.unit(of: type) ?? unit)
        // Summaries mostly leave only the two ends of the range. The samples between them are not read.
        for part in stretches.parts(pause: 24 * SummaryPeriod.hour) {
            guard let first = part.borders.first, let last = part.borders.last else { continue }
            var collector = DiscreteCollector(part, cells: cells)
            try reader.feed(&collector, from: first, to: last, looksBack: false, wanted: part.wanted, snapshot)
            cells = collector.cells
        }
        let own = reader.unit
        func converted(_ value: Double) throws -> Double {
            guard let own, let unit else { return value }
            return try own.convert(value, to: unit)
        }
        var found: [ReducedSeries.Point] = []
        for index in 0..<borders.count where cells[index].count > 0 {
            let cell = cells[index]
            found.append(
                ReducedSeries.Point(
                    start: Instant(nanoseconds: borders[index].lowerBound),
                    end: Instant(nanoseconds: borders[index].upperBound), count: Int(cell.count),
                    minimum: try converted(cell.minimum), maximum: try converted(cell.maximum),
                    mean: try converted(cell.plain / Double(cell.count))))
        }
        return ReducedSeries(type: type, unit: unit ?? own, points: found)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns a type's values over a range, reduced to at most `points` points. Points without samples are left out.
    ///
    /// ```swift
    /// let curve = try store.read { try $0.series(.stepCount, from: a, to: b, points: 1_000) }
    /// for point in curve { print(point.start, point.minimum, point.mean, point.maximum) }
    /// ```
    ///
    /// Each point is exact for its interval. Borders between points of an hour or more are at whole hours of UTC, so
    /// that the stored summaries can answer, however long the history is. Values are those of the samples, not merged
    /// across sources.
    public func series(
        _ type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, points: Int,
        unit: HealthUnit? = nil
    ) throws -> ReducedSeries {
        try snapshot.require(points, 1, "number of points")
        let snapshot = snapshot
        if let unit, let canonical = snapshot.unit(of: type), !unit.isCompatible(with: canonical) {
            throw StoreError(
                .unsuitableQuery, path: snapshot.path,
                "\(type) is measured in \(canonical), which \(unit) cannot express")
        }
        return try snapshot.touching(type, TimeRange(from: from, to: to)) {
            guard let number = try NameTable.askedNumber(of: type, in: snapshot) else {
                return ReducedSeries(type: type, unit: unit ?? snapshot.unit(of: type), points: [])
            }
            return try SeriesReducer.reduce(type, number, from: from, to: to, points: points, unit: unit, in: snapshot)
        }
    }
}
