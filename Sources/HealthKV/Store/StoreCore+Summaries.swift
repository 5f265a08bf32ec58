import LMDB

extension StoreCore {
    /// Summarizes some stale hours.
    ///
    /// - Parameter waits: postpones the work if something was written just now.
    func summaryStep(waits: Bool) throws -> WriterThread.IdleWork {
        let backlog = backlog.withLock { $0 }
        guard backlog.mayBeStale else { return .none }
        if waits, backlog.commits < SummaryBacklog.mostCommits {
            let passed = backlog.lastCommit.duration(to: .now)
            if passed < SummaryBacklog.pause { return .later(SummaryBacklog.pause - passed) }
        }
        guard try read({ try StaleTable.firstRange(in: $0.snapshot) != nil }) else {
            self.backlog.withLock { $0.mayBeStale = false }
            return .none
        }
        self.backlog.withLock { $0.commits = 0 }
        let rows = waits ? options.limits.summaryRowsPerStep : options.limits.summaryRowsAtOnce
        try transact { transaction in
            try transaction.checkRoom()
            try SummaryUpkeep.refreshSummaries(rows: rows, in: &transaction)
        }
        return .more
    }

    /// Summarizes all stale hours.
    func refreshAllSummaries() throws {
        backlog.withLock { $0.mayBeStale = true }
        while case .more = try onWriter({ [self] in try summaryStep(waits: false) }) {}
    }
}
