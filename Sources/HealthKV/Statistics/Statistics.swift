import HealthModel

/// What the samples of one stretch of time come to.
public struct Statistics: Sendable, Hashable {
    /// The first instant of the bucket: `start <= t < end`. In a query's first bucket it may lie before the query's `from`;
    /// what is before that does not count.
    public let start: Instant
    /// The first instant behind the bucket. In a query's last bucket it may lie behind the query's `to`; what is behind that does
    /// not count.
    public let end: Instant
    /// How many samples start in the bucket, of all sources that were asked for, whether they win time or not.
    public let count: Int
    /// Of a cumulative type: what its samples contribute to the bucket. `nil` for others.
    public let sum: Double?
    /// Of a discrete type: the mean of the samples that start in the bucket, of the kind that ``DiscreteOptions/mean`` names.
    /// `nil` for others, and where no sample starts.
    public let average: Double?
    /// Of a discrete type: the least value that starts in the bucket. `nil` for others, and where no sample starts.
    public let minimum: Double?
    /// Of a discrete type: the greatest value that starts in the bucket. `nil` for others, and where no sample starts.
    public let maximum: Double?
    /// The first start in the bucket; `nil` where no sample starts.
    public let earliest: Instant?
    /// The last start in the bucket; `nil` where no sample starts.
    public let latest: Instant?
    /// Of a discrete type: the value of the sample at ``earliest``. `nil` for others, and where no sample starts.
    public let earliestValue: Double?
    /// Of a discrete type: the value of the sample at ``latest``. `nil` for others, and where no sample starts.
    public let latestValue: Double?
    /// The time in nanoseconds that the samples cover: of a cumulative type what they contribute to the bucket, overlapping ones of
    /// one source each; of a discrete one the lengths of those that start in it.
    public let duration: Int64
    /// The unit of all values; `nil` for a type without canonical unit that has no samples.
    public let unit: HealthUnit?
    /// The peers whose totals of days are in ``sum``, in the order of their names: some only where they were asked for
    /// (``CumulativeOptions/Sources/authoritative``).
    public var totalsOf: [String] { peers ?? [] }

    /// `nil` where there are none: an empty list costs more for each bucket than all its numbers.
    var peers: [String]?

    /// Whether any sample starts in the bucket or passes through it. Where none does a sum is 0 and means nothing.
    public var hasData: Bool { count > 0 || duration > 0 || (sum ?? 0) != 0 }
}

/// Statistics of one type, bucket by bucket in the order of time.
public struct StatisticsCollection: Sendable, RandomAccessCollection {
    /// The type that was asked for, also where the store has no samples of it.
    public let type: SampleType
    /// The unit of all values; `nil` for a type without canonical unit that has no samples.
    public let unit: HealthUnit?
    let aggregation: SampleType.Aggregation
    let borders: BucketBorders
    var cells: [StatisticsCell]
    /// Time-weighted means, where these were asked for.
    var means: [Double]?
    /// Whose totals of days are in a bucket, by its number.
    var totals: [Int: Set<String>]?
    /// Buckets that are given, where empty ones are left out.
    private let buckets: [Int32]?

    init(
        type: SampleType, unit: HealthUnit?, aggregation: SampleType.Aggregation, borders: BucketBorders,
        cells: [StatisticsCell], means: [Double]? = nil, fills: Bool
    ) {
        self.type = type
        self.unit = unit
        self.aggregation = aggregation
        self.borders = borders
        self.cells = cells
        self.means = means
        if fills || !cells.contains(where: \.isEmpty) {
            buckets = nil
        } else {
            buckets = cells.indices.filter { !cells[$0].isEmpty }.map { Int32($0) }
        }
    }

    /// The position of the first bucket: always 0.
    public var startIndex: Int { 0 }
    /// How many buckets there are. Those without data count only where the query fills them.
    public var endIndex: Int { buckets?.count ?? cells.count }

    /// The bucket at a position, in the order of time; it is put together anew at each access.
    public subscript(_ position: Int) -> Statistics {
        let index = buckets.map { Int($0[position]) } ?? position
        let cell = cells[index]
        let bucket = borders[index]
        let isDiscrete = aggregation == .discrete
        let hasSamples = cell.count > 0
        return Statistics(
            start: Instant(nanoseconds: bucket.lowerBound), end: Instant(nanoseconds: bucket.upperBound),
            count: Int(cell.count), sum: isDiscrete ? nil : cell.sum,
            average: isDiscrete && hasSamples ? means?[index] ?? cell.sum / Double(cell.count) : nil,
            minimum: isDiscrete && cell.minimum <= cell.maximum ? cell.minimum : nil,
            maximum: isDiscrete && cell.minimum <= cell.maximum ? cell.maximum : nil,
            earliest: hasSamples ? Instant(nanoseconds: cell.first) : nil,
            latest: hasSamples ? Instant(nanoseconds: cell.last) : nil,
            earliestValue: isDiscrete && hasSamples ? cell.firstValue : nil,
            latestValue: isDiscrete && hasSamples ? cell.lastValue : nil, duration: cell.duration, unit: unit,
            peers: totals?[index]?.sorted())
    }
}
