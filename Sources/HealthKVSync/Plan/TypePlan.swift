import HealthKV

/// What to sync of one type with one peer, and how (SEMANTICS C8).
public struct TypePlan: Sendable, Hashable, Codable {
    /// The direction in which samples are sent.
    public enum Direction: String, Sendable, Hashable, Codable, CaseIterable {
        /// From the peer to the store.
        case pull
        /// From the store to the peer.
        case push
        /// In both directions.
        case both
    }

    /// What starts a sync of the type. A sync on demand always includes it.
    public struct Triggers: OptionSet, Sendable, Hashable, Codable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A change in the store, or a signal of the peer that something changed there.
        public static let onChange = Triggers(rawValue: 1)
        /// The app comes to the foreground.
        public static let foreground = Triggers(rawValue: 2)
        /// An hour passed while the engine runs.
        public static let hourly = Triggers(rawValue: 4)
    }

    /// How much of the peer's history to import. From a peer that keeps records, such as another store, all history is
    /// imported.
    public enum Horizon: Sendable, Hashable, Codable {
        /// All history.
        case all
        /// Samples that began in the last days before the sync was enabled, and all later ones. The number of days is
        /// not below zero.
        case days(Int)
        /// Samples that reach the peer after the sync was enabled, whatever their date (SEMANTICS C9).
        case fromNowOn
        /// The same as ``fromNowOn`` until ``SyncEngine/importHistory(_:_:)`` decides: the user is asked first, however
        /// long that takes.
        case ask
    }

    /// How long to keep imported samples.
    public enum Retention: String, Sendable, Hashable, Codable {
        /// As long as the peer holds them.
        case mirror
        /// Until every other peer has acknowledged them (SEMANTICS C10).
        case cache
    }

    /// How to treat several samples at exactly the same time (SEMANTICS C2).
    public enum Duplicates: String, Sendable, Hashable, Codable {
        /// As the catalog of types defines.
        case usual
        /// Hide all but one from the default view.
        case shadow
        /// Show all.
        case keepAll
    }

    /// What happens if a peer deletes a sample that has an edit unknown to the peer (SEMANTICS C22).
    public enum Conflicts: String, Sendable, Hashable, Codable {
        /// The deletion wins, and the edit stays in the audit record.
        case deletionWins
        /// The edit wins, and is sent again.
        case editWins
    }

    /// What happens to imported samples if the app disconnects the peer without a decision of its own. A suspicion that
    /// reading was revoked removes nothing: it is reported, and the app decides (SEMANTICS C11). Samples shared with a
    /// peer that keeps records stay.
    public enum Departure: String, Sendable, Hashable, Codable {
        /// They stay.
        case keep
        /// They are removed.
        case purge
    }

    /// The direction in which samples are sent.
    public var direction: Direction
    /// What starts a sync.
    public var triggers: Triggers
    /// How much of the peer's history to import.
    public var horizon: Horizon
    /// How long to keep imported samples.
    public var retention: Retention
    /// How to treat several samples at the same time.
    public var duplicates: Duplicates
    /// What a peer's deletion does to an edit that the peer does not know.
    public var conflicts: Conflicts
    /// What happens to imported samples when the peer is disconnected.
    public var departure: Departure
    /// Whether to keep the peer's own daily totals beside the samples (SEMANTICS C15).
    public var keepsDailyTotals: Bool

    /// Creates a plan. Omitted arguments have the usual values.
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

    /// Ends the process if the horizon makes no sense.
    func check(_ name: String) {
        Misuse.refuse(unless: horizon.isValid, "the horizon of \(name) is a number of days that is not below zero")
    }

    var pulls: Bool { direction != .push }
    var pushes: Bool { direction != .pull }
}
