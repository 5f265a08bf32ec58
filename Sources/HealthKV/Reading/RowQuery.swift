import ColumnFormat
import HealthModel

/// A query as the reader of rows understands it: the type is known by its number.
struct RowQuery: Sendable {
    var range: TimeRange = .all
    var rule: RangeRule = .overlap
    var order: SampleOrder = .ascending
    var source: SourceIdentity?
    var filter: SampleFilter?
    /// The numbers of the wanted sources, if they are known.
    var sourceNumbers: Set<UInt32>?
    var includeShadowed = false
    /// The end of the previous page. Samples before it, in the order of the query, need not be read again.
    var resume: Point?

    /// Returns the range of starts that matching samples of a duration class can have.
    func starts(of duration: DurationClass) -> (from: Point, to: Point) {
        let from: Instant
        switch rule {
        case .strictStart: from = range.from
        // 2^63 ns do not span all of 1710 to 2290, so the longest samples may begin anywhere.
        case .overlap, .strictEnd: from = duration == .long ? .distantPast : range.from - duration.longest
        }
        // A sample that ends before `to` starts before it; a sample of zero length may start at it.
        var bounds = (from: Point.at(from.nanoseconds), to: range.to.upperPoint)
        if let resume {
            if order == .ascending {
                bounds.from = max(bounds.from, resume)
            } else {
                bounds.to = min(bounds.to, .after(resume.start))
            }
        }
        return bounds
    }

    @inline(__always)
    func picks(_ row: StoredRow) -> Bool {
        (includeShadowed || !row.isShadowed)
            && range.picks(start: Instant(nanoseconds: row.start), end: Instant(nanoseconds: row.end), by: rule)
    }
}
