import HealthModel

/// A type's times and values as arrays, for charts and computations.
public struct Series: Sendable, Hashable {
    /// The start of each sample in nanoseconds since 2001, in the order of the query: ascending, unless it says
    /// otherwise.
    public var times: [Int64]
    /// The value of each sample, at the same index as its time.
    public var values: [Double]
    /// The unit of the values: the canonical unit if the type has one.
    public var unit: HealthUnit?

    /// The number of samples.
    public var count: Int { times.count }
}
