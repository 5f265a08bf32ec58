import ColumnFormat
import HealthModel
import LMDB

/// The work that the writing thread does in steps when it is idle, or when `maintain` is called.
enum Upkeep {
    /// Removes the kept contents of all deleted samples. Runs on the writing thread.
    static func forgetDeletedContents(in core: StoreCore) throws {
        guard try core.read({ try ContentTable.keepsDeletedContents(in: $0.snapshot) }) else { return }
        var next: [UInt8]?
        repeat {
            try core.transact {
                next = try ContentTable.forgetContents(behind: next, before: .max, count: 2_000, in: &$0)
            }
        } while next != nil
    }

    /// Summarizes some stale hours.
    ///
    /// - Parameter waits: postpones the work if something was written just now.
    static func summaryStep(waits: Bool, in core: StoreCore) throws -> WriterThread.IdleWork {
        let backlog = core.backlog.withLock { $0 }
        guard backlog.mayBeStale else { return .none }
        if waits, backlog.commits < SummaryBacklog.mostCommits {
            let passed = backlog.lastCommit.duration(to: .now)
            if passed < SummaryBacklog.pause { return .later(SummaryBacklog.pause - passed) }
        }
        guard try core.read({ try StaleTable.firstRange(in: $0.snapshot) != nil }) else {
            core.backlog.withLock { $0.mayBeStale = false }
            return .none
        }
        core.backlog.withLock { $0.commits = 0 }
        let rows = waits ? core.options.limits.summaryRowsPerStep : core.options.limits.summaryRowsAtOnce
        try core.transact { transaction in
            try transaction.checkRoom()
            try SummaryUpkeep.refreshSummaries(rows: rows, in: &transaction)
        }
        return .more
    }

    /// Summarizes all stale hours.
    static func refreshAllSummaries(in core: StoreCore, _ step: () throws -> Void = {}) throws {
        core.backlog.withLock { $0.mayBeStale = true }
        while case .more = try core.onWriter({ [core] in try summaryStep(waits: false, in: core) }) { try step() }
    }

    /// Does one step of unfinished work. Returns `true` if more remains. Runs on the writing thread.
    static func maintainStep(in core: StoreCore) throws -> Bool {
        guard case .more = try maintainStep(waits: false, in: core) else { return false }
        return true
    }

    /// Does one step of unfinished work. Returns whether more remains.
    ///
    /// - Parameter waits: Whether to postpone work that is better done when nothing is being written.
    static func maintainStep(waits: Bool, in core: StoreCore) throws -> WriterThread.IdleWork {
        guard !core.isPoisoned.load(ordering: .acquiring) else { return .none }
        let condensesFirst = core.upkeepTurn.withLock { $0.takeStep() }
        let header = try core.read { $0.context.state.header }
        if header.intents > 0 {
            // A mass operation writes out the links of the samples that it removes. Packing in between keeps their
            // number small.
            do { _ = try packingStep(in: core) } catch  where StoreError.isFull(error) {}
            try advanceIntent(in: core)
            return .more
        }
        if try pruneStep(header, in: core) { return .more }
        if condensesFirst, try FeedCondensing.step(in: core) { return .more }
        var work = WriterThread.IdleWork.none
        do {
            work = try addingStep(header, waits: waits, in: core)
        } catch let error as StoreError where error.code == .full {
            // The remaining room is reserved for deletions.
        } catch {
            // What fails for good must not keep the feed from being condensed.
            if !condensesFirst, try FeedCondensing.step(in: core) { return .more }
            throw error
        }
        if case .more = work { return work }
        return try !condensesFirst && FeedCondensing.step(in: core) ? .more : work
    }

    /// Continues the oldest mass operation. Takes smaller steps if the remaining room is too small for a whole one.
    private static func advanceIntent(in core: StoreCore) throws {
        var chunks = core.options.limits.chunksPerStep
        while true {
            do {
                try core.transact { [chunks] in try MassOperations.advanceFirst(chunks: chunks, in: &$0) }
                return
            } catch  where chunks > 1 && StoreError.isFull(error) {
                chunks /= 2
            }
        }
    }

