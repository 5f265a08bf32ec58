/// What a mapped file yields, row by row.
package enum MappedItem: Sendable, Equatable {
    /// A sample. A row may yield several.
    case record(ImportedRecord)
    /// A row that was not taken.
    case quarantined(Quarantined)
    /// A row that the map leaves out, or that has no value for any sample. Blank lines are not reported.
    case skipped
}
