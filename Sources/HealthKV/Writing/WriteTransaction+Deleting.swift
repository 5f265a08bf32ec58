import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Records that samples of a type and source left without being deleted, as another copy of the store reports.
    ///
    /// - Parameter latest: the latest of their starts; `nil` if it is not known.
    package mutating func notePurged(_ type: SampleType, of source: SourceIdentity, latest: Instant?) throws {
        try PurgedSamples.note(
            NameTable.number(of: type, in: &self), NameTable.number(of: source, in: &self),
            latest: latest?.nanoseconds, in: &self)
    }

    /// Undoes a deletion that was made here. The sample lives again as it was, with a version above the deleted one, so
    /// that all peers take it back. Returns the sample; `nil` if it is not deleted, if its content is not kept, or if
    /// another sample now has its sync identifier.
    ///
    /// The content is kept for thirty days, for samples that were deleted by id, sync identifier, group or metadata, up
    /// to a thousand in one transaction, and not beyond ``SampleStore/compactInPlace()``. An imported sample that was
    /// deleted or hidden here is shown again as it was shown then, with an edit that lay over it.
    ///
    /// These deletions cannot be undone: those of a range or a source, those that a peer or another store brought,
    /// those that were made while the store had no room, and those of a store that was since loaded from a dump without
    /// its state. A purge cannot be undone either.
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
                _ = try Saving.store(sample, rule: .merge, in: &transaction)
            } else {
                sample.version = Sample.version(after: tombstone.version)
                // With a clock of now, or a deletion that another store made meanwhile would take it along.
                guard try Saving.store(sample, rule: .local, in: &transaction) != .vetoed else { return nil }
            }
            return try transaction.sample(id: id)
        }
    }

    /// Keeps the content of a deleted sample, as another copy of the store kept it, so that the deletion can be undone
    /// here as well. Does nothing if the sample is not deleted here in this version or a later one.
    package mutating func keepDeletedContent(_ sample: Sample, deletedAt time: Instant) throws {
        try sample.validate()
        guard let tombstone = try TombstoneTable.tombstone(sample.id, in: snapshot),
            sample.version <= tombstone.version, try ContentTable.content(sample.id, in: snapshot) == nil
        else { return }
        try checkRoom()
        try whole { txn in
            let type = try NameTable.number(of: sample.type, in: &txn)
            let clock = sample.modified ?? tombstone.clock
            let row = try Saving.row(sample, clock: clock, keepingDerivedID: nil, type: type, in: &txn)
            let lane = Lane(type: type, duration: row.durationClass)
            try ContentTable.put(row, lane, time: time.nanoseconds, in: &txn)
        }
    }

    /// Merges a deletion as another store recorded it, with the given version and clock. It wins over a sample that is
    /// not greater: compares the version, then the clock, and at a tie the deletion wins over the content (SEMANTICS
    /// C1). Returns `true` if anything changed.
    @discardableResult
    package mutating func merge(_ deletion: DeletedSample) throws -> Bool { try merge([deletion])[0] }

    /// Merges deletions as ``merge(_:)-(DeletedSample)`` does one by one, but writes each chunk once. Returns for each
    /// deletion whether it changed anything.
    package mutating func merge(_ deletions: [DeletedSample]) throws -> [Bool] {
        for deletion in deletions where deletion.version != 0 && !(1...Sample.versionLimit).contains(deletion.version) {
            throw ModelError.numberOutOfRange(field: "version")
        }
        return try whole { transaction in
            var leaving = LeavingRows()
            var changes: [Bool] = []
            for deletion in deletions {
                if leaving.mayBeMeant(by: deletion) { try Deleting.deleteRows(leaving.take(), in: &transaction) }
                changes.append(try PeerDeletions.merge(deletion, &leaving, in: &transaction))
            }
            try Deleting.deleteRows(leaving.take(), in: &transaction)
            return changes
        }
    }

    /// Deletes a sample because a peer deleted it, and nothing else. The tombstone takes the greater of both versions.
    /// Returns `false` if there is no such sample.
    @discardableResult
    package mutating func delete(id: SampleID, version: Int64) throws -> Bool {
        guard version <= Sample.versionLimit else { throw ModelError.numberOutOfRange(field: "version") }
        guard let found = try SampleLookup.find(id, in: snapshot) else { return false }
        return try whole { transaction in
            guard let live = try Saving.settled(found, in: &transaction) else { return false }
            let last = try Overlays.lastChange(of: live, in: transaction).version
            try Deleting.deleteRows([LeavingRow(live, version: max(version, last))], in: &transaction)
            return true
        }
    }

    /// Deletes distinct samples because a peer deleted them, as ``delete(id:version:)`` does one by one, and the routes
    /// of workouts. Takes the rows from the points at which the samples were read, and writes each chunk once.
    package mutating func delete(_ deletions: [(sample: Sample, version: Int64)]) throws {
        for deletion in deletions where deletion.version > Sample.versionLimit {
            throw ModelError.numberOutOfRange(field: "version")
        }
        try whole { transaction in
            let routes = try Deleting.routes(
                of: deletions.map(\.sample).filter { $0.type == .workout },
                besides: Set(deletions.map(\.sample.id)), in: transaction)
            var gone = try PeerDeletions.takeRows(of: deletions.map(\.sample), in: &transaction)
            try IdentityIndex.indexingTogether(in: &transaction) { transaction in
                for (sample, version) in deletions {
                    guard let found = gone.removeValue(forKey: sample.id) else { continue }
                    try Deleting.bury(
                        LeavingRow(
                            found, version: max(version, Overlays.lastChange(of: found, in: transaction).version)),
                        in: &transaction)
                }
            }
            try Deleting.deleteRows(routes.map { LeavingRow($0) }, in: &transaction)
        }
    }

    /// Raises the version of a deletion, because a peer reports that it deleted a greater version that is unknown here.
    /// That version is then deleted wherever it still exists. Returns `true` if the deletion was below it.
    @discardableResult
    package mutating func raise(_ deletion: DeletedSample, to version: Int64) throws -> Bool {
        guard deletion.version < version else { return false }
        witness(deletion.modified)
        return try merge(deletion.raised(to: version, at: tick(over: deletion.modified)))
    }

    /// Gives the deletions of samples a new place in the feed. A peer that shows an older version of a sample deleted
    /// here was restored to an earlier state, and other peers that had received the deletion may have forgotten it.
    ///
    /// - Parameter token: limits this to deletions before the token, because later ones are reported anyway.
    package mutating func tellDeletionsAgain(of samples: [Sample], before token: ChangeToken) throws {
        var told: Set<SampleID> = []
        for sample in samples {
            let sync = try PeerDeletions.syncIdentity(of: sample, in: self)
            for known in [
                try TombstoneTable.tombstone(sample.id, in: snapshot),
                try sync.flatMap { try TombstoneTable.tombstone($0, in: snapshot) },
            ] {
                guard var tombstone = known, told.insert(tombstone.id).inserted,
                    // The sync identifier may be dead while the sample lives under another one.
                    try SampleLookup.find(tombstone.id, in: snapshot) == nil
                else { continue }
                if (tombstone.commit, tombstone.ordinal) > (token.commit, token.ordinal) { continue }
                try whole { transaction in
                    (tombstone.commit, tombstone.ordinal) = (transaction.commit, transaction.state.takeOrdinal())
                    try TombstoneTable.bury(tombstone, in: &transaction)
                    transaction.state.deletions.append(
                        ChangeRecord.Deletion(
                            commit: tombstone.commit, ordinal: tombstone.ordinal, id: tombstone.id, type: tombstone.type
                        ))
                }
            }
        }
    }

    /// Removes a sample without a tombstone: see ``purge(_:)``. Returns `false` if there is no such sample.
    @discardableResult
    public mutating func purge(id: SampleID) throws -> Bool { try purge(.id(id)) > 0 }

    /// Removes samples without tombstones, as when their provider is disconnected, and returns their number. Peers are
    /// not told and keep the samples, and a later pull may bring them back. A purge cannot be undone.
    ///
    /// ```swift
    /// let scale = SourceIdentity(bundle: "com.example.scale", name: "Scale")
    /// try store.write { _ = try $0.purge(.source(scale)) }
    /// ```
    @discardableResult
    public mutating func purge(_ selection: SampleSelection) throws -> Int {
        if let count = try MassOperations.remove(selection, leavingTombstones: false, in: &self) { return count }
        return try Deleting.purgeLive(SampleLookup.find(selection, in: snapshot), in: &self)
    }

    /// Deletes the sample with an id. Returns `false` if there is none, which is not an error.
    ///
    /// An imported sample is hidden, as by ``hide(id:)``: no later pull brings it back, whatever its version (SEMANTICS
    /// C7), until ``unhide(id:)`` allows it. ``undelete(id:)`` undoes either deletion.
    ///
    /// With a workout go its routes, unless another workout has them too.
    @discardableResult
    public mutating func delete(id: SampleID) throws -> Bool { try delete(id: id, takesRoutes: true) }

    /// Deletes the sample with an id, and the routes of a workout if that is wanted.
    mutating func delete(id: SampleID, takesRoutes: Bool) throws -> Bool {
        guard let found = try SampleLookup.find(id, in: snapshot) else { return false }
        let leaving = takesRoutes ? try Deleting.withRoutes([found], in: self) : [found]
        return try Deleting.deleteLive(leaving, in: &self) > 0
    }

    /// Deletes samples and returns their number. Peers are told, imported samples stay hidden, and routes go with their
    /// workouts, as with ``delete(id:)``. A deletion of a source or a range takes what it names alone.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     try txn.delete(.group("lunch"))
    ///     try txn.delete(.range(of: .stepCount, from: a, to: b))
    /// }
    /// ```
    ///
    /// Deleting a source or a range commits at once, however many samples there are: readers leave them out from then
    /// on, and bounded steps remove them. The change feed reports one removal for each source or range.
    @discardableResult
    public mutating func delete(_ selection: SampleSelection) throws -> Int {
        if let count = try MassOperations.remove(selection, leavingTombstones: true, in: &self) { return count }
        let found = try SampleLookup.find(selection, in: snapshot)
        return try Deleting.deleteLive(Deleting.withRoutes(found, in: self), in: &self)
    }
}
