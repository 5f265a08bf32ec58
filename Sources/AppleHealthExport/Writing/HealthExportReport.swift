/// What an export wrote, and what Apple's format has no place for.
public struct HealthExportReport: Sendable, Hashable {
    /// The samples in the file.
    public var samples = 0
    /// The bytes before compression.
    public var bytes = 0
    /// Daily totals of activity summaries in the file.
    public var totals = 0
    /// Samples whose times have fractions of a second.
    public var fractionsLost = 0
    /// Samples with an id of their own.
    public var idsLost = 0
    /// Samples with anything else that does not come back: bundle or system of the source, an edit, notes, a version,
    /// kinds of metadata, fractions of a second in clocks and workouts.
    public var detailsLost = 0
    /// Groups that Apple has no correlation for.
    public var groupsLost = 0
    /// Daily totals that were incomplete when their day was over, which an activity summary cannot tell.
    public var totalsLost = 0
    /// Characters that XML has no form for.
    public var charactersLost = 0

    /// Creates an empty report.
    public init() {}
}
