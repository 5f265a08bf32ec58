import HealthModel

/// A day's total that a peer gave as authoritative, kept beside the raw samples (SEMANTICS C15).
public struct DailyTotal: Sendable, Hashable {
    /// The name of the peer that gave it.
    public let peer: String
    /// The type that it sums up.
    public let type: SampleType
    /// The local day, `YYYY-MM-DD`.
    public let day: String
    /// The time zone in whose days the peer counts.
    public let zone: String
    /// `nil` when the peer says that it has no data for the day.
    public var value: Double?
    /// The unit of ``value``.
    public var unit: HealthUnit
    /// Whether the day was over when the total was read.
    public var isComplete: Bool
    /// When the peer was asked.
    public var time: Instant

    /// A total as a peer gave it.
    public init(
        peer: String, type: SampleType, day: String, zone: String, value: Double?, unit: HealthUnit, isComplete: Bool,
        time: Instant
    ) {
        self.peer = peer
        self.type = type
        self.day = day
        self.zone = zone
        self.value = value
        self.unit = unit
        self.isComplete = isComplete
        self.time = time
    }

    /// Whether a reading takes the place of an older one: a newer one does, except an incomplete over a complete one, or none
    /// over some.
    func replaces(_ older: DailyTotal) -> Bool {
        guard time >= older.time else { return false }
        if older.isComplete, !isComplete { return false }
        return value != nil || older.value == nil
    }
}

/// A peer's total of a day beside what the store's own samples come to.
public struct DailyTotalComparison: Sendable, Hashable {
    /// What the peer said.
    public let total: DailyTotal
    /// The day, from its first instant to that of the next one; `nil` where the store cannot tell when it is.
    public let range: TimeRange?
    /// How many of the store's samples start on the day.
    public let count: Int
    /// The merged sum of the day's samples, in the total's unit; `nil` where the store has no data of the day, or cannot tell when
    /// it is.
    public let own: Double?
    /// How much more the peer counts; `nil` where one of both has no data for the day.
    public var difference: Double? {
        guard let value = total.value, let own else { return nil }
        return value - own
    }
}
