import HealthModel

/// A day's total that a peer gave as authoritative, kept beside the raw samples (SEMANTICS C15).
public struct DailyTotal: Sendable, Hashable {
    /// The name of the peer that gave the total.
    public let peer: PeerID
    /// The type of the total.
    public let type: SampleType
    /// The local day, `YYYY-MM-DD`.
    public let day: String
    /// The time zone of the peer's days; ``floatingZone`` if the day is a date only.
    public let zone: String
    /// `nil` if the peer reports that it has no data for the day.
    public var value: Double?
    /// What the person set out to reach on the day, in ``unit``; `nil` if the peer does not tell it.
    public var goal: Double?
    /// The unit of ``value`` and ``goal``.
    public var unit: HealthUnit
    /// Whether the day was over when the total was read.
    public var isComplete: Bool
    /// The time at which the total was read.
    public var time: Instant

    /// Stands for the time zone of a day that is a date only: the day wherever the person was, such as that of an
    /// activity summary.
    public static let floatingZone = "floating"

    /// Creates a total as a peer gave it.
    public init(
        peer: PeerID, type: SampleType, day: String, zone: String, value: Double?, goal: Double? = nil,
        unit: HealthUnit, isComplete: Bool, time: Instant
    ) {
        self.peer = peer
        self.type = type
        self.day = day
        self.zone = zone
        self.value = value
        self.goal = goal
        self.unit = unit
        self.isComplete = isComplete
        self.time = time
    }

    /// Returns `true` if this reading replaces an older one. A newer reading does, except an incomplete over a complete
    /// one, or one without a value over one with a value. In another zone the day is another one, and may not be over.
    func replaces(_ older: DailyTotal) -> Bool {
        guard time >= older.time else { return false }
        if older.isComplete, !isComplete, zone == older.zone { return false }
        return value != nil || older.value == nil
    }

    /// Returns `true` if another reading tells the same: then it is not worth a commit.
    package func isSameReading(as other: DailyTotal) -> Bool {
        day == other.day && zone == other.zone && value == other.value && goal == other.goal && unit == other.unit
            && isComplete == other.isComplete
    }
}

/// A peer's total of a day beside the sum of the store's own samples.
public struct DailyTotalComparison: Sendable, Hashable {
    /// The total from the peer.
    public let total: DailyTotal
    /// The range of the day, from its first instant to that of the next day; `nil` if the store cannot determine it.
    public let range: TimeRange?
    /// The number of the store's samples that start on the day.
    public let count: Int
    /// The merged sum of the day's samples, in the total's unit; `nil` if the store has no data for the day, or cannot
    /// determine its range.
    public let own: Double?
    /// How much more the peer counts; `nil` if one of the two has no data for the day.
    public var difference: Double? {
        guard let value = total.value, let own else { return nil }
        return value - own
    }
}
