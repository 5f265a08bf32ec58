import HealthModel

/// A point in a store's life: ask for it before reading, wait with it afterwards, and no commit is missed.
public struct CommitMark: Sendable, Hashable {
    let generation: UInt64
    let commit: UInt64
}

extension SampleStore {
    /// Where the store stands now.
    public func commitMark() throws -> CommitMark {
        let generation = core.observers.generation
        return CommitMark(generation: generation, commit: try read { $0.snapshot.header.commit })
    }

    /// Waits until this process or another commits anything behind a mark. Answers false when the store is closed or the task
    /// cancelled. Nothing is done and no snapshot kept meanwhile.
    public func waitForCommit(after mark: CommitMark) async -> Bool {
        await core.waitForCommit(after: mark.generation, seen: mark.commit)
    }
}
