import HealthKV

/// A resolved conflict with the sample that lost, so that an app can show and restore it.
public struct SyncConflict: Sendable, Hashable {
    /// What happened. The audit record stores the raw values.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        /// A peer's version replaced an edit that it did not know.
        case editReplaced = "edit.replaced"
        /// A peer's version lost against a local edit.
        case editKept = "edit.kept"
        /// A peer's deletion removed an edit that it did not know.
        case editDeleted = "edit.deleted"
        /// Two enumerations missed a sample, so it was deleted (SEMANTICS C26).
        case presumedGone = "presumed.gone"
    }

    /// The conflict's entry in the audit record.
    public let entry: AuditEntry
    /// What happened.
    public let event: Event
    /// The sample that lost, unchanged.
    public let displaced: Sample
    /// When the conflict was resolved.
    public var time: Instant { entry.time }

    init?(_ entry: AuditEntry) {
        guard let event = Event(rawValue: entry.event),
            let displaced = EngineNotes.decode(entry.displaced, as: Sample.self)
        else { return nil }
        (self.entry, self.event, self.displaced) = (entry, event, displaced)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the resolved conflicts with the samples that they displaced, the oldest first. The store keeps conflicts
    /// for about a year, and the latest ten thousand if there are more.
    public func conflicts() throws -> [SyncConflict] { try audit().compactMap { SyncConflict($0) } }
}

extension WriteTransaction {
    /// Saves the displaced sample as a new version, which goes to all peers, and removes the conflict from the list.
    @discardableResult
    public mutating func restore(_ conflict: SyncConflict) throws -> SaveOutcome {
        var sample = conflict.displaced
        let held = try self.sample(id: sample.id)?.version ?? 0
        let deleted = try deletedSample(id: sample.id)?.version ?? 0
        sample.version = Sample.version(after: max(sample.version, held, deleted))
        sample.modified = nil
        let outcome = try take(sample)
        // The databases that deleted an import need not show it again: without this mark, it would be presumed gone.
        if sample.origin == .imported, outcome == .inserted {
            for name in try databases() { try setLink(.received(sample.id, by: name)) }
        }
        try removeAudit(conflict.entry)
        return outcome
    }
}
