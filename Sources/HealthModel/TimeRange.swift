/// Which samples a range picks.
public enum RangeRule: String, Sendable, CaseIterable {
    /// Every sample that shares an instant with the range: it starts before the end and ends after the start, or starts inside.
    case overlap
    /// Samples that start inside: `from <= start < to`.
    case strictStart
    /// Samples that end inside: `from <= end < to`.
    case strictEnd
}

/// The order of an answer by time. Ties are ordered by end and id.
public enum SampleOrder: String, Sendable {
    /// Earliest first, or latest first.
    case ascending, descending
}

/// A half-open range of time. An inverted one is empty.
public struct TimeRange: Hashable, Sendable, Codable {
    /// The first instant inside; ``Instant/distantPast`` for no bound.
    public var from: Instant
    /// The first instant behind it; ``Instant/distantFuture`` for no bound.
    public var to: Instant

    /// A range; without bounds it is the whole of time.
    public init(from: Instant = .distantPast, to: Instant = .distantFuture) {
        self.from = from
        self.to = to
    }

    /// The whole of time.
    public static let all = TimeRange()

    /// Whether nothing can lie inside.
    public var isEmpty: Bool { from >= to }

    /// Whether a sample of these bounds is picked by `rule`.
    ///
    /// A sample covers `start <= t < end`; one of zero length covers its own instant.
    public func picks(start: Instant, end: Instant, by rule: RangeRule) -> Bool {
        if isEmpty { return false }
        switch rule {
        case .overlap: return start < to && (end > from || start >= from)
        case .strictStart: return start >= from && start < to
        case .strictEnd: return end >= from && end < to
        }
    }
}