    /// Does a step of work that may enlarge the file.
    private static func addingStep(_ header: StoreHeader, waits: Bool, in core: StoreCore) throws
        -> WriterThread.IdleWork
    {
        if header.recentEntries > core.options.limits.recentEntries {
            try core.transact { transaction in
                try transaction.checkRoom()
                try IdentityIndex.foldRecentEntries(in: &transaction)
            }
            return .more
        }
        if try packingStep(in: core) { return .more }
        if try mergeStep(waits: waits, in: core) { return .more }
        let work = try summaryStep(waits: waits, in: core)
        if case .more = work { return work }
        guard core.file.journaledCommits > 0 else { return work }
        try moveJournal(in: core)
        return .more
    }

    /// Moves the journal into the tables, if it is not empty. Runs on the writing thread.
    static func moveJournal(in core: StoreCore) throws {
        guard core.file.journaledCommits > 0 else { return }
        // What is in the journal had room when it was written.
        try core.transact(to: .nothing) { $0.state.isChanged = true }
    }

    /// Packs links of a peer. Returns `false` if there are none to pack. Damaged links stay as they are, and do not
    /// block other work.
    private static func packingStep(in core: StoreCore) throws -> Bool {
        guard !core.hasDamagedLinks.load(ordering: .relaxed) else { return false }
        do {
            guard
                let peer = try core.read({ [limits = core.options.limits] in
                    try LinkPacking.peerToPack(limits, in: $0.snapshot)
                }
                )
            else {
                return false
            }
            try core.transact { transaction in
                try transaction.checkRoom()
                try LinkPacking.packLinks(of: peer, in: &transaction)
            }
            return true
        } catch  where StoreError.isDamage(error) {
            core.hasDamagedLinks.store(true, ordering: .relaxed)
            return false
        }
    }

    /// Merges the runs of one partition of the identity index, or of several unless `waits` is set. Returns `false` if
    /// there is nothing to merge.
    private static func mergeStep(waits: Bool, in core: StoreCore) throws -> Bool {
        guard core.mayHaveRuns.load(ordering: .relaxed) else { return false }
        guard try core.read({ try IdentityIndex.allPartitions(in: $0.snapshot).contains { $0.firstRunToMerge != nil } })
        else {
            core.mayHaveRuns.store(false, ordering: .relaxed)
            return false
        }
        try core.transact { [limits = core.options.limits] transaction in
            try transaction.checkRoom()
            var left = waits ? 1 : limits.mergedEntriesAtOnce
            for partition in try IdentityIndex.allPartitions(in: transaction.snapshot)
            where partition.firstRunToMerge != nil {
                try IdentityIndex.mergeRuns(at: partition.lower, in: &transaction)
                if partition.entries >= left { return }
                left -= partition.entries
            }
        }
        return true
    }

    /// A clock that is further ahead of the newest change than this is not trusted to expire tombstones: a tombstone
    /// that is removed too early lets its sample come back from peers, and one that is removed too late costs a few
    /// bytes. The same clock stamps the next change, so pruning resumes in a store that was merely left alone.
    private static let believedDays: Int64 = 90

    /// Once a day, removes tombstones that are old enough and that every peer has seen, and conflicts that were
    /// resolved long ago.
    private static func pruneStep(_ header: StoreHeader, in core: StoreCore) throws -> Bool {
        let now = core.options.clock().nanoseconds
        let day = DurationClass.day.longest
        let position = core.pruning.withLock { $0 }
        // A pruning time in the future was written by a wrong clock.
        guard position != nil || now < header.prunedAt || now &- header.prunedAt > day else { return false }
        let newest = try core.read { try ChangeLog.newestChangeTime(in: $0.snapshot) }
        if let newest, now > newest, UInt64(bitPattern: now &- newest) > UInt64(Upkeep.believedDays * day) {
            return false
        }
        let (kept, overflow) = Int64(max(0, core.options.tombstoneDays)).multipliedReportingOverflow(by: day)
        let time = Pruning.Time(now, after: header)
        let horizon = (Instant(nanoseconds: time.believed) - (overflow ? .max : kept)).nanoseconds
        var next: [UInt8]?
        try core.transact { transaction in
            next = try Pruning.prune(
                before: horizon, from: position ?? [], count: core.options.limits.tombstonesPerStep, at: time,
                in: &transaction)
        }
        core.pruning.withLock { $0 = next }
        return next != nil
    }
}
