import HealthKV

/// What is synced of one type with one peer, and how (SEMANTICS C8).
public struct TypePlan: Sendable, Hashable, Codable {
    /// Which way samples go.
    public enum Direction: String, Sendable, Hashable, Codable, CaseIterable {
        /// From the peer to the store.
        case pull
        /// From the store to the peer.
        case push
        /// Both ways.
        case both
    }

    /// What starts a sync of the type. On demand it is always synced.
    public struct Triggers: OptionSet, Sendable, Hashable, Codable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A change in the store, or a call of the peer that something changed there.
        public static let onChange = Triggers(rawValue: 1)
        /// The app comes to the foreground.
        public static let foreground = Triggers(rawValue: 2)
        /// An hour has passed while the engine runs.
        public static let hourly = Triggers(rawValue: 4)
    }

    /// How much of the peer's history is imported. Of a peer that keeps records, such as another store, it is all.
    public enum Horizon: Sendable, Hashable, Codable {
        /// All of it.
        case all
        /// What began in the last days before the sync was enabled, and whatever comes.
        case days(Int)
        /// What comes to the peer after the sync was enabled, whatever its date (SEMANTICS C9).
        case fromNowOn
        /// As ``fromNowOn`` until ``SyncEngine/importHistory(_:_:)`` says otherwise: the user is asked first, however long that takes.
        case ask
    }

    /// How long imported samples stay.
    public enum Retention: String, Sendable, Hashable, Codable {
        /// As long as they are at the peer.
        case mirror
        /// Until every other peer has acknowledged them (SEMANTICS C10).
        case cache
    }

    /// What to do about several samples at exactly one time (SEMANTICS C2).
    public enum Duplicates: String, Sendable, Hashable, Codable {
        /// As the catalog of types says.
        case usual
        /// All but one are left out of the default view.
        case shadow
        /// All show.
        case keepAll
    }

    /// What happens when a peer deletes a sample that has an edit which it does not know (SEMANTICS C22).
    public enum Conflicts: String, Sendable, Hashable, Codable {
        /// The deletion wins, and the edit stays in the audit record.
        case deletionWins
        /// The edit wins, and is sent again.
        case editWins
    }

    /// What happens to imported samples when the app disconnects the peer and does not say. A suspicion that reading was revoked removes nothing: it
    /// is told, and the app decides (SEMANTICS C11). What is shared with a peer that keeps records stays.
    public enum Departure: String, Sendable, Hashable, Codable {
        /// They stay.
        case keep
        /// They are removed.
        case purge
    }

    /// Which way samples go.
    public var direction: Direction
    /// What starts a sync.
    public var triggers: Triggers
    /// How much of the peer's history is imported.
    public var horizon: Horizon
    /// How long imported samples stay.
    public var retention: Retention
    /// What to do about several samples at one time.
    public var duplicates: Duplicates
    /// What a deletion does to an edit that the peer does not know.
    public var conflicts: Conflicts
    /// What happens to imported samples when the peer is disconnected.
    public var departure: Departure
    /// Whether the peer's own daily totals are kept beside the samples (SEMANTICS C15).
    public var keepsDailyTotals: Bool

    /// A plan; what is not given has the usual value.
    public init(
        _ direction: Direction, triggers: Triggers = [.onChange, .foreground], horizon: Horizon = .all,
        retention: Retention = .mirror, duplicates: Duplicates = .usual, conflicts: Conflicts = .deletionWins,
        departure: Departure = .keep, keepsDailyTotals: Bool = false
    ) {
        self.direction = direction
        self.triggers = triggers
        self.horizon = horizon
        self.retention = retention
        self.duplicates = duplicates
        self.conflicts = conflicts
        self.departure = departure
        self.keepsDailyTotals = keepsDailyTotals
    }

    var pulls: Bool { direction != .push }
    var pushes: Bool { direction != .pull }
}
