import HealthModel

/// Statistics of the samples in one interval of time.
public struct Statistics: Sendable, Hashable {
    /// The first instant of the bucket: `start <= t < end`. In a query's first bucket it may be before the query's
    /// `from`; samples before `from` do not count.
    public let start: Instant
    /// The first instant after the bucket. In a query's last bucket it may be after the query's `to`; samples after
    /// `to` do not count.
    public let end: Instant
    /// The number of samples that start in the bucket, of all selected sources, whether they win time or not.
    public let count: Int
    /// For a cumulative type: the sum of what the samples contribute to the bucket. `nil` for others.
    public let sum: Double?
    /// For a discrete type: the mean of the samples that start in the bucket, of the kind given by
    /// ``DiscreteOptions/mean``. `nil` for others, and if no sample starts in the bucket.
    public let average: Double?
    /// For a discrete type: the minimum value that starts in the bucket. `nil` for others, and if no sample starts in
    /// it.
    public let minimum: Double?
    /// For a discrete type: the maximum value that starts in the bucket. `nil` for others, and if no sample starts in
    /// it.
    public let maximum: Double?
    /// The first start in the bucket; `nil` if no sample starts in it.
    public let earliest: Instant?
    /// The last start in the bucket; `nil` if no sample starts in it.
    public let latest: Instant?
    /// For a discrete type: the value of the sample at ``earliest``. `nil` for others, and if no sample starts in the
    /// bucket.
    public let earliestValue: Double?
    /// For a discrete type: the value of the sample at ``latest``. `nil` for others, and if no sample starts in the
    /// bucket.
    public let latestValue: Double?
    /// The time in nanoseconds that the samples cover. For a cumulative type: the time that they contribute to the
    /// bucket, where overlapping samples of one source count separately. For a discrete type: the lengths of the
    /// samples that start in the bucket.
    public let duration: Int64
    /// The unit of all values; `nil` for a type without canonical unit that has no samples.
    public let unit: HealthUnit?
    /// The peers whose daily totals are in ``sum``, in the order of their names. Empty unless the query asked for them
    /// (``CumulativeOptions/Sources/authoritative``).
    public var totalsOf: [PeerID] { peers ?? [] }
    /// The sources whose samples count in ``sum`` beside these totals, in the order of their names: what was written
    /// here and the peers do not hold.
    public var sourcesBesideTotals: [SourceIdentity] { besides ?? [] }

    /// The one number of the bucket: the sum, the mean or the latest value, as values of the type combine. `nil` if
    /// there is no data; a sum is 0 then.
    public var value: Double? { combination == .latest ? latestValue : sum ?? average }

    /// How values of the type combine; `nil` for a type that neither the catalog nor an app defines.
    public internal(set) var combination: TypeDefinition.Combination?
    /// `nil` if there are none: an empty array in each bucket would cost more than all its numbers.
    var peers: [PeerID]?
    var besides: [SourceIdentity]?

    /// Whether any sample starts in the bucket or extends into it, or a peer told a total of it. If not, the sum is 0
    /// and has no meaning.
    public var hasData: Bool { count > 0 || duration > 0 || (sum ?? 0) != 0 || !totalsOf.isEmpty }
}

/// Statistics of one type, bucket by bucket in the order of time.
public struct StatisticsCollection: Sendable, RandomAccessCollection {
    /// The queried type, even if the store has no samples of it.
    public let type: SampleType
    /// The unit of all values; `nil` for a type without canonical unit that has no samples.
    public let unit: HealthUnit?
    let aggregation: SampleType.Aggregation
    /// How values of the type combine.
    let combination: TypeDefinition.Combination?
    let borders: BucketBorders
    var cells: [StatisticsCell]
    /// Time-weighted means, if the query asked for them.
    var means: [Double]?
    /// The origin of the buckets that have daily totals of peers in them, by the index of the bucket.
    var totals: [Int: TotalOrigin]?
    /// The indices of the returned buckets, if empty buckets are left out.
    private let buckets: [Int32]?

    init(
        type: SampleType, unit: HealthUnit?, aggregation: SampleType.Aggregation,
        combination: TypeDefinition.Combination?, borders: BucketBorders, cells: [StatisticsCell],
        means: [Double]? = nil, fills: Bool
    ) {
        self.type = type
        self.unit = unit
        self.aggregation = aggregation
        self.combination = combination
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
    /// The number of buckets. Buckets without data count only if the query fills them.
    public var endIndex: Int { buckets?.count ?? cells.count }

    /// The bucket at a position, in the order of time; computed at each access.
    public subscript(_ position: Int) -> Statistics { bucket(buckets.map { Int($0[position]) } ?? position) }

    /// The indices of the returned buckets among all.
    var returned: [Int] { buckets.map { $0.map { Int($0) } } ?? Array(cells.indices) }

    /// Returns one of all buckets, also of those that are left out because they are empty.
    func bucket(_ index: Int) -> Statistics {
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
            combination: combination,
            peers: totals?[index]?.peers.sorted(), besides: totals?[index]?.besides.sorted())
    }
}
