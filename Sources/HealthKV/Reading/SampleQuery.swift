import HealthModel

/// A question for samples of one type: which of them, in which order, and how many.
///
/// ```swift
/// var query = SampleQuery(.stepCount, from: a, to: b)
/// query.rule = .strictStart
/// query.source = SourceIdentity(name: "Watch")
/// let steps = try store.read { try $0.samples(query) }
/// let number = try store.read { try $0.count(query) }
/// ```
///
/// A filter selects by what samples are, and the order may be that of their values:
///
/// ```swift
/// let heaviest = SampleQuery(
///     .bodyMass, order: .descending, limit: 3, where: .source(named: "Scale") && !.isUserEntered, by: .value)
/// let three = try store.read { try $0.samples(heaviest) }
/// ```
///
/// The reads of ``SampleReading`` and ``SampleStore/pages(_:size:onDamage:)`` take it. The reads that name a type, such
/// as ``SampleReading/samples(of:from:to:order:limit:where:)``, are short forms of the most common queries.
public struct SampleQuery: Sendable, Hashable {
    /// The type of the samples.
    public var type: SampleType
    /// The range of time. An inverted range selects no sample.
    public var range: TimeRange
    /// The rule by which the range selects: by default every sample that overlaps the range, including long ones that
    /// began before it.
    public var rule: RangeRule
    /// Whether the earliest or the latest sample comes first. With a limit it decides which samples are left out.
    public var order: SampleOrder
    /// The maximum number of samples; `nil` for all. A read refuses a limit below zero.
    public var limit: Int?
    /// Selects only samples of this source; `nil` for all.
    public var source: SourceIdentity?
    /// Selects only samples that match; `nil` for all. There is no index for it: the samples of the range are read.
    public var filter: SampleFilter?
    /// Whether the samples come in the order of time or of their values. By value, ``order`` says whether the smallest
    /// or the greatest comes first, and all samples of the range are read.
    public var sort = SampleSort.time
    /// Whether to select also samples that lost against another at exactly the same time.
    public var includeShadowed: Bool

    /// Creates a query; without further arguments it selects all samples of a type that are not shadowed.
    ///
    /// - Parameters:
    ///   - type: the type of the samples.
    ///   - from: the start of the range, inclusive.
    ///   - to: the end of the range, exclusive.
    ///   - rule: how the range selects.
    ///   - order: whether the earliest or the latest sample comes first.
    ///   - limit: the maximum number of samples; `nil` for all.
    ///   - source: select only samples of this source.
    ///   - includeShadowed: select also samples that lost against another at exactly the same time.
    ///   - filter: select only samples that match.
    ///   - sort: whether to order by time or by value.
    public init(
        _ type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, rule: RangeRule = .overlap,
        order: SampleOrder = .ascending, limit: Int? = nil, source: SourceIdentity? = nil,
        includeShadowed: Bool = false, where filter: SampleFilter? = nil, by sort: SampleSort = .time
    ) {
        self.type = type
        range = TimeRange(from: from, to: to)
        self.rule = rule
        self.order = order
        self.limit = limit
        self.source = source
        self.includeShadowed = includeShadowed
        self.filter = filter
        self.sort = sort
    }

    /// The query without its type and limit.
    var rows: RowQuery {
        RowQuery(
            range: range, rule: rule, order: order, source: source, filter: filter, includeShadowed: includeShadowed)
    }

    /// Whether it selects by start alone, and leaves out nothing but shadowed samples.
    var selectsByStartAlone: Bool {
        (rule == .strictStart || range == .all) && order == .ascending && limit == nil && source == nil
            && filter == nil && sort == .time && !includeShadowed && (rule != .strictEnd)
    }

    /// Returns the limit, or the greatest number if there is none. Throws if the limit is below zero.
    func checkedLimit(in snapshot: Snapshot) throws(StoreError) -> Int {
        try snapshot.require(limit ?? 0, 0, "limit")
        return limit ?? .max
    }
}

/// What decides the order of samples.
public enum SampleSort: String, Sendable, Hashable, CaseIterable {
    /// The start, then the end, then the id.
    case time
    /// The value in the unit of the type, then the time.
    case value
}
