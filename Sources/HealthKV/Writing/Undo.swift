import HealthModel

/// What undoing a commit has done.
public struct UndoReport: Sendable, Hashable {
    /// Samples that the commit had deleted, and that live again.
    public var undeleted = 0
    /// Samples that the commit had saved for the first time, and that are deleted.
    public var deleted = 0
    /// Changes that stand as they were: edits, whose earlier content is not kept; imports, which
    /// ``WriteTransaction/removeSource(_:)`` removes; deletions that are not kept any more.
    public var left = 0
}

/// Which changes a call made, so that they can be undone.
public struct UndoToken: Sendable, Hashable, Codable {
    let store: SampleID
    let epoch: UInt32
    let commit: UInt64
    /// The places of the changes within the commit, which other calls may share; the last one is not among them.
    let first: UInt32
    let end: UInt32
}

extension WriteTransaction {
    /// Notes which changes `body` makes, so that ``undo(_:)`` can undo them and no others.
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
            store: header.storeID, epoch: header.epoch, commit: commit, first: first, end: state.ordinal)
    }

    /// Undoes what a call did, as far as nothing has changed it since: what it deleted lives again, as by ``undelete(id:)``, and
    /// what an app saved in it for the first time is deleted. The report says what could not be undone.
    ///
    /// - Throws: ``StoreError/Code/tokenExpired`` where the store no longer knows all that was deleted since, or was restored.
    @discardableResult
    public mutating func undo(_ token: UndoToken) throws -> UndoReport {
        try undo(
            commit: token.commit, token.first..<max(token.first, token.end), store: token.store, epoch: token.epoch)
    }

    /// Undoes all that a commit did, as ``undo(_:)`` does for a call. The feed tells of each change in which commit it was made.
    ///
    /// Calls that write at the same time may share a commit, those of a sync too: ``recordingUndo(_:)`` tells them apart.
    ///
    /// - Throws: ``StoreError/Code/tokenExpired`` where the store no longer knows all that was deleted since.
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
}
