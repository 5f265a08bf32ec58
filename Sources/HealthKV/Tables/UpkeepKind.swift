/// The kinds of records in the table `upkeep`: the first byte of their keys. The numbers are embedded on disk: never
/// change or reuse one.
enum UpkeepKind {
    /// An unfinished mass operation (``IntentTable``).
    static let intent: UInt8 = 1
    /// Hours whose summaries are invalid (``StaleTable``).
    static let staleHours: UInt8 = 2
    /// How far an import has come (``ImportJob``).
    static let importJob: UInt8 = 3
    /// The number of change records that the last condensing left (``FeedCondensing``).
    static let condensedFeed: UInt8 = 4
    /// The content of a deleted sample (``ContentTable``).
    static let deletedContent: UInt8 = 5
    /// Which sessions wrote which commits (``SessionTable``).
    static let sessions: UInt8 = 6
    /// A second copy of the header and the ranking of sources (``HeaderCopy``).
    static let headerCopy: UInt8 = 7
}
