import ColumnFormat
import HealthModel
import LMDB

/// A range of time in which samples of a type cannot be read because a chunk is damaged or missing. Samples of another
/// duration class in the same range may still be readable.
public struct DamagedRange: Sendable, Hashable {
    /// The type whose samples cannot be read.
    public let type: SampleType
    /// The range of the starts of these samples.
    public let starts: TimeRange
}

/// Collects the ranges that a read skips.
final class DamageLog {
    private(set) var spans: [(lower: Point, upper: Point)] = []

    func note(_ lower: Point, _ upper: Point) {
        if lower < upper, !spans.contains(where: { $0 == (lower, upper) }) { spans.append((lower, upper)) }
    }

    func ranges(of type: SampleType) -> [DamagedRange] {
        let ranges = spans.map { span in
            // Samples that start at the upper bound may precede it in the total order.
            let end = span.upper == .at(span.upper.start) ? 0 : 1 as Int64
            return TimeRange(
                from: Instant(nanoseconds: span.lower.start), to: Instant(nanoseconds: span.upper.start) + end)
        }
        return Set(ranges).sorted { ($0.from, $0.to) < ($1.from, $1.to) }.map { DamagedRange(type: type, starts: $0) }
    }
}
