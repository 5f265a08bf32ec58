import ColumnFormat
import HealthModel
import LMDB

extension StoreCore {
    /// Does one step of unfinished work. Returns `true` if more remains. Runs on the writing thread.
    func maintainStep() throws -> Bool {
        guard case .more = try maintainStep(waits: false) else { return false }
        return true
    }

    /// Does one step of unfinished work. Returns whether more remains.
    ///
    /// - Parameter waits: Whether to postpone work that is better done when nothing is being written.
    func maintainStep(waits: Bool) throws -> WriterThread.IdleWork {
        guard !isPoisoned.load(ordering: .acquiring) else { return .none }
        let header = try read { $0.context.state.header }
        if header.intents > 0 {
            // A mass operation writes out the links of the samples that it removes. Packing in between keeps their
            // number small.
            do { _ = try packingStep() } catch  where StoreError.isFull(error) {}
            try advanceIntent()
            return .more
        }
        if try pruneStep(header) { return .more }
        if try condenseStep() { return .more }
        do {
            return try addingStep(header, waits: waits)
        } catch let error as StoreError where error.code == .full {
            // The remaining room is reserved for deletions.
            return .none
        }
    }

    /// Continues the oldest mass operation. Takes smaller steps if the remaining room is too small for a whole one.
    private func advanceIntent() throws {
        var chunks = options.limits.chunksPerStep
        while true {
            do {
                try transact { [chunks] in try MassOperations.advanceFirst(chunks: chunks, in: &$0) }
                return
            } catch  where chunks > 1 && StoreError.isFull(error) {
                chunks /= 2
            }
        }
    }

    /// Does a step of work that may enlarge the file.
    private func addingStep(_ header: StoreHeader, waits: Bool) throws -> WriterThread.IdleWork {
        if header.recentEntries > options.limits.recentEntries {
            try transact { transaction in
                try transaction.checkRoom()
                try IdentityIndex.foldRecentEntries(in: &transaction)
            }
            return .more
        }
        if try packingStep() { return .more }
        if try mergeStep(waits: waits) { return .more }
        return try summaryStep(waits: waits)
    }

    /// Packs links of a peer. Returns `false` if there are none to pack. Damaged links stay as they are, and do not
    /// block other work.
    private func packingStep() throws -> Bool {
        guard !hasDamagedLinks.load(ordering: .relaxed) else { return false }
        do {
            guard
                let peer = try read({ [limits = options.limits] in try LinkPacking.peerToPack(limits, in: $0.snapshot) }
                )
            else {
                return false
            }
            try transact { transaction in
                try transaction.checkRoom()
                try LinkPacking.packLinks(of: peer, in: &transaction)
            }
            return true
        } catch  where StoreError.isDamage(error) {
            hasDamagedLinks.store(true, ordering: .relaxed)
            return false
        }
    }

    /// Merges the runs of one partition of the identity index, or of several unless `waits` is set. Returns `false` if
    /// there is nothing to merge.
    private func mergeStep(waits: Bool) throws -> Bool {
        guard mayHaveRuns.load(ordering: .relaxed) else { return false }
        guard try read({ try IdentityIndex.allPartitions(in: $0.snapshot).contains { $0.firstRunToMerge != nil } })
        else {
            mayHaveRuns.store(false, ordering: .relaxed)
            return false
        }
        try transact { [limits = options.limits] transaction in
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
    private func pruneStep(_ header: StoreHeader) throws -> Bool {
        let now = options.clock().nanoseconds
        let day = DurationClass.day.longest
        let position = pruning.withLock { $0 }
        // A pruning time in the future was written by a wrong clock.
        guard position != nil || now < header.prunedAt || now &- header.prunedAt > day else { return false }
        let newest = try read { try ChangeLog.newestChangeTime(in: $0.snapshot) }
        if let newest, now > newest, UInt64(bitPattern: now &- newest) > UInt64(StoreCore.believedDays * day) {
            return false
        }
        let (kept, overflow) = Int64(max(0, options.tombstoneDays)).multipliedReportingOverflow(by: day)
        let horizon = (Instant(nanoseconds: now) - (overflow ? .max : kept)).nanoseconds
        var next: [UInt8]?
        try transact { transaction in
            next = try Pruning.prune(
                before: horizon, from: position ?? [], count: options.limits.tombstonesPerStep, now: now,
                in: &transaction)
        }
        pruning.withLock { $0 = next }
        return next != nil
    }
}

extension SampleStore {
    /// Does unfinished work (mass operations, the identity index, summaries, old tombstones) for about `budget`, in
    /// small commits. Returns `true` if any remains.
    @discardableResult
    public func maintain(budget: Duration = .seconds(1)) throws -> Bool {
        try checkWritable()
        let deadline = ContinuousClock.now + budget
        while ContinuousClock.now < deadline {
            if try !core.onWriter({ [core] in try core.maintainStep() }) { return false }
        }
        return true
    }
}
