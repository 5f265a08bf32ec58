/// The rule by which a range selects samples.
public enum RangeRule: String, Sendable, CaseIterable {
    /// Every sample that shares an instant with the range: it starts before the range's end, and ends after or starts
    /// at or after the range's start.
    case overlap
    /// Samples that start inside the range: `from <= start < to`.
    case strictStart
    /// Samples that end inside the range: `from <= end < to`.
    case strictEnd
}

/// The order of results by time. Ties are ordered by end and id.
public enum SampleOrder: String, Sendable {
    /// Earliest first, or latest first.
    case ascending, descending
}

/// A half-open range of time. An inverted range is empty.
public struct TimeRange: Hashable, Sendable, Codable {
    /// The inclusive lower bound; ``Instant/distantPast`` for no bound.
    public var from: Instant
    /// The exclusive upper bound; ``Instant/distantFuture`` for no bound.
    public var to: Instant

    /// Creates a range; without bounds it covers all time.
    public init(from: Instant = .distantPast, to: Instant = .distantFuture) {
        self.from = from
        self.to = to
    }

    /// All time.
    public static let all = TimeRange()

    /// Whether no instant lies inside.
    public var isEmpty: Bool { from >= to }

    /// Returns `true` if `rule` selects a sample with these bounds.
    ///
    /// A sample covers `start <= t < end`; a sample of zero length covers its own instant.
    public func picks(start: Instant, end: Instant, by rule: RangeRule) -> Bool {
        if isEmpty { return false }
        switch rule {
        case .overlap: return start < to && (end > from || start >= from)
        case .strictStart: return start >= from && start < to
        case .strictEnd: return end >= from && end < to
        }
    }
}
