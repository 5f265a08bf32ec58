import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Records that samples of a type and source left without being deleted, as another copy of the store reports.
    public mutating func notePurged(_ type: SampleType, of source: SourceIdentity) throws {
        try PurgedSamples.note(
            NameTable.number(of: type, in: &self), NameTable.number(of: source, in: &self), in: &self)
    }

    /// Undoes a deletion that was made here. The sample lives again as it was, with a version above the deleted one, so
    /// that all peers take it back. Returns the sample; `nil` if it is not deleted, if its content is not kept, or if
    /// another sample now has its sync identifier.
    ///
    /// The content is kept for thirty days, for samples that were deleted one by one or by group, up to a thousand in
    /// one transaction, and not beyond ``SampleStore/compactInPlace()``. An imported sample that was deleted or hidden
    /// here is shown again as it was imported.
    ///
    /// ```swift
    /// let id = SampleID()
    /// try store.write { try $0.delete(id: id) }
    /// // The person has changed his mind.
    /// let back = try store.write { try $0.undelete(id: id) }
    /// ```
    @discardableResult
    public mutating func undelete(id: SampleID) throws -> Sample? {
        guard let tombstone = try TombstoneTable.tombstone(id, in: snapshot),
            var sample = try ContentTable.content(id, in: snapshot)
        else {
            return nil
        }
        // Another sample was saved under the same sync identifier since the deletion.
        if let text = sample.syncIdentifier,
            try self.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity) != nil
        {
            return nil
        }
        return try whole { transaction in
            if sample.origin == .imported {
                guard try transaction.unhide(id: id) else { return nil }
                _ = try transaction.store(sample, rule: .merge)
            } else {
                sample.version = Sample.version(after: tombstone.version)
                guard try transaction.store(sample, rule: .local) != .vetoed else { return nil }
            }
            return try transaction.sample(id: id)
        }
    }
}
