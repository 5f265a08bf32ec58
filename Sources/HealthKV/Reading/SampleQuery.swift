import ColumnFormat
import HealthModel

/// Which samples a range read gives.
struct SampleQuery: Sendable {
    var range: TimeRange = .all
    var rule: RangeRule = .overlap
    var order: SampleOrder = .ascending
    var source: SourceIdentity?
    var includeShadowed = false

    /// The starts that samples of a duration class can have to be picked.
    func starts(of duration: DurationClass) -> (from: Point, to: Point) {
        let from: Instant
        switch rule {
        case .strictStart: from = range.from
        case .overlap, .strictEnd: from = range.from - duration.longest
        }
        // A sample that ends before `to` starts before it, or at it when its length is zero.
        return (.at(from.nanoseconds), range.to == .distantFuture ? .greatest : .at(range.to.nanoseconds))
    }

    @inline(__always)
    func picks(_ row: StoredRow) -> Bool {
        (includeShadowed || !row.isShadowed)
            && range.picks(start: Instant(nanoseconds: row.start), end: Instant(nanoseconds: row.end), by: rule)
    }
}
