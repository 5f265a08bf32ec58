import ColumnFormat
import HealthModel

extension Snapshot {
    /// Returns the ranking of sources. A store written before this record existed derives it from the names.
    func priorities() throws -> PriorityRecord {
        if let stored = try storedPriorities() { return stored }
        var record = PriorityRecord()
        for number in try NameLookup.numbers(.revision, view, tables) {
            let name = try revision(number)
            record.kinds[name.sourceNumber] = min(
                record.kinds[name.sourceNumber] ?? .other, SourceKind(name.source))
        }
        return record
    }
    func storedPriorities() throws -> PriorityRecord? {
        if let changed = context.state.priorities { return changed }
        guard let span = try view.get(tables[.meta], PriorityRecord.key) else { return nil }
        return try PriorityRecord(span)
    }
}
