import HealthModel

/// The result of undoing a commit.
public struct UndoReport: Sendable, Hashable {
    /// The number of samples that the commit had deleted and that live again.
    public var undeleted = 0
    /// The number of samples that the commit had saved for the first time and that are now deleted.
    public var deleted = 0
    /// The number of changes that were not undone: edits, whose earlier content is not kept; imports, which
    /// ``WriteTransaction/purgeSource(_:)`` removes; deletions whose content is no longer kept.
    public var left = 0
}

/// Identifies the changes that a call made, so that they can be undone.
public struct UndoToken: Sendable, Hashable, Codable {
    let store: SampleID
    let epoch: UInt32
    let commit: UInt64
    /// The mark of the commit, by which another history with as many commits is known.
    let mark: UInt64
    /// The half-open range of ordinals of the changes within the commit. Other calls may share the commit.
    let first: UInt32
    let end: UInt32
}

extension WriteTransaction {
    /// Records which changes `body` makes, so that ``undo(_:)`` can undo exactly those.
    ///
    /// ```swift
    /// let token = try store.write { txn in
    ///     try txn.recordingUndo { try $0.deleteGroup("lunch") }
    /// }
    /// // The person has changed his mind.
    /// let report = try store.write { try $0.undo(token) }
    /// ```
    public mutating func recordingUndo(_ body: (inout WriteTransaction) throws -> Void) throws -> UndoToken {
        let (header, first) = (state.header, state.ordinal)
        try body(&self)
        return UndoToken(
            store: header.storeID, epoch: header.epoch, commit: commit, mark: state.mark, first: first,
            end: state.ordinal)
    }

    /// Undoes the changes of a call, unless they were changed again since. Samples that the call deleted live again, as
    /// by ``undelete(id:)``, and samples that an app saved in it for the first time are deleted. The report counts the
    /// changes that could not be undone.
    ///
    /// - Throws: ``StoreError/Code/tokenExpired`` if the store no longer knows all deletions since then, or if it was
    ///   restored.
    @discardableResult
    public mutating func undo(_ token: UndoToken) throws -> UndoReport {
        if token.first == token.end { return UndoReport() }
        let place = ChangeToken(
            store: token.store, epoch: token.epoch, commit: token.commit, ordinal: .max, mark: token.mark)
        guard token.commit < commit, try ChangeLog.fit(of: place, in: snapshot) == .fits else {
            throw StoreError(
                .tokenExpired, path: context.path, "The changes to undo are not in the history of this store")
        }
        return try undo(
            commit: token.commit, token.first..<max(token.first, token.end), store: token.store, epoch: token.epoch)
    }

    /// Undoes all changes of a commit, as ``undo(_:)`` does for a call. The feed gives the commit of each change.
    ///
    /// Calls that write at the same time may share a commit, including those of a sync; use ``recordingUndo(_:)`` to
    /// undo only one of them.
    ///
    /// - Throws: ``StoreError/Code/tokenExpired`` if the store no longer knows all deletions since then.
    @discardableResult
    public mutating func undo(commit: UInt64) throws -> UndoReport {
        try undo(commit: commit, 0..<UInt32.max, store: state.header.storeID, epoch: state.header.epoch)
    }

    private mutating func undo(
        commit: UInt64, _ ordinals: Range<UInt32>, store: SampleID, epoch: UInt32
    ) throws -> UndoReport {
        guard commit > 0 else { return UndoReport() }
        let mark = try History.mark(upTo: commit - 1, snapshot.view, context.tables)
        var place = ChangeToken(store: store, epoch: epoch, commit: commit - 1, ordinal: .max, mark: mark)
        var changes: [Change] = []
        while true {
            let page = try self.changes(since: place)
            changes += page.changes.filter { $0.token.commit == commit && ordinals.contains($0.token.ordinal) }
            guard page.hasMore, page.next.commit <= commit else { break }
            place = page.next
        }
        var report = UndoReport()
        // The feed tells of a deletion at its last place, which may be a later one by now.
        let told = Set(changes.compactMap { if case .deleted(let deleted) = $0.kind { deleted.id } else { nil } })
        report.left = try deletions(in: commit, ordinals).subtracting(told).count {
            try TombstoneTable.tombstone($0, in: snapshot) != nil
        }
        for change in changes {
            switch change.kind {
            case .deleted(let deleted):
                if try undelete(id: deleted.id) == nil { report.left += 1 } else { report.undeleted += 1 }
            case .saved(let sample):
                // A sample that an app saves gets this version, and each edit a greater one.
                let isNew = sample.origin == .authored && sample.version == 1
                if try isNew && delete(id: sample.id) { report.deleted += 1 } else { report.left += 1 }
            case .removedRange, .interrupted: report.left += 1
            }
        }
        return report
    }

    /// Returns the ids of what a commit deleted, at the places of a call.
    private func deletions(in commit: UInt64, _ ordinals: Range<UInt32>) throws -> Set<SampleID> {
        var cursor = try snapshot.view.cursor(context.tables[.changes])
        guard try cursor.seek(ChangeRecord.key(commit)) else { return [] }
        let record = try ChangeRecord(cursor.value, key: cursor.key.copied())
        return Set(record.deletions.filter { $0.commit == commit && ordinals.contains($0.ordinal) }.map(\.id))
    }
}
