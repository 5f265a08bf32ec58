import LMDB

/// What this process knows of hours that wait to be summed up.
struct SummaryBacklog: Sendable {
    /// Nothing is known of what earlier processes left.
    var mayBeStale = true
    /// Commits since the last step that made hours stale.
    var commits = 0
    var lastCommit = ContinuousClock.now

    /// How long nothing must have been written before idle work sums up: a writer that comes back at once must not wait for it.
    static let pause = Duration.milliseconds(100)
    /// So many commits do not wait for a pause, or what is stale would grow without bound.
    static let mostCommits = 512

    mutating func note() {
        mayBeStale = true
        commits += 1
        lastCommit = .now
    }
}

extension StoreCore {
    /// Sums up some stale hours.
    ///
    /// - Parameter waits: leaves it for later when something was written just now.
    func summaryStep(waits: Bool) throws -> WriterThread.IdleWork {
        let backlog = backlog.withLock { $0 }
        guard backlog.mayBeStale else { return .none }
        if waits, backlog.commits < SummaryBacklog.mostCommits {
            let passed = backlog.lastCommit.duration(to: .now)
            if passed < SummaryBacklog.pause { return .later(SummaryBacklog.pause - passed) }
        }
        guard try read({ try $0.snapshot.firstStaleRange() != nil }) else {
            self.backlog.withLock { $0.mayBeStale = false }
            return .none
        }
        self.backlog.withLock { $0.commits = 0 }
        let rows = waits ? options.limits.summaryRowsPerStep : options.limits.summaryRowsAtOnce
        try transact { transaction in
            try transaction.checkRoom()
            try transaction.refreshSummaries(rows: rows)
        }
        return .more
    }

    /// Sums up everything that is stale.
    func refreshAllSummaries() throws {
        backlog.withLock { $0.mayBeStale = true }
        while case .more = try onWriter({ [self] in try summaryStep(waits: false) }) {}
    }
}
