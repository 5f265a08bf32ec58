import HealthModel

/// The result of undoing a commit.
public struct UndoReport: Sendable, Hashable {
    /// The number of samples that the commit had deleted and that live again.
    public var undeleted = 0
    /// The number of samples that the commit had saved for the first time and that are now deleted.
    public var deleted = 0
    /// The number of changes that were not undone: edits and overlays, whose earlier content is not kept; imports,
    /// which ``WriteTransaction/purge(_:)`` removes; purges; deletions whose content is not kept. The deletion of a
    /// range or a source counts as one.
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

/// Undoes the changes of a commit.
enum Undo {
    static func undo(
        commit: UInt64, _ ordinals: Range<UInt32>, store: SampleID, epoch: UInt32, in txn: inout WriteTransaction
    ) throws -> UndoReport {
        guard commit > 0 else { return UndoReport() }
        let mark = try ChangeLog.mark(upTo: commit - 1, in: txn.snapshot)
        var place = ChangeToken(store: store, epoch: epoch, commit: commit - 1, ordinal: .max, mark: mark)
        var changes: [Change] = []
        while true {
            let page = try txn.changes(since: place)
            changes += page.changes.filter { $0.token.commit == commit && ordinals.contains($0.token.ordinal) }
            guard page.hasMore, page.next.commit <= commit else { break }
            place = page.next
        }
        var report = UndoReport()
        // The feed tells of a deletion at its last place, which may be a later one by now.
        let told = Set(changes.compactMap { if case .deleted(let deleted) = $0.kind { deleted.id } else { nil } })
        report.left = try deletions(in: commit, ordinals, in: txn).subtracting(told).count {
            try TombstoneTable.tombstone($0, in: txn.snapshot) != nil
        }
        for change in changes {
            switch change.kind {
            case .deleted(let deleted):
                if try txn.undelete(id: deleted.id) == nil { report.left += 1 } else { report.undeleted += 1 }
            case .saved(let sample):
                // A sample that an app saves gets this version, and each edit a greater one.
                let isNew = sample.origin == .authored && sample.version == 1
                // A route that came with a workout is a change of its own.
                let isGone = try isNew && txn.delete(id: sample.id, takesRoutes: false)
                if isGone { report.deleted += 1 } else { report.left += 1 }
            case .removedRange, .interrupted: report.left += 1
            }
        }
        return report
    }

    /// Returns the ids of what a commit deleted, at the places of a call.
    private static func deletions(in commit: UInt64, _ ordinals: Range<UInt32>, in txn: borrowing WriteTransaction)
        throws -> Set<SampleID>
    {
        guard let record = try ChangeLog.firstRecord(from: commit, in: txn.snapshot) else { return [] }
        return Set(record.deletions.filter { $0.commit == commit && ordinals.contains($0.ordinal) }.map(\.id))
    }
}
