import HealthModel

// What follows the store, or goes through it a page at a time.
extension SampleStore {
    /// Returns the changes that are committed from now on, or after a token; of all types, or of some.
    public func changes(of types: Set<SampleType>? = nil, since token: ChangeToken? = nil) -> ChangeSequence {
        ChangeSequence(
            store: self, types: types, start: Result { try token ?? read { $0.currentToken } })
    }

    /// Returns statistics that are updated whenever a write of this process, or of another process that this one
    /// notices, has changed them.
    public func statisticsUpdates(_ query: StatisticsQuery) -> StatisticsUpdates {
        StatisticsUpdates(store: self, query: query)
    }

    /// Returns a stream of pages of the samples that a query selects.
    ///
    /// The first page throws an error with the code ``StoreError/Code/invalidArgument`` if the limit of the query is
    /// below zero.
    ///
    /// - Parameters:
    ///   - query: the samples to return, and their order.
    ///   - size: the maximum number of samples in a page, at least 1.
    ///   - onDamage: if given, damaged chunks are skipped, and it is called with each range of time in which samples
    ///     may therefore be missing.
    public func pages(
        _ query: SampleQuery, size: Int = 1_000, onDamage: (@Sendable (DamagedRange) -> Void)? = nil
    ) -> SamplePages {
        Misuse.refuse(unless: size > 0, "a page has at least one sample")
        return SamplePages(store: self, query: query, size: size, onDamage: onDamage)
    }

    /// Returns the mark of the current state of the store.
    public func commitMark() throws -> CommitMark {
        let generation = core.observers.generation
        return CommitMark(generation: generation, commit: try read { $0.snapshot.header.commit })
    }

    /// Returns the mark of the current state, for a follower that outlives ``suspend(within:)``: while the store cannot
    /// be read, the mark of its return. Returns `nil` once the store is closed.
    package func followedMark() -> CommitMark? {
        let generation = core.observers.generation
        do { return try commitMark() } catch let error as StoreError where error.code == .closed {
            return nil
        } catch {
            return CommitMark(generation: generation, commit: .max)
        }
    }

    /// Waits until this process or another commits anything after a mark. Returns `false` if the store is closed or the
    /// task is cancelled. Waiting keeps no snapshot; commits of other processes are looked for twenty times a second.
    public func waitForCommit(after mark: CommitMark) async -> Bool {
        await core.waitForCommit(after: mark.generation, seen: mark.commit)
    }
}
