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
                try transact { [chunks] in try $0.advanceFirstIntent(chunks: chunks) }
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
        let newest = try read { try $0.snapshot.newestChangeTime() }
        if let newest, now > newest, UInt64(bitPattern: now &- newest) > UInt64(StoreCore.believedDays * day) {
            return false
        }
        let (kept, overflow) = Int64(max(0, options.tombstoneDays)).multipliedReportingOverflow(by: day)
        let horizon = (Instant(nanoseconds: now) - (overflow ? .max : kept)).nanoseconds
        var next: [UInt8]?
        try transact { transaction in
            next = try transaction.prune(
                before: horizon, from: position ?? [], count: options.limits.tombstonesPerStep, now: now)
        }
        pruning.withLock { $0 = next }
        return next != nil
    }
}

extension WriteTransaction {
    /// Continues the oldest mass operation. Removes it when it is finished.
    mutating func advanceFirstIntent(chunks: Int) throws {
        guard var intent = state.intents.first else {
            state.header.intents = 0
            state.isChanged = true
            return
        }
        if try advance(&intent, chunks: chunks) {
            try remove(.upkeep, intent.key)
            state.intents.removeFirst()
            state.header.intents -= min(1, state.header.intents)
        } else {
            try put(.upkeep, intent.key, intent.value(commit: commit))
            state.intents[0] = intent
        }
    }

    /// Removes tombstones from before `horizon` that every registered peer has seen and that no queued deletion needs,
    /// then resolved conflicts, then old contents of deleted samples. Examines `count` of them. Returns the position to
    /// continue from; `nil` at the end.
    mutating func prune(before horizon: Int64, from position: [UInt8], count: Int, now: Int64) throws -> [UInt8]? {
        // A peer that has acknowledged nothing holds everything back. A token inside a commit has not seen all of it.
        let readers = try peers().filter { !$0.isRetired }
        let seen =
            readers.map { peer in
                guard let token = peer.acknowledged, token.epoch == state.header.epoch else { return 0 as UInt64 }
                // A peer with a queue needs only the tombstones of the deletions that wait for it.
                if peer.queue != nil { return .max }
                return token.ordinal == .max ? token.commit : token.commit &- min(1, token.commit)
            }.min() ?? .max
        let queues = readers.filter { $0.queue != nil }.map(\.name)
        let (old, next) = try snapshot.tombstones(from: position, count: count) {
            // A hidden sample stays hidden for good.
            $0.time < horizon && $0.commit <= seen && $0.version != Sample.versionLimit
        }
        for (key, tombstone) in old {
            if try isAwaited(tombstone.id, by: queues) { continue }
            try TombstoneTable.remove(tombstone, key, in: &self)
            try ContentTable.forgetContent(of: tombstone.id, in: &self)
            // The feed can no longer be continued from tokens before a removed deletion.
            state.header.prunedCommit = max(state.header.prunedCommit, tombstone.commit)
        }
        if next == nil, try pruneAudit(before: horizon, keeping: environment.limits.auditEntries, count: count) {
            return WriteTransaction.behindTombstones
        }
        if next == nil {
            let from = position.starts(with: WriteTransaction.behindConflicts) ? Array(position.dropFirst(2)) : nil
            let past = now &- DeletedContent.keptDays * DurationClass.day.longest
            if let place = try ContentTable.forgetContents(behind: from, before: past, count: count, in: &self) {
                return WriteTransaction.behindConflicts + place
            }
        }
        if next == nil {
            state.header.prunedAt = now
            state.isChanged = true
        }
        return next
    }

    /// Returns `true` if an operation of the sample waits for any of the peers.
    private func isAwaited(_ sample: SampleID, by peers: [String]) throws -> Bool {
        for peer in peers where try QueueTable.place(of: sample, in: peer, in: snapshot) != nil { return true }
        return false
    }

    /// The position after all tombstones: none has a key from here on.
    private static let behindTombstones: [UInt8] = [.max]
    /// The prefix of positions among the contents of deleted samples.
    private static let behindConflicts: [UInt8] = [.max, .max]

    /// Removes resolved conflicts from before `horizon`, and the oldest ones beyond `limit`: at most `count`. Returns
    /// `true` if more remain to be removed.
    private mutating func pruneAudit(before horizon: Int64, keeping limit: Int, count: Int) throws -> Bool {
        let surplus = try snapshot.view.statistics(context.tables[.audit]).entries - limit
        // Conflicts are stored in the order in which they were resolved. A damaged one stays, and does not block other
        // work.
        var oldest: [AuditEntry] = []
        do {
            oldest = try SyncTable.records(limit: max(1, count), as: AuditEntry.self, in: snapshot)
        } catch  where StoreError.isDamage(error) {}
        var removed = 0
        for entry in oldest where removed < surplus || entry.time.nanoseconds < horizon {
            try removeAudit(entry)
            removed += 1
        }
        return removed == max(1, count)
    }
}

extension Snapshot {
    /// Returns when the newest change was committed, by the clock of that time; `nil` if there was none.
    fileprivate func newestChangeTime() throws -> Int64? {
        var cursor = try view.cursor(tables[.changes])
        guard try cursor.last() else { return nil }
        return try ChangeRecord(cursor.value, key: cursor.key.copied()).time
    }

    /// Returns the matching ones of the `count` tombstones from a key on, and the key after them.
    fileprivate func tombstones(
        from position: [UInt8], count: Int, _ matches: (Tombstone) -> Bool
    ) throws -> ([([UInt8], Tombstone)], [UInt8]?) {
        var tombstones: [([UInt8], Tombstone)] = []
        var left = count
        var cursor = try view.cursor(tables[.tombstones])
        var found = try cursor.seek(position)
        while found {
            let key = cursor.key.copied()
            if left == 0 { return (tombstones, key) }
            left -= 1
            let tombstone = try Tombstone(cursor.value, key: key)
            if matches(tombstone) { tombstones.append((key, tombstone)) }
            found = try cursor.next()
        }
        return (tombstones, nil)
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
