import HealthModel

/// What statistics of one kind of type can be asked for. There is one type of options for each kind, so that options that have
/// no meaning together do not compile. There are no others: a query with options of a type of your own is an error.
public protocol StatisticsOptions: Sendable {
    /// The kind of type that the options are for. Asked of a type of the other kind they are an error; a type that the
    /// catalog does not know is taken for one of this kind.
    static var aggregation: SampleType.Aggregation { get }
}

/// Options for types whose sums make sense, such as steps.
public struct CumulativeOptions: StatisticsOptions, Hashable {
    /// These options are for types whose values add up.
    public static let aggregation = SampleType.Aggregation.cumulative

    /// How several sources that measured the same time come together.
    public enum Sources: Sendable, Hashable {
        /// At every instant the source with the highest priority counts.
        case merged
        /// As ``merged``, with an order of sources for this query only instead of the one that was set for the type, or else the
        /// default. Sources that it does not name come behind those that it does.
        case mergedInOrder([RankedSource])
        /// Of each whole day of which a peer gave a complete total, that total with what was written here and the peer does not hold; of all other time as ``merged`` (SEMANTICS C35). Of buckets longer
        /// than a day the days count one by one, of shorter ones the samples do. The answer says whose totals are in it.
        case authoritative
        /// Every sample of every source counts: what phone and watch both measured counts twice.
        case unmergedCountingOverlapsTwice

        /// The order that was asked for.
        var priority: [RankedSource]? { if case .mergedInOrder(let order) = self { order } else { nil } }
    }

    /// Which bucket a sample that crosses borders counts in.
    public enum Borders: Sendable, Hashable {
        /// In each, by the share of its time that lies there.
        case proportional
        /// Whole in the one where it starts.
        case strictStart
    }

    /// How sources come together; by default each instant counts once.
    public var sources = Sources.merged
    /// Where samples count that cross borders of buckets; by default in each bucket by their share.
    public var borders = Borders.proportional

    /// Options, by default as a query without options has them.
    public init(sources: Sources = .merged, borders: Borders = .proportional) {
        self.sources = sources
        self.borders = borders
    }
}

/// Options for types whose means make sense, such as weight.
public struct DiscreteOptions: StatisticsOptions, Hashable {
    /// These options are for types whose values do not add up.
    public static let aggregation = SampleType.Aggregation.discrete

    /// How the values of a bucket become one.
    public enum Mean: Sendable, Hashable {
        /// Each sample weighs the same.
        case arithmetic
        /// A value weighs as much as the time from its start to the next sample of the bucket, or to the bucket's end. The first and
        /// the last bucket end where the query does. If that is for ever, the last bucket of an interval ends where the calendar
        /// says; without an interval there is no end, and the last value weighs as much as its sample is long, so that the answer
        /// does not depend on when it is asked for. Where nothing weighs anything all samples weigh the same.
        case timeWeighted
    }

    /// What ``Statistics/average`` gives; by default all samples weigh the same.
    public var mean = Mean.arithmetic

    /// Options, by default as a query without options has them.
    public init(mean: Mean = .arithmetic) { self.mean = mean }
}
