import HealthModel

/// Options for statistics of one kind of type. Each kind has its own options type, so that meaningless combinations do
/// not compile. Do not conform your own types: a query with options of another type is an error.
public protocol StatisticsOptions: Sendable {
    /// The kind of type for which the options are. Using them with a type of the other kind is an error. A type that
    /// the catalog does not know is treated as this kind.
    static var aggregation: SampleType.Aggregation { get }
}

/// Options for types whose sums make sense, such as steps.
public struct CumulativeOptions: StatisticsOptions, Hashable {
    /// These options are for types whose values add up.
    public static let aggregation = SampleType.Aggregation.cumulative

    /// How to combine several sources that measured the same time.
    public enum Sources: Sendable, Hashable {
        /// At every instant the source with the highest priority counts.
        case merged
        /// Like ``merged``, but with an order of sources for this query only, instead of the order set for the type or
        /// the default. Sources that the order does not name come after those that it names.
        case mergedInOrder([RankedSource])
        /// For each whole day for which a peer gave a complete total: that total plus the samples that were written
        /// here and that the peer does not hold. For all other time: like ``merged`` (SEMANTICS C35). In buckets longer
        /// than a day, each day counts this way; buckets shorter than a day use the samples. The answer names the peers
        /// whose totals it contains.
        case authoritative
        /// Every sample of every source counts: time that both phone and watch measured counts twice.
        case unmergedCountingOverlapsTwice

        /// The order of sources for this query, if any.
        var priority: [RankedSource]? { if case .mergedInOrder(let order) = self { order } else { nil } }
    }

    /// Which bucket counts a sample that crosses borders.
    public enum Borders: Sendable, Hashable {
        /// Each bucket, by the share of the sample's time in it.
        case proportional
        /// The bucket in which the sample starts counts it whole.
        case strictStart
    }

    /// How to combine sources; by default each instant counts once.
    public var sources = Sources.merged
    /// Which buckets count samples that cross borders; by default each bucket by its share.
    public var borders = Borders.proportional

    /// Creates options; the defaults are those of a query without options.
    public init(sources: Sources = .merged, borders: Borders = .proportional) {
        self.sources = sources
        self.borders = borders
    }
}

/// Options for types whose means make sense, such as weight.
public struct DiscreteOptions: StatisticsOptions, Hashable {
    /// These options are for types whose values do not add up.
    public static let aggregation = SampleType.Aggregation.discrete

    /// How to compute the mean of the values in a bucket.
    public enum Mean: Sendable, Hashable {
        /// All samples have the same weight.
        case arithmetic
        /// A value is weighted by the time from its start to the next sample of the bucket, or to the end of the
        /// bucket. The first and the last bucket end where the query does. If the query has no end, the last bucket of
        /// an interval ends where the calendar says. Without an interval there is no end, and the last value is
        /// weighted by the length of its sample, so that the answer does not depend on the time of the query. If all
        /// weights are zero, all samples have the same weight.
        case timeWeighted
    }

    /// The kind of mean in ``Statistics/average``; by default all samples have the same weight.
    public var mean = Mean.arithmetic

    /// Creates options; the defaults are those of a query without options.
    public init(mean: Mean = .arithmetic) { self.mean = mean }
}
