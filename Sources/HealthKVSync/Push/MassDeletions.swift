import HealthKV

/// Continues unfinished mass deletions of our store, because nothing can be said of their samples before they end.
struct MassDeletions: SessionJob {
    let core: SessionCore

    /// Continues mass deletions for a while, or one of them: all their tombstones exist once their steps are done.
    /// Returns `true` if they do.
    func finishRemovals(at token: ChangeToken? = nil) async throws -> Bool {
        let end = ContinuousClock.now + options.upkeepBudget
        while try isUnfinished(token) {
            guard ContinuousClock.now < end else { return false }
            try Task.checkCancellation()
            try await holdLease()
            // Do not wait for other upkeep, which may never end.
            guard try store.maintain(budget: .milliseconds(50)) || !isUnfinished(token) else { return false }
            // Other work waits for this thread.
            await Task.yield()
        }
        return true
    }

    private func isUnfinished(_ token: ChangeToken?) throws -> Bool {
        try store.read { txn in
            if let token { txn.isUnfinished(removalAt: token) } else { txn.hasUnfinishedRemovals }
        }
    }
}

extension SessionJob {
    var massDeletions: MassDeletions { MassDeletions(core: core) }
}
