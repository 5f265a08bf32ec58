import HealthModel

/// A point in a store's history. Take the mark before reading, wait with it afterwards: then no commit is missed.
public struct CommitMark: Sendable, Hashable {
    let generation: UInt64
    let commit: UInt64
}

extension SampleStore {
    /// Returns the mark of the current state of the store.
    public func commitMark() throws -> CommitMark {
        let generation = core.observers.generation
        return CommitMark(generation: generation, commit: try read { $0.snapshot.header.commit })
    }

    /// Waits until this process or another commits anything after a mark. Returns `false` if the store is closed or the
    /// task is cancelled. Waiting does no work and keeps no snapshot.
    public func waitForCommit(after mark: CommitMark) async -> Bool {
        await core.waitForCommit(after: mark.generation, seen: mark.commit)
    }
}
