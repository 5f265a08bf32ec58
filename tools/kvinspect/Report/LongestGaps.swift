import HealthKV

/// The longest times between samples of one type that follow each other.
struct LongestGaps {
    struct Gap: Equatable {
        let from: Instant
        let to: Instant

        /// At most 292 years, the longest that a number of nanoseconds can say.
        var nanoseconds: Int64 {
            let (difference, overflows) = to.nanoseconds.subtractingReportingOverflow(from.nanoseconds)
            return overflows ? .max : difference
        }
    }

    /// More than are shown: some may turn out to be damage.
    private static let capacity = 25

    /// The longest first.
    private var gaps: [Gap] = []
    /// The end of what the samples so far cover.
    private var covered: Instant?

    /// Takes a sample; its start is not before that of the one before it. A sample whose end is open covers its start.
    mutating func add(start: Instant, end: Instant) {
        let end = end == .distantFuture ? start : end
        if let covered, covered < start { note(Gap(from: covered, to: start)) }
        covered = max(covered ?? end, end)
    }

    private mutating func note(_ gap: Gap) {
        if gaps.count == LongestGaps.capacity {
            guard gaps[gaps.count - 1].nanoseconds < gap.nanoseconds else { return }
            gaps.removeLast()
        }
        let place = gaps.firstIndex { $0.nanoseconds < gap.nanoseconds } ?? gaps.count
        gaps.insert(gap, at: place)
    }

    /// Returns the longest gaps in which no sample was passed over.
    func longest(_ count: Int, without lost: [TimeRange]) -> [Gap] {
        Array(gaps.filter { gap in !lost.contains { $0.from < gap.to && gap.from < $0.to } }.prefix(count))
    }
}
