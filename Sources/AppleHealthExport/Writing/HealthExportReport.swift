/// What an export wrote, and what its form has no place for: Apple's format, a table or Observations of FHIR.
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
    /// Routes of workouts that are not in the file. An archive holds those of the workouts in it, in files of their own
    /// as Apple's does.
    public var routesLost = 0
    /// Groups of which the form says nothing: in Apple's, those that it has no correlation for; as Observations, all
    /// but blood pressures.
    public var groupsLost = 0
    /// Daily totals that were incomplete when their day was over, which an activity summary cannot tell.
    public var totalsLost = 0
    /// Characters that the form has no place for, such as those that control a terminal.
    public var charactersLost = 0

    /// Creates an empty report.
    public init() {}
}
