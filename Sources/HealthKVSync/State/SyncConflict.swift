import HealthKV

/// A conflict that was resolved, with the sample that lost, so that it can be looked at and restored.
public struct SyncConflict: Sendable, Hashable {
    /// What happened. Raw values stand in the audit record.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        /// A peer's version took the place of an edit that it did not know.
        case editReplaced = "edit.replaced"
        /// A peer's version lost against an edit made here.
        case editKept = "edit.kept"
        /// A peer's deletion took away an edit that it did not know.
        case editDeleted = "edit.deleted"
        /// Two enumerations missed a sample, which was taken for deleted (SEMANTICS C26).
        case presumedGone = "presumed.gone"
    }

    /// The place of the entry in the audit record.
    public let entry: AuditEntry
    /// What happened.
    public let event: Event
    /// The sample that lost, as it was.
    public let displaced: Sample
    /// When it was resolved.
    public var time: Instant { entry.time }

    init?(_ entry: AuditEntry) {
        guard let event = Event(rawValue: entry.event),
            let displaced = try? EngineNotes.decode(entry.displaced, as: Sample.self)
        else { return nil }
        (self.entry, self.event, self.displaced) = (entry, event, displaced)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Conflicts that were resolved and what they displaced, the oldest first. Those of about a year are kept, and of more than
    /// ten thousand the latest.
    public func conflicts() throws -> [SyncConflict] { try audit().compactMap { SyncConflict($0) } }
}

extension WriteTransaction {
    /// Saves what a conflict displaced as a new version, which goes to all peers, and takes the conflict off the list.
    @discardableResult
    public mutating func restore(_ conflict: SyncConflict) throws -> SaveOutcome {
        var sample = conflict.displaced
        let held = try self.sample(id: sample.id)?.version ?? 0
        let deleted = try deletedSample(id: sample.id)?.version ?? 0
        sample.version = Sample.version(after: max(sample.version, held, deleted))
        sample.modified = nil
        let outcome = try save(sample)
        try removeAudit(conflict.entry)
        return outcome
    }
}
